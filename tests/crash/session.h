// One user of a small store after the other, on a medium that may be looked at before each change; nothing is left to chance.
#pragma once

#include <memory>
#include <string>
#include <vector>

#ifdef CFFS_WITH_RADOS
#include "tests/crash/crash_pool.h"
#endif
#include "tests/crash/crash_regions.h"
#include "tests/crash/crash_store.h"
#include "tests/crash/stepped_work.h"
#include "tests/model/library_surface.h"

namespace cffs::test {

// A store in use, with LevelDB's work stepped, on objects (CrashStore), on a device (CrashRegions) or in a pool (CrashPool).
template <typename Ground>
class SessionOn {
 public:
  using Medium = typename Ground::Medium;
  SessionOn(Medium medium, std::uint64_t delay);
  ~SessionOn();
  SessionOn(const SessionOn&) = delete;
  SessionOn& operator=(const SessionOn&) = delete;

  // An error: the store cannot be opened.
  Status open();
  void close();  // without a word where it fails
  // As if the process had been killed: what the next user finds is what the kernel was given; of a pool, which is given things when they
  // are synced, what was.
  void kill();
  // Keeps the medium as it is before each change from now on, under what the change is.
  struct Cut {
    Medium medium;
    std::size_t calls = 0;  // completed before
    std::string before;
  };
  void keep(bool keeps) { keeps_ = keeps; }
  // Told of each change, too.
  void told(std::function<void(const std::string&)> told) { told_ = std::move(told); }
  std::vector<Cut>& cuts() { return cuts_; }
  void cut_now(const std::string& before);
  void completed(std::size_t calls) { calls_ = calls; }

  // What LevelDB collects before it writes a file, from the next open() on; as users have it where nothing is said: 0.
  void write_buffer(std::size_t bytes) { write_buffer_ = bytes; }
  // All of the table is written anew; LevelDB's work comes as it comes from then on.
  void compact_table();

  Ground& store() { return store_; }
  LibrarySurface& surface() { return *surface_; }
  FileSystem& fs() { return surface_->fs(); }
  std::uint64_t table_work() const { return table_work_; }

 private:
  void end();

  Ground store_;
  static constexpr std::size_t kLeastWriteBuffer = 64 * 1024;  // LevelDB's own bound

  const std::uint64_t delay_;
  std::size_t write_buffer_ = kLeastWriteBuffer;
  std::shared_ptr<const Clock> clock_;
  std::unique_ptr<SteppedWork> work_;
  std::unique_ptr<LibrarySurface> surface_;
  std::function<void(const std::string&)> told_;
  bool keeps_ = false;
  std::size_t calls_ = 0;
  std::uint64_t table_work_ = 0;
  std::vector<Cut> cuts_;
};

extern template class SessionOn<CrashStore>;
extern template class SessionOn<CrashRegions>;
#ifdef CFFS_WITH_RADOS
extern template class SessionOn<CrashPool>;
#endif
using Session = SessionOn<CrashStore>;

}  // namespace cffs::test
