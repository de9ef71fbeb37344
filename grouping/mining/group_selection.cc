#include "grouping/mining/group_selection.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

namespace cffs::grouping {

double confidence_of(const Itemset& set, const std::vector<std::uint64_t>& item_supports) {
  std::uint64_t most = 0;
  for (const Item item : set.items)
    most = std::max(most, item < item_supports.size() ? item_supports[item] : 0);
  return most == 0 ? 0 : static_cast<double>(set.support) / static_cast<double>(most);
}

namespace {

// A set whose most popular files spoil its confidence, without them. A closed set says nothing of its subsets, and what
// all pages embed is in every page's set.
Itemset without_popular(const Itemset& set, const std::vector<std::uint64_t>& item_supports,
                        double min_confidence) {
  Itemset kept{{}, set.support, set.last};
  const auto most = static_cast<double>(set.support) / min_confidence;
  for (const Item item : set.items) {
    const std::uint64_t support = item < item_supports.size() ? item_supports[item] : 0;
    if (static_cast<double>(support) <= most) kept.items.push_back(item);
  }
  return kept;
}

// The sets to choose from: those of enough confidence, and what is left of the others. Of equal ones the best known
// support counts.
std::vector<Itemset> eligible(const std::vector<Itemset>& itemsets,
                              const std::vector<std::uint64_t>& item_supports, double min_confidence) {
  struct Hash {
    std::size_t operator()(const std::vector<Item>& items) const {
      std::size_t h = items.size();
      for (const Item item : items) h = (h ^ item) * 0x9e3779b97f4a7c15u;
      return h;
    }
  };
  std::vector<Itemset> found;
  std::unordered_map<std::vector<Item>, std::size_t, Hash> known;
  for (const Itemset& set : itemsets) {
    if (set.items.size() < 2) continue;
    Itemset kept = min_confidence > 0 ? without_popular(set, item_supports, min_confidence) : set;
    if (kept.items.size() < 2) continue;
    const auto [it, fresh] = known.try_emplace(kept.items, found.size());
    if (fresh) {
      found.push_back(std::move(kept));
    } else if (kept.support > found[it->second].support) {
      found[it->second].support = kept.support;
      found[it->second].last = std::max(found[it->second].last, kept.last);
    }
  }
  return found;
}

}  // namespace

std::vector<SelectedGroup> select_groups(const std::vector<Itemset>& mined,
                                         const std::vector<std::uint64_t>& item_supports,
                                         const std::vector<std::uint64_t>& sizes,
                                         const SelectionOptions& options) {
  const auto size_of = [&](Item item) { return item < sizes.size() ? sizes[item] : 0; };
  const std::vector<Itemset> itemsets = eligible(mined, item_supports, options.min_confidence);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < itemsets.size(); ++i) {
    const Itemset& set = itemsets[i];
    if (set.items.size() > options.max_members) continue;
    const std::uint64_t bytes =
        std::accumulate(set.items.begin(), set.items.end(), std::uint64_t{0},
                        [&](std::uint64_t sum, Item item) { return sum + size_of(item); });
    if (bytes <= options.max_bytes) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) {
    const Itemset &a = itemsets[x], &b = itemsets[y];
    if (a.items.size() != b.items.size()) return a.items.size() > b.items.size();
    if (a.support != b.support) return a.support > b.support;
    if (a.last != b.last) return a.last > b.last;
    return a.items < b.items;
  });
  std::vector<bool> taken(item_supports.size());
  std::vector<SelectedGroup> groups;
  for (const std::size_t i : order) {
    const Itemset& set = itemsets[i];
    const bool overlaps =
        std::any_of(set.items.begin(), set.items.end(), [&](Item item) { return taken[item]; });
    if (overlaps) continue;
    SelectedGroup group{set.items, set.support, set.last, confidence_of(set, item_supports), 0};
    for (const Item item : set.items) {
      taken[item] = true;
      group.bytes += size_of(item);
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

namespace {

// What is known of the order inside one group.
struct Sequences {
  std::map<std::vector<Item>, std::uint64_t> whole;       // orders of all members
  std::map<std::pair<Item, Item>, std::uint64_t> before;  // first came before second
};

std::vector<Item> by_precedence(std::vector<Item> rest, const Sequences& seen) {
  const auto count = [&](Item a, Item b) {
    const auto it = seen.before.find({a, b});
    return it == seen.before.end() ? std::uint64_t{0} : it->second;
  };
  std::vector<Item> ordered;
  while (!rest.empty()) {
    // The one that most often comes before the others that are left.
    std::size_t best = 0;
    std::int64_t best_lead = 0;
    for (std::size_t i = 0; i < rest.size(); ++i) {
      std::int64_t lead = 0;
      for (const Item other : rest) {
        lead += static_cast<std::int64_t>(count(rest[i], other)) -
                static_cast<std::int64_t>(count(other, rest[i]));
      }
      if (i == 0 || lead > best_lead) best = i, best_lead = lead;
    }
    ordered.push_back(rest[best]);
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(best));
  }
  return ordered;
}

}  // namespace

void order_groups(std::vector<SelectedGroup>& groups, const Transactions& transactions) {
  constexpr std::size_t kMostSequences = 4096;  // distinct ones remembered for a group
  constexpr std::size_t kPairwise = 64;         // larger groups go by whole sequences alone
  std::unordered_map<Item, std::size_t> group_of;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (const Item item : groups[g].items) group_of.emplace(item, g);
  }
  std::vector<Sequences> seen(groups.size());
  std::map<std::size_t, std::vector<Item>> met;
  (void)transactions.for_each([&](std::uint64_t, std::span<const Item> items) {
    met.clear();
    for (const Item item : items) {
      if (const auto it = group_of.find(item); it != group_of.end()) met[it->second].push_back(item);
    }
    for (const auto& [g, sequence] : met) {
      if (sequence.size() == groups[g].items.size()) {
        const auto it = seen[g].whole.find(sequence);
        if (it != seen[g].whole.end()) {
          ++it->second;
        } else if (seen[g].whole.size() < kMostSequences) {
          seen[g].whole.emplace(sequence, 1);
        }
      } else if (groups[g].items.size() <= kPairwise) {
        for (std::size_t i = 0; i < sequence.size(); ++i) {
          for (std::size_t j = i + 1; j < sequence.size(); ++j) ++seen[g].before[{sequence[i], sequence[j]}];
        }
      }
    }
  });
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto best = std::max_element(seen[g].whole.begin(), seen[g].whole.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    // Where nothing is known they stay as they are: by_precedence takes time by the cube of the members.
    if (best != seen[g].whole.end()) {
      groups[g].items = best->first;
    } else if (!seen[g].before.empty()) {
      groups[g].items = by_precedence(groups[g].items, seen[g]);
    }
  }
}

}  // namespace cffs::grouping
