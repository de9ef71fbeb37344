#include "grouping/mining/apriori.h"

#include <algorithm>
#include <array>
#include <utility>

#include "grouping/mining/tid_set.h"

namespace cffs::grouping {
namespace {

constexpr std::size_t kTriangleItems = 8192;  // 128 MiB of counts at most

using TidLists = std::vector<std::vector<std::uint32_t>>;

// One level: itemsets of k items, end to end, in lexicographic order.
struct Level {
  std::size_t k = 0;
  std::vector<Item> items;
  std::size_t size() const { return items.size() / k; }
  std::span<const Item> operator[](std::size_t i) const { return std::span(items).subspan(i * k, k); }
  bool contains(std::span<const Item> wanted) const {
    std::size_t low = 0, high = size();
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      const auto there = (*this)[middle];
      const auto order =
          std::lexicographical_compare_three_way(there.begin(), there.end(), wanted.begin(), wanted.end());
      if (order == 0) return true;
      (order < 0 ? low : high) = order < 0 ? middle + 1 : middle;
    }
    return false;
  }
};

class AprioriRun {
 public:
  AprioriRun(const Transactions& transactions, const MiningOptions& options)
      : options_(options), p_(project(transactions, options.min_support)), order_(p_) {
    TidLists tids(p_.originals.size());
    for (std::uint32_t tid = 0; tid < order_.size(); ++tid) {
      for (const Item item : p_.rows[order_.row(tid)]) tids[item].push_back(tid);
    }
    for (const auto& list : tids) tids_.emplace_back(list, order_);
    if (tids.size() > kTriangleItems) lists_ = std::move(tids);
  }

  MiningResult run() {
    for (Item item = 0; item < p_.originals.size(); ++item) {
      if (!found_.add(std::span(&item, 1), p_.supports[item], p_.lasts[item])) return found_.take();
    }
    Level level = options_.max_size == 1 ? Level{2, {}} : pairs();
    while (!level.items.empty() && !found_.gave_up() &&
           (options_.max_size == 0 || level.k < options_.max_size)) {
      level = next(level);
    }
    return found_.take();
  }

 private:
  // Whether a pair is frequent, by one pass over the rows.
  std::vector<std::uint32_t> triangle() const {
    const std::size_t n = p_.originals.size();
    std::vector<std::uint32_t> counts(n * (n - 1) / 2);
    for (std::size_t r = 0; r < p_.rows.size(); ++r) {
      const auto& row = p_.rows[r];
      const auto weight = static_cast<std::uint32_t>(p_.weights[r]);
      for (std::size_t j = 1; j < row.size(); ++j) {
        std::uint32_t* const line = counts.data() + std::size_t{row[j]} * (row[j] - 1) / 2;
        for (std::size_t i = 0; i < j; ++i) line[row[i]] += weight;
      }
    }
    return counts;
  }

  // The items behind `a` that are in frequent pairs with it, ascending: by one pass over its rows.
  std::vector<Item> partners(Item a, std::vector<std::uint64_t>& counts) const {
    std::vector<Item> met;
    for (const std::uint32_t tid : lists_[a]) {
      const auto& row = p_.rows[order_.row(tid)];
      for (auto it = std::upper_bound(row.begin(), row.end(), a); it != row.end(); ++it) {
        if (counts[*it] == 0) met.push_back(*it);
        counts[*it] += order_.weight(tid);
      }
    }
    std::sort(met.begin(), met.end());
    std::erase_if(met, [&](Item b) { return std::exchange(counts[b], 0) < options_.min_support; });
    return met;
  }

  Level pairs() {
    const std::size_t n = p_.originals.size();
    Level level{2, {}};
    if (n < 2) return level;
    TidSet both;
    const auto add = [&](Item a, Item b) {
      TidSet::intersect(tids_[a], tids_[b], order_, both);
      const std::array<Item, 2> pair{a, b};
      if (!found_.add(pair, both.support(order_), both.last(order_))) return false;
      level.items.insert(level.items.end(), pair.begin(), pair.end());
      return true;
    };
    if (n <= kTriangleItems) {
      const std::vector<std::uint32_t> counts = triangle();
      for (Item a = 0; a < n; ++a) {
        for (Item b = a + 1; b < n; ++b) {
          const bool frequent = counts[std::size_t{b} * (b - 1) / 2 + a] >= options_.min_support;
          if (frequent && !add(a, b)) return level;
        }
      }
      return level;
    }
    std::vector<std::uint64_t> counts(n);
    for (Item a = 0; a < n; ++a) {
      for (const Item b : partners(a, counts)) {
        if (!add(a, b)) return level;
      }
    }
    return level;
  }

  // False: enough, give up.
  bool may_join() {
    if (options_.max_joins == 0 || ++joins_ <= options_.max_joins) return true;
    found_.give_up();
    return false;
  }

  // Every subset of k items is frequent. The two that were joined are known to be.
  static bool subsets_frequent(const Level& level, const std::vector<Item>& candidate) {
    std::vector<Item> subset(candidate.begin() + 1, candidate.end());
    for (std::size_t left_out = 0; left_out + 2 < candidate.size(); ++left_out) {
      if (!level.contains(subset)) return false;
      subset[left_out] = candidate[left_out];
    }
    return true;
  }

  Level next(const Level& level) {
    Level found{level.k + 1, {}};
    std::vector<Item> candidate;
    std::vector<TidSet> members;
    TidSet prefix, both;
    for (std::size_t first = 0; first < level.size() && !found_.gave_up();) {
      const auto head = level[first].first(level.k - 1);
      std::size_t end = first + 1;
      while (end < level.size() && std::equal(head.begin(), head.end(), level[end].begin())) ++end;
      if (end - first > 1) {
        prefix = tids_[head[0]];
        for (std::size_t i = 1; i < head.size(); ++i) {
          TidSet::intersect(prefix, tids_[head[i]], order_, both);
          std::swap(prefix, both);
        }
        members.resize(std::max(members.size(), end - first));
        for (std::size_t i = first; i < end; ++i) {
          TidSet::intersect(prefix, tids_[level[i].back()], order_, members[i - first]);
        }
        for (std::size_t i = first; i < end && !found_.gave_up(); ++i) {
          for (std::size_t j = i + 1; j < end && may_join(); ++j) {
            candidate.assign(level[i].begin(), level[i].end());
            candidate.push_back(level[j].back());
            if (!subsets_frequent(level, candidate)) continue;
            TidSet::intersect(members[i - first], members[j - first], order_, both);
            const std::uint64_t support = both.support(order_);
            if (support < options_.min_support) continue;
            if (!found_.add(candidate, support, both.last(order_))) break;
            found.items.insert(found.items.end(), candidate.begin(), candidate.end());
          }
        }
      }
      first = end;
    }
    return found;
  }

  const MiningOptions& options_;
  const Projection p_;
  const TidOrder order_;
  std::vector<TidSet> tids_;  // of each item
  TidLists lists_;            // the same, where pairs are counted by them
  std::uint64_t joins_ = 0;
  ItemsetSink found_{p_, options_};
};

}  // namespace

MiningResult AprioriMiner::mine(const Transactions& transactions, const MiningOptions& options) const {
  return AprioriRun(transactions, options).run();
}

}  // namespace cffs::grouping
