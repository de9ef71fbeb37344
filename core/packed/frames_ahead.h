// A thread that decompresses what readers come to next.
//
// Thread safety: everything. A thread is made when it is first needed; without one, readers decompress themselves.
#pragma once

#include <array>
#include <cstddef>
#include <thread>

#include "core/base/mutex.h"
#include "core/packed/packed_object.h"

namespace cffs {

class FramesAhead {
 public:
  ~FramesAhead() { stop(); }
  void want(PackedObject::Ahead ahead);
  // Nothing is decompressed ahead from now on.
  void stop();

 private:
  static constexpr std::size_t kMostWaiting =
      8;  // who comes when there are more is no worse off than without
  void work();

  Mutex mutex_;  // leaf
  CondVar wake_;
  std::array<PackedObject::Ahead, kMostWaiting> queue_ CFFS_GUARDED_BY(mutex_);
  std::size_t first_ CFFS_GUARDED_BY(mutex_) = 0, waiting_ CFFS_GUARDED_BY(mutex_) = 0;
  bool over_ CFFS_GUARDED_BY(mutex_) = false;
  std::thread thread_ CFFS_GUARDED_BY(mutex_);
};

}  // namespace cffs
