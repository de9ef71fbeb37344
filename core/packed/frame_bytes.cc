#include "core/packed/frame_bytes.h"

#include <algorithm>
#include <utility>

#include "core/packed/packer.h"

namespace cffs {

std::shared_ptr<FrameBytes> FrameMemory::take(std::size_t size) {
  std::unique_ptr<std::byte[]> memory;
  if (size <= kFramePlain) {
    const MutexLock guard(mutex_);
    if (!spare_.empty()) {
      memory = std::move(spare_.back());
      spare_.pop_back();
    }
  }
  if (!memory) memory = std::make_unique_for_overwrite<std::byte[]>(std::max<std::size_t>(size, kFramePlain));
  auto made = std::make_unique<FrameBytes>(std::move(memory), size);
  return {made.release(), [owner = shared_from_this()](FrameBytes* bytes) { owner->give_back(bytes); }};
}

void FrameMemory::give_back(FrameBytes* bytes) {
  const std::unique_ptr<FrameBytes> ended(bytes);
  if (ended->size_ > kFramePlain) return;
  const MutexLock guard(mutex_);
  if (spare_.size() < kMostSpare) spare_.push_back(std::move(ended->memory_));
}

}  // namespace cffs
