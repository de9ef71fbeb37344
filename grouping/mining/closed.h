// Closed frequent itemsets: those to which no item can be added without losing support. LCM's prefix-preserving closure
// extension (Uno et al., FIMI 2004): each closed set is met exactly once, so none is stored to test for repetition.
//
// The database shrinks on the way down: only transactions that hold the current set, only items that are frequent in
// them, equal ones merged; of the items already passed, each merged transaction keeps those that all its parts share,
// which is all that a closure needs to know.
#pragma once

#include "grouping/mining/miner.h"

namespace cffs::grouping {

class ClosedMiner final : public Miner {
 public:
  std::string_view name() const override { return "closed"; }
  MiningResult mine(const Transactions& transactions, const MiningOptions& options) const override;
};

// A part of that work, for many who share it. `transactions` are those that hold any item of `roots`, whole; items are numbered by
// rising support among all transactions, which decides what is found from where. Found are the closed sets of all transactions whose
// lowest item is in `roots`: each set is found in one part, and all parts together find what ClosedMiner does.
MiningResult mine_closed_part(const Transactions& transactions, const std::vector<Item>& roots,
                              const MiningOptions& options);

}  // namespace cffs::grouping
