#include "grouping/mining/projection.h"

#include <algorithm>
#include <numeric>

namespace cffs::grouping {

Projection project(const Transactions& transactions, std::uint64_t min_support, bool in_order) {
  const std::vector<std::uint64_t> counts = item_supports(transactions);
  Projection p;
  for (Item item = 0; item < counts.size(); ++item) {
    if (counts[item] >= min_support && counts[item] > 0) p.originals.push_back(item);
  }
  if (!in_order) {
    std::stable_sort(p.originals.begin(), p.originals.end(),
                     [&](Item a, Item b) { return counts[a] < counts[b]; });
  }
  constexpr Item kRare = ~Item{0};
  std::vector<Item> numbers(counts.size(), kRare);
  for (Item i = 0; i < p.originals.size(); ++i) {
    numbers[p.originals[i]] = i;
    p.supports.push_back(counts[p.originals[i]]);
  }
  p.lasts.resize(p.originals.size());

  // Rows end to end, so that sorting them moves numbers only.
  std::vector<Item> flat;
  struct Row {
    std::uint64_t offset, number;
    std::uint32_t length;
  };
  std::vector<Row> rows;
  (void)transactions.for_each([&](std::uint64_t number, std::span<const Item> items) {
    const std::size_t offset = flat.size();
    for (const Item item : items) {
      if (numbers[item] == kRare) continue;
      flat.push_back(numbers[item]);
      p.lasts[numbers[item]] = number;
    }
    std::sort(flat.begin() + static_cast<std::ptrdiff_t>(offset), flat.end());
    const std::size_t length = flat.size() - offset;
    if (length < 2) {
      flat.resize(offset);  // of no use for sets of two or more; single items are counted above
    } else {
      rows.push_back({offset, number, static_cast<std::uint32_t>(length)});
    }
  });
  const auto items_of = [&](const Row& row) { return std::span(flat).subspan(row.offset, row.length); };
  const auto compare = [&](const Row& a, const Row& b) {
    const auto x = items_of(a), y = items_of(b);
    return std::lexicographical_compare_three_way(x.begin(), x.end(), y.begin(), y.end());
  };
  std::sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    const auto order = compare(a, b);
    return order != 0 ? order < 0 : a.number < b.number;
  });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i > 0 && compare(rows[i - 1], rows[i]) == 0) {
      ++p.weights.back();
      p.row_lasts.back() = rows[i].number;
      continue;
    }
    const auto items = items_of(rows[i]);
    p.rows.emplace_back(items.begin(), items.end());
    p.weights.push_back(1);
    p.row_lasts.push_back(rows[i].number);
  }
  return p;
}

std::vector<Item> original_items(const Projection& projection, std::span<const Item> items) {
  std::vector<Item> found;
  for (const Item item : items) found.push_back(projection.originals[item]);
  std::sort(found.begin(), found.end());
  return found;
}

void sort_itemsets(std::vector<Itemset>& itemsets) {
  std::sort(itemsets.begin(), itemsets.end(), [](const Itemset& a, const Itemset& b) {
    return a.items.size() != b.items.size() ? a.items.size() < b.items.size() : a.items < b.items;
  });
}

bool ItemsetSink::add(std::span<const Item> items, std::uint64_t support, std::uint64_t last) {
  if (options_.max_itemsets > 0 && result_.itemsets.size() >= options_.max_itemsets) {
    result_.gave_up = true;
    return false;
  }
  result_.itemsets.push_back({original_items(projection_, items), support, last});
  return true;
}

MiningResult ItemsetSink::take() {
  sort_itemsets(result_.itemsets);
  return std::move(result_);
}

}  // namespace cffs::grouping
