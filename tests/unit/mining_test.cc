// Both engines against counting every set, on thousands of small inputs.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>

#include "grouping/mining/mine_groups.h"
#include "grouping/mining/miner.h"
#include "tests/test_seeds.h"

namespace cffs::grouping::test {
namespace {

using Rows = std::vector<std::vector<Item>>;

// Support and latest transaction of every itemset, by enumeration of all subsets of every row.
std::map<std::vector<Item>, std::pair<std::uint64_t, std::uint64_t>> all_itemsets(const Rows& rows) {
  std::map<std::vector<Item>, std::pair<std::uint64_t, std::uint64_t>> found;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::set<Item> sorted(rows[r].begin(), rows[r].end());
    const std::vector<Item> items(sorted.begin(), sorted.end());
    for (std::uint32_t mask = 1; mask < (1u << items.size()); ++mask) {
      std::vector<Item> subset;
      for (std::size_t i = 0; i < items.size(); ++i) {
        if ((mask >> i & 1) != 0) subset.push_back(items[i]);
      }
      auto& [support, last] = found[subset];
      ++support;
      last = r;
    }
  }
  return found;
}

Rows random_rows(std::mt19937_64& random) {
  const std::size_t universe = 1 + random() % 9;
  const std::uint64_t density = 1 + random() % 9;  // tenths
  Rows rows(random() % 150);
  for (auto& row : rows) {
    for (Item item = 0; item < universe; ++item) {
      if (random() % 10 < density) row.push_back(item * 3);  // numbers with gaps
    }
    if (row.empty()) row.push_back(0);
    std::shuffle(row.begin(), row.end(), random);
  }
  return rows;
}

std::vector<Itemset> expected(const Rows& rows, const MiningOptions& options, bool closed_only) {
  const auto all = all_itemsets(rows);
  std::vector<Itemset> wanted;
  for (const auto& [items, figures] : all) {
    if (figures.first < options.min_support) continue;
    if (options.max_size > 0 && items.size() > options.max_size) continue;
    bool closed = true;
    if (closed_only) {
      for (const auto& [larger, theirs] : all) {
        closed = closed && !(larger.size() == items.size() + 1 && theirs.first == figures.first &&
                             std::includes(larger.begin(), larger.end(), items.begin(), items.end()));
      }
    }
    if (closed) wanted.push_back({items, figures.first, figures.second});
  }
  std::stable_sort(wanted.begin(), wanted.end(),
                   [](const Itemset& a, const Itemset& b) { return a.items.size() < b.items.size(); });
  return wanted;
}

}  // namespace

TEST_CASE("both engines find what counting every set finds") {
  for (const std::uint64_t seed : cffs::test::seeds(3000)) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    const Rows rows = random_rows(random);
    Transactions transactions(1 + random() % 500);  // some spill to the temporary file
    for (const auto& row : rows) REQUIRE(transactions.add(row));
    REQUIRE(transactions.size() == rows.size());
    MiningOptions options;
    options.min_support = 1 + random() % (rows.size() / 3 + 2);
    options.max_size = random() % 3 == 0 ? 1 + random() % 5 : 0;
    for (const char* engine : {"apriori", "closed"}) {
      INFO(engine);
      const MiningResult found = make_miner(engine)->mine(transactions, options);
      const auto wanted = expected(rows, options, std::string_view(engine) == "closed");
      REQUIRE(!found.gave_up);
      REQUIRE(found.itemsets.size() == wanted.size());
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        REQUIRE(found.itemsets[i].items == wanted[i].items);
        REQUIRE(found.itemsets[i].support == wanted[i].support);
        REQUIRE(found.itemsets[i].last == wanted[i].last);
      }
    }
  }
}

TEST_CASE("sparse and dense sets of transactions agree on larger inputs") {
  std::mt19937_64 random(99);
  Transactions transactions;
  for (int row = 0; row < 20'000; ++row) {
    std::vector<Item> items;
    for (Item item = 0; item < 60; ++item) {
      // Item 0 is nearly everywhere, the last ones are rare: bitsets meet lists.
      if (random() % (item * item / 12 + 2) == 0) items.push_back(item);
    }
    if (items.empty()) items.push_back(59);
    REQUIRE(transactions.add(items));
  }
  const MiningOptions options{40, 0, 0};
  const auto all = make_miner("apriori")->mine(transactions, options).itemsets;
  const auto closed = make_miner("closed")->mine(transactions, options).itemsets;
  REQUIRE(all.size() > 1000);
  // Every frequent set has the support of the smallest closed set around it.
  for (const Itemset& set : all) {
    std::uint64_t support = 0;
    for (const Itemset& c : closed) {
      if (std::includes(c.items.begin(), c.items.end(), set.items.begin(), set.items.end()))
        support = std::max(support, c.support);
    }
    REQUIRE(support == set.support);
  }
}

