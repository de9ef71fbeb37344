// Plain bytes of one frame, in memory that is used again and again: to have it from the system anew for each frame would cost half as
// much as to decompress it. It lies in pieces of its own: frames come and go in another order than what a heap has beside them, and would
// leave holes there that nothing else fits into.
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
  ConstBytes bytes() const { return memory_; }
  Bytes writable() { return memory_; }

 private:
  friend class FrameMemory;
  std::unique_ptr<std::byte[]> alone_;  // of one that is too large for a piece's share
  Bytes memory_;
};

// Thread safety: everything.
class FrameMemory : public std::enable_shared_from_this<FrameMemory> {
 public:
  // Room for a frame of so many bytes, kLargestFrame at most; what is in it is arbitrary. It comes back when nobody has it any more, and is
  // kept for the next: as much as was ever taken at a time.
  std::shared_ptr<FrameBytes> take(std::size_t size);

 private:
  static constexpr std::size_t kPieceFrames = 16;
  std::byte* share_of_piece();
  void give_back(FrameBytes* bytes);

  Mutex mutex_;  // leaf
  std::vector<std::unique_ptr<std::byte[]>> pieces_ CFFS_GUARDED_BY(mutex_);
  std::vector<std::byte*> spare_ CFFS_GUARDED_BY(mutex_);  // has room for all
};

}  // namespace cffs
