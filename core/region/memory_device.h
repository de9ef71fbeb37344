// A block device in memory, for tests of everything above the seam. Several devices may be of one medium, as processes that have
// the same one open.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "core/base/mutex.h"
#include "core/object/memory_store.h"
#include "core/region/block_device.h"

namespace cffs {

class MemoryDevice final : public BlockDevice {
 public:
  struct Medium {
    explicit Medium(std::uint64_t size) : bytes(size, '\0') {}
    Mutex mutex;
    std::string bytes CFFS_GUARDED_BY(mutex);
    MemoryStore holders;  // who has it
  };

  explicit MemoryDevice(std::shared_ptr<Medium> medium)
      : medium_(std::move(medium)), size_(size_of(*medium_)) {}
  explicit MemoryDevice(std::uint64_t size) : MemoryDevice(std::make_shared<Medium>(size)) {}

  std::uint64_t size() const override { return size_; }
  Status read(std::uint64_t offset, Bytes out) const override {
    if (offset > size_ || out.size() > size_ - offset) return fail(EIO, description());
    const MutexLock guard(medium_->mutex);
    std::memcpy(out.data(), medium_->bytes.data() + offset, out.size());
    return {};
  }
  Status write(std::uint64_t offset, ConstBytes data) override {
    if (offset > size_ || data.size() > size_ - offset) return fail(EIO, description());
    const MutexLock guard(medium_->mutex);
    std::memcpy(medium_->bytes.data() + offset, data.data(), data.size());
    return {};
  }
  Status flush(std::span<const DeviceRange>) override { return {}; }
  Status flush_everything() override { return {}; }
  std::uint64_t incarnation() const override { return 1; }
  Result<std::unique_ptr<StoreLock>> lock(bool writes) override {
    return writes ? medium_->holders.lock("a writer") : medium_->holders.lock_for_reading();
  }
  std::string description() const override { return "memory"; }

 private:
  static std::uint64_t size_of(Medium& medium) {
    const MutexLock guard(medium.mutex);
    return medium.bytes.size();
  }
  const std::shared_ptr<Medium> medium_;
  const std::uint64_t size_;
};

}  // namespace cffs