TEST_CASE("a miner gives up where it is told to, and says so") {
  Transactions transactions;
  std::vector<Item> row(20);
  for (Item i = 0; i < 20; ++i) row[i] = i;
  for (int i = 0; i < 5; ++i) REQUIRE(transactions.add(row));
  const auto all = make_miner("apriori")->mine(transactions, {2, 0, 1000});
  REQUIRE(all.gave_up);
  REQUIRE(all.itemsets.size() == 1000);
  const auto closed = make_miner("closed")->mine(transactions, {2, 0, 1000});
  REQUIRE(!closed.gave_up);
  REQUIRE(closed.itemsets.size() == 1);
  REQUIRE(closed.itemsets[0].items == row);
}

TEST_CASE("Apriori gives up where it looks at too many sets that are rare") {
  // Each two of 200 items are together in two transactions, no three in more than one.
  Transactions transactions;
  for (int copy = 0; copy < 2; ++copy) {
    for (Item a = 0; a < 200; ++a) {
      for (Item b = a + 1; b < 200; ++b) REQUIRE(transactions.add(std::vector<Item>{a, b}));
    }
  }
  MiningOptions options{2, 0, 1'000'000};
  const auto all = make_miner("apriori")->mine(transactions, options);
  REQUIRE(!all.gave_up);
  REQUIRE(all.itemsets.size() == 200 + 200 * 199 / 2);
  options.max_joins = 100'000;
  REQUIRE(make_miner("apriori")->mine(transactions, options).gave_up);
}

TEST_CASE("Apriori counts the pairs of many items as it counts those of few") {
  std::mt19937_64 random(11);
  Transactions transactions;
  for (int row = 0; row < 12'000; ++row) {
    std::set<Item> items;
    for (int i = 0; i < 6; ++i) items.insert(static_cast<Item>(random() % 20'000));
    const auto often = static_cast<Item>(random() % 50);
    items.insert({often, often + 1});
    std::vector<Item> in_order(items.begin(), items.end());
    std::shuffle(in_order.begin(), in_order.end(), random);
    REQUIRE(transactions.add(in_order));
    if (row % 5 == 0) REQUIRE(transactions.add(in_order));
  }
  std::map<std::vector<Item>, std::uint64_t> counted;
  (void)transactions.for_each([&](std::uint64_t, std::span<const Item> row) {
    std::vector<Item> items(row.begin(), row.end());
    std::sort(items.begin(), items.end());
    for (std::size_t i = 0; i < items.size(); ++i) {
      for (std::size_t j = i + 1; j < items.size(); ++j) ++counted[{items[i], items[j]}];
    }
  });
  std::erase_if(counted, [](const auto& pair) { return pair.second < 2; });
  std::size_t frequent_items = 0;
  std::map<std::vector<Item>, std::uint64_t> found;
  for (const Itemset& set : make_miner("apriori")->mine(transactions, {2, 2, 0}).itemsets) {
    frequent_items += set.items.size() == 1;
    if (set.items.size() == 2) found[set.items] = set.support;
  }
  REQUIRE(frequent_items > 8192);
  REQUIRE(found == counted);
}

TEST_CASE("more sets than allowed: a support that was asked for is Apriori's problem, another is raised") {
  Transactions transactions;
  std::vector<Item> row(20);
  for (Item i = 0; i < 20; ++i) row[i] = i;
  for (int i = 0; i < 5; ++i) REQUIRE(transactions.add(row));
  GroupMiningOptions options;
  options.max_itemsets = 1000;
  options.algorithm = "apriori";
  const std::vector<std::uint64_t> sizes(20, 10);
  const MinedGroups by_itself = mine_groups(transactions, sizes, options);
  CHECK(by_itself.problem.empty());
  CHECK(by_itself.support_raised);
  options.min_support = 2;
  const MinedGroups asked = mine_groups(transactions, sizes, options);
  CHECK(asked.problem.find("1000 sets") != std::string::npos);
  CHECK(asked.problem.find("2 sessions") != std::string::npos);
  CHECK(asked.groups.empty());
  options.max_size = 2;
  CHECK(mine_groups(transactions, sizes, options).problem.empty());
}

}  // namespace cffs::grouping::test
