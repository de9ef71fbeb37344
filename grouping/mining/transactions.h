// Transactions in the order in which they were added, each with its items in the order in which they were accessed.
// Miners read them several times. Up to a limit they are kept in memory, the rest in an unnamed file in the directory
// that TMPDIR names, else in /tmp, so that a log of any length can be mined in bounded memory.
//
// Thread safety: none.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>

#include "grouping/mining/itemset.h"

namespace cffs::grouping {

class Transactions {
 public:
  static constexpr std::size_t kMemoryItems = 16u << 20;  // 64 MiB

  explicit Transactions(std::size_t memory_items = kMemoryItems) : memory_items_(memory_items) {}

  // `items` without repetitions, at least one. False: the temporary file could not be written (the disk is full).
  bool add(std::span<const Item> items);
  std::uint64_t size() const { return count_; }
  // Calls visit(number, items) for each. False: the temporary file could not be read back, whole.
  bool for_each(const std::function<void(std::uint64_t, std::span<const Item>)>& visit) const;
  // The errno of a for_each() or an add() that was false, or 0. From then on all are, and nothing is visited: who counts in several
  // steps may look at the end.
  int problem() const { return problem_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  bool spill();
  bool read_back(const std::function<void(std::uint64_t, std::span<const Item>)>& visit,
                 std::uint64_t& number) const;

  const std::size_t memory_items_;
  std::vector<Item> buffer_;  // length, then items, for each transaction
  std::unique_ptr<std::FILE, Close> file_;
  std::uint64_t count_ = 0;
  mutable int problem_ = 0;
};

// How many transactions hold each item; index: item.
std::vector<std::uint64_t> item_supports(const Transactions& transactions);

}  // namespace cffs::grouping
