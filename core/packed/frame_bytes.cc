#include "core/packed/frame_bytes.h"

#include "core/packed/packer.h"

namespace cffs {

std::shared_ptr<FrameBytes> FrameMemory::take(std::size_t size) {
  auto made = std::make_unique<FrameBytes>();
  if (size > kFramePlain) {
    made->alone_ = std::make_unique_for_overwrite<std::byte[]>(size);
    made->memory_ = Bytes(made->alone_.get(), size);
  } else {
    made->memory_ = Bytes(share_of_piece(), size);
  }
  return {made.release(), [owner = shared_from_this()](FrameBytes* bytes) { owner->give_back(bytes); }};
}

std::byte* FrameMemory::share_of_piece() {
  const MutexLock guard(mutex_);
  if (spare_.empty()) {
    spare_.reserve((pieces_.size() + 1) * kPieceFrames);  // to give one back needs no memory
    pieces_.push_back(std::make_unique_for_overwrite<std::byte[]>(kPieceFrames * kFramePlain));
    for (std::size_t i = kPieceFrames; i-- > 0;) spare_.push_back(pieces_.back().get() + i * kFramePlain);
  }
  std::byte* const share = spare_.back();
  spare_.pop_back();
  return share;
}

void FrameMemory::give_back(FrameBytes* bytes) {
  const std::unique_ptr<FrameBytes> ended(bytes);
  if (ended->alone_) return;
  const MutexLock guard(mutex_);
  spare_.push_back(ended->memory_.data());
}

}  // namespace cffs
