// One interface over the mining engines. Both are exact: they find the same supports as counting every set would.
#pragma once

#include <memory>
#include <string>

#include "grouping/mining/transactions.h"

namespace cffs::grouping {

class Miner {
 public:
  virtual ~Miner() = default;
  virtual std::string_view name() const = 0;
  virtual MiningResult mine(const Transactions& transactions, const MiningOptions& options) const = 0;
};

// "apriori": all frequent itemsets. "closed": those that no larger set with the same support holds; they are far
// fewer, and all others follow from them. Null: no such engine.
std::unique_ptr<Miner> make_miner(std::string_view name);

}  // namespace cffs::grouping
