// Plain bytes of one frame, in memory that is used again and again: to have it from the system anew for each frame would cost half as
// much as to decompress it.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/mutex.h"

namespace cffs {

class FrameBytes {
 public:
  FrameBytes(std::unique_ptr<std::byte[]> memory, std::size_t size)
      : memory_(std::move(memory)), size_(size) {}
  ConstBytes bytes() const { return {memory_.get(), size_}; }
  Bytes writable() { return {memory_.get(), size_}; }

 private:
  friend class FrameMemory;
  std::unique_ptr<std::byte[]> memory_;
  std::size_t size_;
};

// Thread safety: everything.
class FrameMemory : public std::enable_shared_from_this<FrameMemory> {
 public:
  // Room for a frame of so many bytes, kLargestFrame at most; what is in it is arbitrary. It comes back when nobody has it any more.
  std::shared_ptr<FrameBytes> take(std::size_t size);

 private:
  static constexpr std::size_t kMostSpare = 32;
  void give_back(FrameBytes* bytes);

  Mutex mutex_;  // leaf
  std::vector<std::unique_ptr<std::byte[]>> spare_ CFFS_GUARDED_BY(mutex_);
};

}  // namespace cffs
