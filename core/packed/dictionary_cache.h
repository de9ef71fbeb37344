// Dictionaries that were made ready lately, of all packed composites of one store: the one used longest ago goes first.
//
// Thread safety: everything.
#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <memory>
#include <utility>

#include "core/base/mutex.h"
#include "core/packed/dictionary.h"

namespace cffs {

class DictionaryCache {
 public:
  using Ready = std::shared_ptr<const DictionaryToDecompress>;
  static constexpr std::size_t kMost = 256;  // of about 60 KiB

  // That of an owner of frames (FrameCache::new_owner()). Fails as DictionaryToDecompress::of() does. Two threads may make the same
  // one ready at once.
  Result<Ready> get(std::uint64_t owner, const StoredDictionary& stored) {
    {
      const MutexLock guard(mutex_);
      if (Ready ready = found(owner)) return ready;
    }
    CFFS_TRY(Ready ready, DictionaryToDecompress::of(stored));
    std::list<Kept> place{{owner, ready}}, gone;
    const MutexLock guard(mutex_);
    if (found(owner)) return ready;
    kept_.splice(kept_.begin(), place);
    if (kept_.size() > kMost) gone.splice(gone.begin(), kept_, std::prev(kept_.end()));
    return ready;
  }

 private:
  using Kept = std::pair<std::uint64_t, Ready>;
  Ready found(std::uint64_t owner) CFFS_REQUIRES(mutex_) {
    const auto at = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& k) { return k.first == owner; });
    if (at == kept_.end()) return nullptr;
    kept_.splice(kept_.begin(), kept_, at);
    return at->second;
  }

  Mutex mutex_;                                   // leaf
  std::list<Kept> kept_ CFFS_GUARDED_BY(mutex_);  // front: used last
};

}  // namespace cffs
