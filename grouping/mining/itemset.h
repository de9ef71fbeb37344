// Items, itemsets and what a miner is asked for.
//
// An item is a file, by its number in whatever list the caller keeps. A transaction is the distinct files of one
// session. The support of a set is the number of transactions that hold all of it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace cffs::grouping {

using Item = std::uint32_t;

struct Itemset {
  std::vector<Item> items;    // ascending
  std::uint64_t support = 0;  // transactions
  std::uint64_t last = 0;     // number of the latest transaction that holds the set
};

struct MiningOptions {
  std::uint64_t min_support = 2;  // transactions, at least 1
  std::size_t max_size = 0;       // items of a set; 0: any number
  std::size_t max_itemsets = 0;   // gives up beyond; 0: never
  std::uint64_t max_joins = 0;    // of Apriori: candidates it may look at; gives up beyond; 0: never
};

struct MiningResult {
  std::vector<Itemset> itemsets;  // by size, then by items
  bool gave_up = false;           // more than allowed; the itemsets found so far are no complete answer
};

}  // namespace cffs::grouping
