// Closed sets mined by many who share the work, and the latest transaction of sets that were only counted: as one miner says it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "grouping/mining/closed.h"
#include "grouping/mining/latest.h"
#include "grouping/mining/projection.h"
#include "tests/test_seeds.h"

namespace cffs::grouping::test {
namespace {

using Rows = std::vector<std::vector<Item>>;

Rows rows_of_chance(std::mt19937_64& random) {
  const Item universe = static_cast<Item>(2 + random() % 9);
  const std::uint64_t density = 1 + random() % 10;  // tenths; all of them: items that every row holds
  Rows rows(1 + random() % 120);
  for (auto& row : rows) {
    for (Item item = 0; item < universe; ++item) {
      if (item == 1 || random() % 10 < density) row.push_back(item);
    }
    std::shuffle(row.begin(), row.end(), random);
  }
  return rows;
}

Transactions of(const Rows& rows) {
  Transactions transactions;
  for (const auto& row : rows) REQUIRE(transactions.add(row));
  return transactions;
}

void require_same(const std::vector<Itemset>& found, const std::vector<Itemset>& wanted) {
  REQUIRE(found.size() == wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    REQUIRE(found[i].items == wanted[i].items);
    REQUIRE(found[i].support == wanted[i].support);
    REQUIRE(found[i].last == wanted[i].last);
  }
}

// As Spark deals it out: ranks instead of items, to each part the rows that hold one of its ranks.
std::vector<Itemset> by_parts(const Rows& rows, const MiningOptions& options, Item parts) {
  const std::vector<std::uint64_t> supports = item_supports(of(rows));
  std::vector<Item> originals;
  for (Item item = 0; item < supports.size(); ++item) {
    if (supports[item] > 0 && supports[item] >= options.min_support) originals.push_back(item);
  }
  std::stable_sort(originals.begin(), originals.end(),
                   [&](Item a, Item b) { return supports[a] < supports[b]; });
  std::vector<Itemset> all;
  for (Item part = 0; part < parts; ++part) {
    std::vector<Item> roots;
    for (Item rank = part; rank < originals.size(); rank += parts) roots.push_back(rank);
    Transactions transactions;
    std::vector<std::uint64_t> numbers;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      std::vector<Item> ranks;
      for (Item rank = 0; rank < originals.size(); ++rank) {
        if (std::ranges::count(rows[row], originals[rank]) > 0) ranks.push_back(rank);
      }
      if (std::ranges::none_of(ranks, [&](Item rank) { return rank % parts == part; })) continue;
      REQUIRE(transactions.add(ranks));
      numbers.push_back(row);
    }
    for (Itemset& set : mine_closed_part(transactions, roots, options).itemsets) {
      for (Item& item : set.items) item = originals[item];
      std::sort(set.items.begin(), set.items.end());
      set.last = numbers[set.last];
      all.push_back(std::move(set));
    }
  }
  sort_itemsets(all);
  return all;
}

}  // namespace

TEST_CASE("closed sets of all parts are those of one miner, each once") {
  for (const std::uint64_t seed : cffs::test::seeds(2000)) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    const Rows rows = rows_of_chance(random);
    MiningOptions options;
    options.min_support = 1 + random() % (rows.size() / 3 + 2);
    options.max_size = random() % 3 == 0 ? 1 + random() % 5 : 0;
    const Transactions transactions = of(rows);
    require_same(by_parts(rows, options, static_cast<Item>(1 + random() % 5)),
                 ClosedMiner().mine(transactions, options).itemsets);
  }
}

TEST_CASE("the latest transaction with a set is found for sets that were only counted") {
  for (const std::uint64_t seed : cffs::test::seeds(500)) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    const Transactions transactions = of(rows_of_chance(random));
    const auto wanted = ClosedMiner().mine(transactions, {1, 0, 0}).itemsets;
    auto found = wanted;
    for (Itemset& set : found) set.last = 0;
    find_latest(found, transactions);
    require_same(found, wanted);
  }
}

}  // namespace cffs::grouping::test
