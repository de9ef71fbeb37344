// Which bytes of a blob its copy has, as runs: memory goes by what was written to meanwhile, not by the length, which of a sparse file
// may be any number. Not thread safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

namespace cffs {

class CopiedRuns {
 public:
  void add(std::uint64_t begin, std::uint64_t end) {
    if (begin >= end) return;
    auto next = ends_.upper_bound(begin);
    if (next != ends_.begin() && std::prev(next)->second >= begin) {
      next = std::prev(next);
      begin = next->first;
    }
    while (next != ends_.end() && next->first <= end) {
      end = std::max(end, next->second);
      next = ends_.erase(next);
    }
    ends_.emplace_hint(next, begin, end);
  }
  // Where the run ends that has this byte; the byte itself: none has.
  std::uint64_t end_of(std::uint64_t at) const {
    const auto next = ends_.upper_bound(at);
    return next == ends_.begin() ? at : std::max(at, std::prev(next)->second);
  }
  // Where the first run behind this byte begins, or `most`.
  std::uint64_t next_run(std::uint64_t at, std::uint64_t most) const {
    const auto next = ends_.upper_bound(at);
    return next == ends_.end() ? most : std::min(most, next->first);
  }

 private:
  std::map<std::uint64_t, std::uint64_t> ends_;  // by where they begin; no two touch
};

}  // namespace cffs
