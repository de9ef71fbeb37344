// Composites in which the room of members that are gone may still be the medium's to have: what the engine tells those who give
// room back (core/reorganise/punching.h).
//
// In memory alone: after an open, and where more come than are kept, a scan of the namespace finds them (`incomplete`).
// Threads: any; note() takes a leaf mutex, once for a batch that frees something.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "core/base/mutex.h"

namespace cffs {

class FreedComposites {
 public:
  explicit FreedComposites(std::size_t most = 65'536) : most_(most) {}

  using Freed = std::pair<CompositeId, std::uint64_t>;  // bytes: at most, since it was taken
  void note(const std::vector<Freed>& freed);
  void forget(const std::vector<CompositeId>& gone);
  // Those of which most was freed, until `bytes` of them are together, `most` at most. They are nobody's then.
  std::vector<CompositeId> take(std::uint64_t bytes, std::size_t most, std::int64_t now_ms);
  // Not to be taken again before then: somebody uses what no row names.
  void put_back(CompositeId id, std::int64_t until_ms);
  // Some may be missing here.
  bool incomplete() const;
  // Composites, and bytes of theirs.
  std::pair<std::size_t, std::uint64_t> backlog() const;
  // A scan begins: what is freed from now on is noted, what was freed before it finds.
  void scan_begins();
  // It did not come to its end.
  void scan_failed();

 private:
  struct Waiting {
    std::uint64_t bytes = 0;
    std::int64_t until_ms = 0;  // steady
  };

  const std::size_t most_;
  mutable Mutex mutex_;  // leaf
  std::map<CompositeId, Waiting> waiting_ CFFS_GUARDED_BY(mutex_);
  bool incomplete_ CFFS_GUARDED_BY(mutex_) = true;
};

}  // namespace cffs
