// Frames that were decompressed lately, of all packed composites of one store: bounded in bytes, the one used longest ago goes
// first. Each is made by one thread; who wants it meanwhile waits for that.
//
// Thread safety: everything.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/base/error.h"
#include "core/base/mutex.h"
#include "core/packed/dictionary_cache.h"
#include "core/packed/frame_bytes.h"
#include "core/packed/frame_counters.h"

namespace cffs {

class FrameCache {
 public:
  using Plain = std::shared_ptr<const FrameBytes>;
  static constexpr std::size_t kUsualBytes = 32u << 20;

  explicit FrameCache(std::size_t most_bytes = kUsualBytes) : most_bytes_(most_bytes) {}

  // A number for whoever has frames here; no two have the same.
  std::uint64_t new_owner();

  // Null: it is not there now.
  Plain find(std::uint64_t owner, std::size_t frame);
  bool has(std::uint64_t owner, std::size_t frame);
  // What is there, or what `make` makes of it, which is then kept, unless it is null. Who does not wait gets null where somebody else
  // is making it.
  enum class Wait { no, yes };
  Result<Plain> get(std::uint64_t owner, std::size_t frame, const std::function<Result<Plain>()>& make,
                    Wait wait = Wait::yes);
  DictionaryCache& dictionaries() { return dictionaries_; }
  // For a frame to be made in.
  FrameMemory& memory() { return *memory_; }

  // Somebody decompressed one.
  void count(std::uint64_t plain_bytes, std::uint64_t nanoseconds) {
    decompressed_.fetch_add(1, std::memory_order_relaxed);
    plain_bytes_.fetch_add(plain_bytes, std::memory_order_relaxed);
    nanoseconds_.fetch_add(nanoseconds, std::memory_order_relaxed);
  }
  FrameCounters counters() const;

  // That are here now.
  std::uint64_t bytes() const;

 private:
  using Key = std::uint64_t;
  struct Kept {
    Plain plain;  // null: it is being made
    std::list<Key>::iterator recent;
  };
  // 24 bits: more frames than an index has (kMostFrames).
  static Key key_of(std::uint64_t owner, std::size_t frame) { return owner << 24 | frame; }
  Plain found(Key key) CFFS_REQUIRES(mutex_);
  static constexpr std::size_t kMostGone = 4;  // for one that comes: it is not larger than so many others
  void keep(Key key, const Plain& plain, std::list<Key>& place) CFFS_REQUIRES(mutex_);
  // What has to go for it.
  void let_go(std::vector<Plain>& gone) CFFS_REQUIRES(mutex_);

  const std::size_t most_bytes_;
  const std::shared_ptr<FrameMemory> memory_ = std::make_shared<FrameMemory>();
  DictionaryCache dictionaries_;
  std::atomic<std::uint64_t> decompressed_{0}, plain_bytes_{0}, nanoseconds_{0};
  mutable Mutex mutex_;  // leaf
  CondVar made_;
  std::uint64_t owners_ CFFS_GUARDED_BY(mutex_) = 0;
  std::list<Key> recent_ CFFS_GUARDED_BY(mutex_);  // front: used last
  std::unordered_map<Key, Kept> kept_ CFFS_GUARDED_BY(mutex_);
  std::uint64_t bytes_ CFFS_GUARDED_BY(mutex_) = 0, found_ CFFS_GUARDED_BY(mutex_) = 0;
};

}  // namespace cffs
