// A block device whose power may fail between any two sectors: what was written and not flushed is there or not, each sector of 512
// bytes for itself, in any of the states it has had since.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/mutex.h"
#include "core/object/memory_store.h"
#include "core/region/block_device.h"

namespace cffs::test {

// A value: a copy is another medium.
class SectorMedium {
 public:
  explicit SectorMedium(std::uint64_t bytes) : size_(bytes) {}

  std::uint64_t size() const { return size_; }
  void read(std::uint64_t offset, char* out, std::size_t bytes) const;
  void write(std::uint64_t offset, std::string_view data);
  void flush(std::uint64_t offset, std::uint64_t length);
  // As a writeback that fails: of each sector of the range that was written, the medium has it or not, and nobody will write it again.
  void lose(std::uint64_t offset, std::uint64_t length, std::uint64_t seed);
  // What was read or written and need not be flushed goes from memory.
  void forget();
  void flip(std::uint64_t offset, unsigned char bits);
  // As the machine finds it after a power cut now; the same seed leaves the same. Seed 0: nothing that was not flushed, 1: all of it.
  SectorMedium cut(std::uint64_t seed) const;
  void sync_everything() { flush(0, size_); }
  std::uint64_t incarnation() const { return incarnation_; }

 private:
  using Sector = std::shared_ptr<const std::string>;
  using Sectors = std::map<std::uint64_t, Sector>;  // those that were written; copies share them

  std::uint64_t size_;
  Sectors live_, durable_;
  std::map<std::uint64_t, std::vector<Sector>>
      unsynced_;  // of a sector: what it has been since it was flushed
  std::uint64_t incarnation_ = 1;
};

class CrashDevice final : public BlockDevice {
 public:
  // What outlives the device's user.
  struct State {
    explicit State(SectorMedium m) : medium(std::move(m)) {}
    Mutex mutex;
    SectorMedium medium CFFS_GUARDED_BY(mutex);
    MemoryStore holders;
    // Told of each write and flush before it happens.
    std::function<void(const std::string& what)> told;
    // errno of a write, of which nothing is written then; 0: it is done. Whoever sets it has no other thread beside.
    std::function<int(std::uint64_t offset, std::uint64_t bytes)> refuses;
    std::uint64_t flushes_to_failure CFFS_GUARDED_BY(mutex) = 0;  // 1: the next; 0: none
    std::optional<std::uint64_t> losing CFFS_GUARDED_BY(mutex);   // the flush that fails loses, by this seed
    std::uint64_t writes_to_failure CFFS_GUARDED_BY(mutex) = 0;   // that one writes half of its bytes
  };
  explicit CrashDevice(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::uint64_t size() const override;
  Status read(std::uint64_t offset, Bytes out) const override;
  Status write(std::uint64_t offset, ConstBytes data) override;
  Status flush(std::span<const DeviceRange> ranges) override;
  Status flush_everything() override;
  void forget_memory() override;
  std::uint64_t incarnation() const override;
  Result<std::unique_ptr<StoreLock>> lock(bool writes) override;
  std::string description() const override { return "crash"; }

 private:
  Status failing_flush(std::span<const DeviceRange> ranges) CFFS_REQUIRES(state_->mutex);
  void tell(const std::string& what) const {
    if (state_->told) state_->told(what);
  }
  const std::shared_ptr<State> state_;
};

}  // namespace cffs::test
