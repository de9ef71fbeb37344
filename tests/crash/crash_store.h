// An ObjectStore on a CrashMedium: it shows each changing operation before it happens, so that a test can keep the medium as it
// is then, and it fails on demand.
//
// FaultyStore (core/object) stays what it is, a store for every test that wants one fault or one cut by a prefix; this one keeps
// the history of every sector and name, which costs memory, and belongs to tests of crashes alone.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/object/memory_store.h"
#include "tests/crash/crash_medium.h"

namespace cffs::test {

class CrashStore final : public ObjectStore {
 public:
  using Medium = CrashMedium;
  static constexpr bool kOutlivesTheProcess = true;  // what was written and not synced
  ObjectStore& objects() { return *this; }
  CrashStore() = default;
  explicit CrashStore(CrashMedium medium) : medium_(std::move(medium)) {}

  // Told of each operation that changes something, and of each sync, before it happens; from any thread, with no lock of the store held.
  void on_change(std::function<void(const std::string& what)> told) { told_ = std::move(told); }
  CrashMedium medium();

  // From now on nothing is done and everything is EIO, as for a process that is gone; revive() is for the next one.
  void kill();
  void revive();
  // The nth sync of an object from now (1: the next) fails once, and what it should have made durable never will be.
  void fail_sync(std::uint64_t n);
  // The nth write from now fails once with EIO, having written a part of its data.
  void tear_write(std::uint64_t n);
  // The medium has so many bytes: writes that do not fit write what does and are ENOSPC; nullopt: there is no end.
  void set_capacity(std::optional<std::uint64_t> bytes);
  // As a file system without fallocate(2).
  void refuse_to_allocate();
  // The user who owns the store may have so many bytes, and the medium has many more: EDQUOT, of which space() knows nothing.
  // `copies`: a file system that copies what it changes, where to cut a file takes some room too.
  void set_quota(std::uint64_t bytes, bool copies = false);
  std::uint64_t used();
  // The nth open or creation from now and `count` - 1 behind it are EMFILE.
  void refuse_handles(std::uint64_t n, std::uint64_t count);
  // Reads that touch this byte are EIO; an empty name: none.
  void break_reads(std::string name, std::uint64_t at);
  // Flips bits of one byte, on the medium and for who reads it.
  void flip(const std::string& name, std::uint64_t at, unsigned char bits);

  Result<std::shared_ptr<Object>> create(std::string_view name, Create how) override;
  Result<std::shared_ptr<Object>> open(std::string_view name) override;
  Status remove(std::string_view name) override;
  Status rename(std::string_view from, std::string_view to) override;
  Result<bool> exists(std::string_view name) override;
  Result<std::vector<std::string>> list(std::string_view folder) override;
  Status sync_names() override;
  Status sync_everything() override;
  Result<SpaceInfo> space() override;
  Result<std::unique_ptr<StoreLock>> lock(std::string_view owner) override { return locks_.lock(owner); }
  Result<std::unique_ptr<StoreLock>> lock_for_reading() override { return locks_.lock_for_reading(); }
  // A medium without an end has no room to hold.
  bool zeros_hold_room() const override;
  std::string description() const override { return "crash"; }

 private:
  friend class CrashObject;
  Status begin(std::string_view what, std::string_view name);
  Status alive(std::string_view name) CFFS_REQUIRES(mutex_);
  Status handle(std::string_view name) CFFS_REQUIRES(mutex_);
  std::uint64_t used_now() const CFFS_REQUIRES(mutex_);
  // How much of so many more bytes there is room for.
  std::uint64_t room_for(std::uint64_t bytes) const CFFS_REQUIRES(mutex_);
  Status write(CrashMedium::Body& body, const std::string& name, std::uint64_t offset, std::string_view data,
               bool punches = false);
  Status sync(const CrashMedium::BodyPtr& body, const std::string& name);
  Result<std::size_t> read(const CrashMedium::Body& body, const std::string& name, std::uint64_t offset,
                           Bytes out);

  std::function<void(const std::string&)> told_;
  MemoryStore locks_;  // who uses the store
  mutable Mutex mutex_;
  CrashMedium medium_ CFFS_GUARDED_BY(mutex_);
  bool killed_ CFFS_GUARDED_BY(mutex_) = false;
  std::uint64_t syncs_to_failure_ CFFS_GUARDED_BY(mutex_) = 0;   // 0: none
  std::uint64_t writes_to_failure_ CFFS_GUARDED_BY(mutex_) = 0;  // 0: none
  std::optional<std::uint64_t> capacity_ CFFS_GUARDED_BY(mutex_);
  bool can_allocate_ CFFS_GUARDED_BY(mutex_) = true;
  int when_full_ CFFS_GUARDED_BY(mutex_) = ENOSPC;
  std::uint64_t to_cut_ CFFS_GUARDED_BY(mutex_) = 0;  // bytes that must be there for it
  std::uint64_t handles_ CFFS_GUARDED_BY(mutex_) = 0;  // asked for since refuse_handles()
  std::uint64_t refused_from_ CFFS_GUARDED_BY(mutex_) = 0, refused_to_ CFFS_GUARDED_BY(mutex_) = 0;
  std::string broken_ CFFS_GUARDED_BY(mutex_);
  std::uint64_t broken_at_ CFFS_GUARDED_BY(mutex_) = 0;
};

}  // namespace cffs::test
