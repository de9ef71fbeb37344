#include "grouping/mining/mine_groups.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace cffs::grouping {
namespace {

using Step = std::function<void(const std::string&)>;

// From mined.min_support on.
void mine_itemsets(MinedGroups& mined, const Transactions& transactions, const GroupMiningOptions& options,
                   const Step& on_step) {
  // Candidates that turn out to be rare cost time and are no itemsets.
  constexpr std::uint64_t kJoinsForAnItemset = 32;
  const auto own = options.miner == nullptr ? make_miner(options.algorithm) : nullptr;
  const Miner* const miner = options.miner == nullptr ? own.get() : options.miner;
  const bool asked_for = options.min_support > 0 || options.relative_support > 0;
  for (;;) {
    if (on_step) on_step("mining sets that at least " + std::to_string(mined.min_support) + " sessions hold");
    MiningResult result =
        miner->mine(transactions, {mined.min_support, options.max_size, options.max_itemsets,
                                   kJoinsForAnItemset * options.max_itemsets});
    if (!result.gave_up) {
      mined.itemsets = std::move(result.itemsets);
      break;
    }
    if (asked_for && options.algorithm == "apriori") {
      mined.problem = "more than " + std::to_string(options.max_itemsets) + " sets of files are in " +
                      std::to_string(mined.min_support) +
                      " sessions and more, too many to list all as apriori does: take "
                      "--algorithm=closed, a higher --min-support (auto finds one), or bound --max-size";
      return;
    }
    mined.support_raised = true;
    mined.min_support *= 2;
  }
}

}  // namespace

std::vector<std::uint64_t> sizes_to_group(std::vector<std::uint64_t> sizes, std::uint64_t table_bytes) {
  if (table_bytes == 0) return sizes;
  for (std::uint64_t& size : sizes) {
    if (size <= table_bytes) size = ~std::uint64_t{0} >> 16;
  }
  return sizes;
}

MinedGroups mine_groups(const Transactions& transactions, const std::vector<std::uint64_t>& all_sizes,
                        const GroupMiningOptions& options,
                        const std::function<void(const std::string&)>& on_step) {
  constexpr double kAutomaticShare = 0.0005;
  constexpr std::uint64_t kAutomaticLeast = 3;
  const bool benefit = options.algorithm == "benefit";
  const auto share = [&](double s) {
    return static_cast<std::uint64_t>(std::ceil(s * static_cast<double>(transactions.size())));
  };
  MinedGroups mined;
  mined.item_supports = item_supports(transactions);
  mined.min_support = options.min_support > 0 ? options.min_support
                      : options.relative_support > 0
                          ? std::max<std::uint64_t>(1, share(options.relative_support))
                      : benefit ? BenefitOptions{}.min_together
                                : std::max(kAutomaticLeast, share(kAutomaticShare));
  if (options.algorithm == "none") return mined;
  const std::vector<std::uint64_t> sizes = sizes_to_group(all_sizes, options.table_bytes);
  if (benefit) {
    if (on_step) on_step("merging files by what it saves");
    std::size_t most = std::min(options.selection.max_members, SelectionOptions{}.max_members);
    if (options.max_size > 0) most = std::min(most, options.max_size);
    mined.groups =
        benefit_groups(transactions, sizes,
                       {options.exchange_bytes, mined.min_support,
                        std::min(options.selection.max_bytes, SelectionOptions{}.max_bytes), most});
  } else {
    mine_itemsets(mined, transactions, options, on_step);
    if (!mined.problem.empty()) return mined;
    if (on_step) on_step("choosing groups");
    mined.groups = select_groups(mined.itemsets, mined.item_supports, sizes, options.selection);
  }
  order_groups(mined.groups, transactions);
  std::stable_sort(mined.groups.begin(), mined.groups.end(),
                   [](const SelectedGroup& a, const SelectedGroup& b) {
                     return a.support * a.items.size() > b.support * b.items.size();
                   });
  return mined;
}

Savings expected_savings(const std::vector<SelectedGroup>& groups, const Transactions& transactions,
                         const std::vector<std::uint64_t>& sizes) {
  std::unordered_map<Item, std::size_t> group_of;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (const Item item : groups[g].items) group_of.emplace(item, g);
  }
  Savings s;
  std::vector<std::uint64_t> touched_in(groups.size(), ~std::uint64_t{0});
  (void)transactions.for_each([&](std::uint64_t number, std::span<const Item> items) {
    s.accesses += items.size();
    for (const Item item : items) {
      const auto it = group_of.find(item);
      if (it == group_of.end()) continue;
      ++s.covered;
      s.bytes_used += item < sizes.size() ? sizes[item] : 0;
      if (touched_in[it->second] == number) {
        ++s.reads_saved;
      } else {
        touched_in[it->second] = number;
        s.bytes_read += groups[it->second].bytes;
      }
    }
  });
  return s;
}

}  // namespace cffs::grouping
