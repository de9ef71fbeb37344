// The part of the transactions that mining needs: frequent items only, renumbered by rising support, transactions that
// became equal merged into one with a weight. Memory is proportional to the frequent accesses, not to the log.
#pragma once

#include "grouping/mining/transactions.h"

namespace cffs::grouping {

struct Projection {
  std::vector<Item> originals;           // item of the caller for each frequent item, rarest first
  std::vector<std::uint64_t> supports;   // of each frequent item
  std::vector<std::uint64_t> lasts;      // latest transaction that holds it
  std::vector<std::vector<Item>> rows;   // distinct transactions, items ascending, at least two
  std::vector<std::uint64_t> weights;    // how often each occurs
  std::vector<std::uint64_t> row_lasts;  // number of its latest occurrence
};

// `in_order`: items are numbered by rising support already, by that of more transactions than these, and keep their order.
Projection project(const Transactions& transactions, std::uint64_t min_support, bool in_order = false);
// Collects what a miner finds, up to the number it may find.
class ItemsetSink {
 public:
  ItemsetSink(const Projection& projection, const MiningOptions& options)
      : projection_(projection), options_(options) {}
  // Items of the projection. False: enough, give up.
  bool add(std::span<const Item> items, std::uint64_t support, std::uint64_t last);
  void give_up() { result_.gave_up = true; }
  bool gave_up() const { return result_.gave_up; }
  MiningResult take();

 private:
  const Projection& projection_;
  const MiningOptions& options_;
  MiningResult result_;
};

// Items of the projection as the caller's, ascending.
std::vector<Item> original_items(const Projection& projection, std::span<const Item> items);
// By size, then by items.
void sort_itemsets(std::vector<Itemset>& itemsets);

}  // namespace cffs::grouping
