// Who comes most often, of any number that come, in bounded memory: Space-Saving (Metwally, Agrawal, El Abbadi: Efficient Computation
// of Frequent and Top-k Elements in Data Streams, 2005).
//
// Up to `most` keys are counted exactly. Beyond that who is new takes the place of who came least, and with it his count, as `over`: the
// count is too high by that at most, and nobody who came more often than all divided by `most` is missing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cffs {

// `Detail`: what else is kept of a key, from when it got its place on.
template <typename Key, typename Detail, typename Hash = std::hash<Key>>
class HeavyHitters {
 public:
  struct Entry {
    std::uint64_t count = 0, over = 0;
    Detail detail;
  };
  explicit HeavyHitters(std::size_t most) : most_(std::max<std::size_t>(1, most)) {}

  // One more of it. `is_new`: the detail was just made.
  Entry& add(const Key& key, bool& is_new) {
    auto there = entries_.find(key);
    is_new = there == entries_.end();
    if (is_new) {
      std::uint64_t inherited = 0;
      if (entries_.size() >= most_) {
        const auto least = order_.begin();
        inherited = least->first;
        entries_.erase(least->second);
        order_.erase(least);
      }
      there = entries_.emplace(key, Entry{inherited, inherited, {}}).first;
    } else {
      order_.erase({there->second.count, key});
    }
    order_.insert({++there->second.count, key});
    return there->second;
  }
  std::size_t size() const { return entries_.size(); }
  // The first `most` of them, whoever came most often first.
  std::vector<std::pair<Key, const Entry*>> top(std::size_t most) const {
    std::vector<std::pair<Key, const Entry*>> list;
    for (auto at = order_.rbegin(); at != order_.rend() && list.size() < most; ++at)
      list.emplace_back(at->second, &entries_.at(at->second));
    return list;
  }

 private:
  std::size_t most_;
  std::unordered_map<Key, Entry, Hash> entries_;
  std::set<std::pair<std::uint64_t, Key>> order_;
};

}  // namespace cffs
