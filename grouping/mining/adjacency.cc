#include "grouping/mining/adjacency.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "grouping/mining/projection.h"

namespace cffs::grouping {

void AdjacencyMiner::add(std::uint64_t stream, Item item) {
  const auto [it, fresh] = index_.try_emplace(stream, streams_.size());
  if (fresh) streams_.emplace_back();
  std::vector<Item>& items = streams_[it->second];
  if (!items.empty() && items.back() == item) return;
  items.push_back(item);
  if (++accesses_ >= options_.batch) mine_batch();
}

void AdjacencyMiner::mine_batch() {
  const auto least = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(std::ceil(options_.support * static_cast<double>(accesses_))));
  std::map<std::vector<Item>, std::uint64_t> frequent;  // sets of k-1
  for (std::size_t k = 1; k <= options_.max_size; ++k) {
    std::map<std::vector<Item>, std::uint64_t> counts;
    std::vector<Item> key, shorter;
    for (const std::vector<Item>& stream : streams_) {
      for (std::size_t at = 0; at + k <= stream.size(); ++at) {
        const auto run = [&](std::vector<Item>& into, std::size_t from, std::size_t length) {
          const auto begin = stream.begin() + static_cast<std::ptrdiff_t>(from);
          into.assign(begin, begin + static_cast<std::ptrdiff_t>(length));
          std::sort(into.begin(), into.end());
        };
        if (k > 1) {
          run(shorter, at, k - 1);
          if (!frequent.contains(shorter)) continue;
          run(shorter, at + 1, k - 1);
          if (!frequent.contains(shorter)) continue;
        }
        run(key, at, k);
        if (std::adjacent_find(key.begin(), key.end()) == key.end()) ++counts[key];
      }
    }
    std::erase_if(counts, [&](const auto& entry) { return entry.second < least; });
    for (const auto& [items, count] : counts) {
      Itemset& set = found_[items];
      set.items = items;
      set.support += count;
      set.last = batches_;
    }
    if (counts.empty()) break;
    frequent = std::move(counts);
  }
  ++batches_;
  accesses_ = 0;
  index_.clear();
  streams_.clear();
}

MiningResult AdjacencyMiner::finish() {
  if (accesses_ > 0) mine_batch();
  MiningResult result;
  for (auto& [items, set] : found_) result.itemsets.push_back(std::move(set));
  found_.clear();
  sort_itemsets(result.itemsets);
  return result;
}

}  // namespace cffs::grouping
