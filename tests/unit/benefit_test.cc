// Groups by what they save, against the sums done by hand and against looking at every pair.
#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <random>
#include <set>

#include "grouping/mining/mine_groups.h"
#include "tests/test_seeds.h"

namespace cffs::grouping::test {
namespace {

using Rows = std::vector<std::vector<Item>>;
using Sizes = std::vector<std::uint64_t>;

std::vector<SelectedGroup> groups_of(const Rows& rows, const Sizes& sizes, const BenefitOptions& options) {
  Transactions transactions(1000);
  for (const auto& row : rows) REQUIRE(transactions.add(row));
  return benefit_groups(transactions, sizes, options);
}

std::set<Item> set_of(const SelectedGroup& group) { return {group.items.begin(), group.items.end()}; }

bool uses(const std::vector<Item>& row, const std::vector<Item>& items) {
  return std::any_of(row.begin(), row.end(),
                     [&](Item item) { return std::find(items.begin(), items.end(), item) != items.end(); });
}

struct Tally {
  std::uint64_t a = 0, b = 0, both = 0;
};
Tally tally(const Rows& rows, const std::vector<Item>& a, const std::vector<Item>& b) {
  Tally t;
  for (const auto& row : rows) {
    const bool in_a = uses(row, a), in_b = uses(row, b);
    t.a += in_a ? 1 : 0;
    t.b += in_b ? 1 : 0;
    t.both += in_a && in_b ? 1 : 0;
  }
  return t;
}

std::uint64_t bytes_of(const std::vector<Item>& items, const Sizes& sizes) {
  return std::accumulate(items.begin(), items.end(), std::uint64_t{0},
                         [&](std::uint64_t sum, Item item) { return sum + sizes[item]; });
}

}  // namespace

TEST_CASE("two files are one group exactly where a positioning is worth more than the bytes read in vain") {
  // Two sessions use both, one uses 0 alone, one uses 1 alone: 2 positionings against 30,000 + 10,000 bytes.
  const Rows rows{{0, 1}, {1, 0}, {0}, {1}};
  const Sizes sizes{10'000, 30'000};
  REQUIRE(groups_of(rows, sizes, {19'999}).empty());
  REQUIRE(groups_of(rows, sizes, {20'000}).empty());  // as much: nothing is won
  const auto groups = groups_of(rows, sizes, {20'001});
  REQUIRE(groups.size() == 1);
  REQUIRE(set_of(groups[0]) == std::set<Item>{0, 1});
  REQUIRE(groups[0].bytes == 40'000);
  REQUIRE(groups[0].support == 2);
  REQUIRE(groups[0].confidence == Approx((40'000 * 2 + 10'000 + 30'000) / (40'000 * 4.0)));
}

TEST_CASE("one session is no habit, unless it is said to be") {
  const Rows rows{{0, 1}};
  REQUIRE(groups_of(rows, {10, 10}, {1e6}).empty());
  BenefitOptions options{1e6};
  options.min_together = 1;
  REQUIRE(groups_of(rows, {10, 10}, options).size() == 1);
}

TEST_CASE("a popular file stays out of the group of a rare one that is always used with it") {
  Rows rows(100, {0});
  for (int i = 0; i < 3; ++i) rows.push_back({0, 1, 2});
  // Of 103 sessions with file 0 three use 1 and 2, of 200,000 bytes each.
  const auto groups = groups_of(rows, {5'000, 200'000, 200'000}, {870'000});
  REQUIRE(groups.size() == 1);
  REQUIRE(set_of(groups[0]) == std::set<Item>{1, 2});
}

TEST_CASE("merged groups are judged as groups: who uses any of their files") {
  // Ten sessions use 0 and 1, four of them 2 as well, and four 2 alone: a session that uses all three saves one more positioning.
  Rows rows(6, {0, 1});
  for (int i = 0; i < 4; ++i) rows.push_back({0, 1, 2});
  for (int i = 0; i < 4; ++i) rows.push_back({2});
  // {0, 1} + 2: saves 4, wastes 6 times the bytes of 2 and 4 times those of 0 and 1.
  const Sizes sizes{1'000, 1'000, 1'000};
  REQUIRE(set_of(groups_of(rows, sizes, {3'400}).at(0)).size() == 2);  // 4 * 3,400 < 14,000
  REQUIRE(set_of(groups_of(rows, sizes, {3'600}).at(0)).size() == 3);  // 4 * 3,600 > 14,000
}

TEST_CASE("groups keep to their bytes and members, files without a place to none") {
  std::vector<Item> all(600);
  std::iota(all.begin(), all.end(), 0u);
  const Rows rows{all, all};
  const Sizes small(600, 10);
  auto groups = groups_of(rows, small, {1e6});  // longer than a window
  REQUIRE(groups.size() == 1);
  REQUIRE(groups[0].items.size() == 600);
  BenefitOptions options{1e6};
  options.max_members = 100;
  for (const auto& group : groups_of(rows, small, options)) REQUIRE(group.items.size() <= 100);
  options.max_members = 1024;
  options.max_bytes = 250;
  groups = groups_of(rows, small, options);
  REQUIRE(!groups.empty());
  for (const auto& group : groups) REQUIRE(group.bytes <= 250);
  REQUIRE(groups_of({{0, 1}, {0, 1}}, {10, ~std::uint64_t{0} >> 16}, {1e6}).empty());
}

TEST_CASE("no two groups are left that would save more than they waste, on random sessions") {
  std::size_t grouped = 0;
  for (const std::uint64_t seed : cffs::test::seeds(300)) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    const Item files = 2 + static_cast<Item>(random() % 20);
    Sizes sizes;
    for (Item i = 0; i < files; ++i) sizes.push_back(random() % 50'000);
    Rows rows;
    for (std::uint64_t r = 2 + random() % 60; r > 0; --r) {
      std::set<Item> row;
      // Clusters of four neighbours, and noise.
      const Item around = static_cast<Item>(random() % files);
      for (std::uint64_t n = 1 + random() % 5; n > 0; --n)
        row.insert(static_cast<Item>(random() % 8 == 0 ? random() : around + random() % 4) % files);
      rows.emplace_back(row.begin(), row.end());
      std::shuffle(rows.back().begin(), rows.back().end(), random);
    }
    BenefitOptions options{static_cast<double>(1 + random() % 60'000)};
    options.max_bytes = 150'000;
    std::vector<std::vector<Item>> parts;
    std::vector<bool> taken(files);
    for (const auto& group : groups_of(rows, sizes, options)) {
      REQUIRE(group.items.size() > 1);
      REQUIRE(bytes_of(group.items, sizes) == group.bytes);
      REQUIRE(group.bytes <= options.max_bytes);
      for (const Item item : group.items) {
        REQUIRE(!taken[item]);
        taken[item] = true;
      }
      parts.push_back(group.items);
      ++grouped;
    }
    for (Item item = 0; item < files; ++item) {
      if (!taken[item]) parts.push_back({item});
    }
    for (std::size_t a = 0; a < parts.size(); ++a) {
      for (std::size_t b = a + 1; b < parts.size(); ++b) {
        const std::uint64_t bytes_a = bytes_of(parts[a], sizes), bytes_b = bytes_of(parts[b], sizes);
        if (bytes_a + bytes_b > options.max_bytes) continue;
        const Tally t = tally(rows, parts[a], parts[b]);
        if (t.both < options.min_together) continue;
        const double saved = static_cast<double>(t.both) * options.exchange_bytes;
        const auto wasted = static_cast<double>((t.a - t.both) * bytes_b + (t.b - t.both) * bytes_a);
        REQUIRE(saved <= wasted);
      }
    }
  }
  REQUIRE(grouped > 100);
}

TEST_CASE("mined by benefit, a group lies in the order in which sessions go through it") {
  Transactions transactions;
  for (int i = 0; i < 3; ++i) REQUIRE(transactions.add(std::vector<Item>{2, 0, 1}));
  REQUIRE(transactions.add(std::vector<Item>{0, 1, 2}));
  GroupMiningOptions options;
  options.algorithm = "benefit";
  options.exchange_bytes = 1000;
  const MinedGroups mined = mine_groups(transactions, {10, 10, 10}, options);
  REQUIRE(mined.itemsets.empty());
  REQUIRE(mined.groups.size() == 1);
  REQUIRE(mined.groups[0].items == std::vector<Item>{2, 0, 1});
}

}  // namespace cffs::grouping::test
