// From frequent itemsets to groups: one file in one group (composite-file paper), and the order inside each.
#pragma once

#include <optional>

#include "grouping/mining/transactions.h"

namespace cffs::grouping {

struct SelectionOptions {
  // Least confidence of a group: the share of the accesses to its most popular file in which all of it was used. It
  // bounds what reading the group for the sake of any one member wastes.
  double min_confidence = 0.3;
  std::uint64_t max_bytes = 1u << 20;
  std::size_t max_members = 1024;
};

struct SelectedGroup {
  std::vector<Item> items;  // in the order in which they are to lie
  std::uint64_t support = 0;
  std::uint64_t last = 0;
  double confidence = 0;
  std::uint64_t bytes = 0;
};

double confidence_of(const Itemset& set, const std::vector<std::uint64_t>& item_supports);

// Overlap is resolved as in the paper: the set with more files wins, then the one with more support, then the more
// recent; then the one with the lower numbers, so that the answer is always the same. Files that are too popular for a
// set's confidence are left out of it. Where an itemset has lost files to larger ones, the rest of it may still be
// chosen, if it is frequent in its own right (it then is in the list).
// `sizes`: bytes of each item; items beyond its end count as empty.
std::vector<SelectedGroup> select_groups(const std::vector<Itemset>& itemsets,
                                         const std::vector<std::uint64_t>& item_supports,
                                         const std::vector<std::uint64_t>& sizes,
                                         const SelectionOptions& options);

// Orders the members of each group by the most prevalent sequence of first accesses among the transactions that hold
// the whole group; where none does (sets of the adjacency variant may span sessions), by how often one member came
// before another.
void order_groups(std::vector<SelectedGroup>& groups, const Transactions& transactions);

}  // namespace cffs::grouping
