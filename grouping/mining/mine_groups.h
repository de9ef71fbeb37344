// Frequency mining from transactions to ordered groups, as `cffs analyze` and a mount that mines its own accesses both
// do it.
#pragma once

#include <functional>
#include <string>

#include "grouping/mining/benefit.h"
#include "grouping/mining/group_selection.h"
#include "grouping/mining/miner.h"

namespace cffs::grouping {

struct GroupMiningOptions {
  std::string algorithm =
      "closed";  // as make_miner() knows it; "benefit": benefit_groups(), no itemsets; "none": no groups
  std::uint64_t min_support = 0;  // transactions; 0: relative_support decides
  double relative_support = 0;    // share of the transactions; 0: automatic
  std::size_t max_size = 0;       // files of an itemset; 0: any
  std::size_t max_itemsets = 2'000'000;
  SelectionOptions selection;
  double exchange_bytes = 0;      // of benefit_groups()
  std::uint64_t table_bytes = 0;  // files of at most so many are in no group
  const Miner* miner =
      nullptr;  // who mines the itemsets instead of make_miner(algorithm), for the same answer
};

// For those who group: files of at most `table_bytes` are as large as no group is.
std::vector<std::uint64_t> sizes_to_group(std::vector<std::uint64_t> sizes, std::uint64_t table_bytes);

struct MinedGroups {
  std::uint64_t min_support = 0;  // transactions that were asked for in the end
  bool support_raised = false;    // by itself: fewer would have given more than max_itemsets
  std::string problem;            // not empty: nothing was mined, and why
  std::vector<std::uint64_t> item_supports;
  std::vector<Itemset> itemsets;
  std::vector<SelectedGroup> groups;  // the most used first
};

// Of "benefit" the support is what two groups have together, two sessions where it is automatic, and nothing is raised. Else:
// where the support is automatic, three sessions and one in 2,000 are what a group needs to be more than chance; where
// that, or a support that was asked for, gives more itemsets than allowed, it is doubled and tried again. "apriori" has a
// problem there with a support that was asked for: who wants all the sets of that support does not want others.
// `on_step` hears what is being done.
MinedGroups mine_groups(const Transactions& transactions, const std::vector<std::uint64_t>& sizes,
                        const GroupMiningOptions& options,
                        const std::function<void(const std::string&)>& on_step = {});

// What the groups would have saved on these transactions.
struct Savings {
  std::uint64_t accesses = 0;     // first accesses of a file in a session
  std::uint64_t covered = 0;      // of those, to files in groups
  std::uint64_t reads_saved = 0;  // group members met again while the group was already read in that session
  std::uint64_t bytes_used = 0;   // of groups, by the sessions that touched them
  std::uint64_t bytes_read = 0;   // of groups, once for each session that touched them
};
Savings expected_savings(const std::vector<SelectedGroup>& groups, const Transactions& transactions,
                         const std::vector<std::uint64_t>& sizes);

}  // namespace cffs::grouping
