// All frequent itemsets, level by level (Agrawal and Srikant 1994): sets of k+1 are joined from two of k that differ in
// their last item, kept only where every subset of k is frequent, and counted by intersecting sets of transactions
// (vertical form).
//
// The tid sets of one prefix are held at a time, not those of a level: memory is that of the itemsets found. Pairs are
// counted in one pass over the rows into a triangle, where it fits.
#pragma once

#include "grouping/mining/miner.h"

namespace cffs::grouping {

class AprioriMiner final : public Miner {
 public:
  std::string_view name() const override { return "apriori"; }
  MiningResult mine(const Transactions& transactions, const MiningOptions& options) const override;
};

}  // namespace cffs::grouping
