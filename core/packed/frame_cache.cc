#include "core/packed/frame_cache.h"

#include <new>
#include <utility>

namespace cffs {

std::uint64_t FrameCache::new_owner() {
  const MutexLock guard(mutex_);
  return ++owners_;
}

FrameCache::Plain FrameCache::found(Key key) {
  const auto it = kept_.find(key);
  if (it == kept_.end() || !it->second.plain) return nullptr;
  recent_.splice(recent_.begin(), recent_, it->second.recent);
  ++found_;
  return it->second.plain;
}

FrameCache::Plain FrameCache::find(std::uint64_t owner, std::size_t frame) {
  const MutexLock guard(mutex_);
  return found(key_of(owner, frame));
}

bool FrameCache::has(std::uint64_t owner, std::size_t frame) {
  const MutexLock guard(mutex_);
  return kept_.contains(key_of(owner, frame));
}

namespace {

// Where memory is short nobody may wait for ever for what is never made.
Result<FrameCache::Plain> made_by(const std::function<Result<FrameCache::Plain>()>& make) {
  try {
    return make();
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM);
  }
}

}  // namespace

Result<FrameCache::Plain> FrameCache::get(std::uint64_t owner, std::size_t frame,
                                          const std::function<Result<Plain>()>& make, Wait wait) {
  const Key key = key_of(owner, frame);
  std::list<Key> place{key};  // all memory that is needed is there before anybody waits
  std::vector<Plain> gone;    // goes after the lock is released
  gone.reserve(kMostGone);
  MutexLock guard(mutex_);
  for (;;) {
    if (Plain plain = found(key)) return plain;
    if (!kept_.contains(key)) break;
    if (wait == Wait::no) return Plain();
    made_.wait(mutex_);
  }
  kept_.emplace(key, Kept{});
  guard.unlock();
  Result<Plain> made = made_by(make);
  guard.lock();
  if (made && *made) {
    keep(key, *made, place);
    let_go(gone);
  } else {
    kept_.erase(key);
  }
  guard.unlock();
  made_.notify_all();
  return made;
}

void FrameCache::keep(Key key, const Plain& plain, std::list<Key>& place) {
  bytes_ += plain->bytes().size();
  recent_.splice(recent_.begin(), place);
  Kept& kept = kept_.find(key)->second;
  kept.plain = plain;
  kept.recent = recent_.begin();
}

void FrameCache::let_go(std::vector<Plain>& gone) {
  while (bytes_ > most_bytes_ && recent_.size() > 1 && gone.size() < kMostGone) {
    const auto last = kept_.find(recent_.back());
    bytes_ -= last->second.plain->bytes().size();
    gone.push_back(std::move(last->second.plain));
    kept_.erase(last);
    recent_.pop_back();
  }
}

FrameCounters FrameCache::counters() const {
  const MutexLock guard(mutex_);
  return {decompressed_, plain_bytes_, nanoseconds_, found_};
}

std::uint64_t FrameCache::bytes() const {
  const MutexLock guard(mutex_);
  return bytes_;
}

}  // namespace cffs
