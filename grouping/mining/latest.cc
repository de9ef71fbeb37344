#include "grouping/mining/latest.h"

#include <algorithm>

namespace cffs::grouping {

void find_latest(std::vector<Itemset>& itemsets, const Transactions& transactions) {
  std::vector<std::vector<std::uint64_t>> holders;  // of each item, ascending
  std::vector<bool> wanted;
  for (const Itemset& set : itemsets) {
    for (const Item item : set.items) {
      if (item >= wanted.size()) wanted.resize(item + std::size_t{1});
      wanted[item] = true;
    }
  }
  holders.resize(wanted.size());
  (void)transactions.for_each([&](std::uint64_t number, std::span<const Item> items) {
    for (const Item item : items) {
      if (item < wanted.size() && wanted[item]) holders[item].push_back(number);
    }
  });
  for (Itemset& set : itemsets) {
    // The largest number that is in all lists: each in turn says what it cannot exceed.
    std::uint64_t most = ~std::uint64_t{0};
    for (std::size_t agree = 0, at = 0; agree < set.items.size(); at = (at + 1) % set.items.size()) {
      const auto& list = holders[set.items[at]];
      const auto beyond = std::upper_bound(list.begin(), list.end(), most);
      if (beyond == list.begin()) break;  // no transaction holds it
      const std::uint64_t found = *(beyond - 1);
      agree = found == most ? agree + 1 : 1;
      most = found;
    }
    set.last = most;
  }
}

}  // namespace cffs::grouping
