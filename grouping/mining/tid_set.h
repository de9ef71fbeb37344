// Sets of transactions for vertical mining: a bitset where they are dense, a sorted list where they are sparse.
//
// Rows that occur once come first, rows with a weight after them, each part by rising recency. So the support is a
// population count and a short sum, and the latest transaction is at the end of one of the two parts.
#pragma once

#include <algorithm>
#include <bit>

#include "grouping/mining/projection.h"

namespace cffs::grouping {

// Row numbers as TidSets use them.
class TidOrder {
 public:
  explicit TidOrder(const Projection& projection);

  std::uint32_t size() const { return static_cast<std::uint32_t>(order_.size()); }
  std::uint32_t singles() const { return singles_; }  // rows of weight 1 come before this number
  std::uint32_t row(std::uint32_t tid) const { return order_[tid]; }
  std::uint64_t weight(std::uint32_t tid) const { return weights_[tid]; }
  std::uint64_t last(std::uint32_t tid) const { return lasts_[tid]; }

 private:
  std::vector<std::uint32_t> order_;
  std::vector<std::uint64_t> weights_, lasts_;
  std::uint32_t singles_ = 0;
};

class TidSet {
 public:
  TidSet() = default;
  // `tids` ascending.
  TidSet(std::vector<std::uint32_t> tids, const TidOrder& order);
  // Into `out`, whose memory is used again.
  static void intersect(const TidSet& a, const TidSet& b, const TidOrder& order, TidSet& out);

  std::uint64_t support(const TidOrder& order) const;
  std::uint64_t last(const TidOrder& order) const;  // the set must not be empty

 private:
  void compact(const TidOrder& order);

  bool dense_ = false;
  std::vector<std::uint64_t> words_;
  std::vector<std::uint32_t> tids_;
};

}  // namespace cffs::grouping
