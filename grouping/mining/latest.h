// The latest transaction that holds each of many sets: what a miner that counts does not say, and what the choice of groups asks.
#pragma once

#include "grouping/mining/transactions.h"

namespace cffs::grouping {

// Fills in `last` of each, which some transaction must hold. Memory: the transactions' items that are in any of the sets.
void find_latest(std::vector<Itemset>& itemsets, const Transactions& transactions);

}  // namespace cffs::grouping
