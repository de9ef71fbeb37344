#include "grouping/mining/tid_set.h"

#include <iterator>
#include <numeric>

namespace cffs::grouping {
namespace {

// A bitset takes size/8 bytes, a list four for each member; a probe costs more than a word of AND.
bool worth_a_bitset(std::size_t members, std::uint32_t size) { return members * 32 >= size; }

}  // namespace

TidOrder::TidOrder(const Projection& p) : order_(p.rows.size()) {
  std::iota(order_.begin(), order_.end(), 0u);
  std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
    const bool heavy_a = p.weights[a] > 1, heavy_b = p.weights[b] > 1;
    return heavy_a != heavy_b ? heavy_b : p.row_lasts[a] < p.row_lasts[b];
  });
  for (const std::uint32_t row : order_) {
    weights_.push_back(p.weights[row]);
    lasts_.push_back(p.row_lasts[row]);
    if (p.weights[row] == 1) ++singles_;
  }
}

TidSet::TidSet(std::vector<std::uint32_t> tids, const TidOrder& order) {
  dense_ = worth_a_bitset(tids.size(), order.size());
  if (!dense_) {
    tids_ = std::move(tids);
    return;
  }
  words_.resize((order.size() + 63) / 64);
  for (const std::uint32_t tid : tids) words_[tid / 64] |= std::uint64_t{1} << (tid % 64);
}

void TidSet::intersect(const TidSet& a, const TidSet& b, const TidOrder& order, TidSet& out) {
  out.tids_.clear();
  out.words_.clear();
  out.dense_ = a.dense_ && b.dense_;
  if (out.dense_) {
    out.words_.resize(a.words_.size());
    for (std::size_t i = 0; i < a.words_.size(); ++i) out.words_[i] = a.words_[i] & b.words_[i];
    out.compact(order);
    return;
  }
  if (a.dense_ != b.dense_) {
    const TidSet& list = a.dense_ ? b : a;
    const TidSet& bits = a.dense_ ? a : b;
    for (const std::uint32_t tid : list.tids_) {
      if ((bits.words_[tid / 64] >> (tid % 64) & 1) != 0) out.tids_.push_back(tid);
    }
    return;
  }
  const auto& shorter = a.tids_.size() < b.tids_.size() ? a.tids_ : b.tids_;
  const auto& longer = a.tids_.size() < b.tids_.size() ? b.tids_ : a.tids_;
  if (longer.size() / 16 > shorter.size()) {  // look each one up
    auto from = longer.begin();
    for (const std::uint32_t tid : shorter) {
      from = std::lower_bound(from, longer.end(), tid);
      if (from == longer.end()) break;
      if (*from == tid) out.tids_.push_back(tid);
    }
    return;
  }
  std::set_intersection(shorter.begin(), shorter.end(), longer.begin(), longer.end(),
                        std::back_inserter(out.tids_));
}

// A bitset that became sparse is a list from now on.
void TidSet::compact(const TidOrder& order) {
  std::size_t members = 0;
  for (const std::uint64_t word : words_) members += static_cast<std::size_t>(std::popcount(word));
  if (worth_a_bitset(members, order.size())) return;
  dense_ = false;
  for (std::size_t i = 0; i < words_.size(); ++i) {
    for (std::uint64_t word = words_[i]; word != 0; word &= word - 1) {
      tids_.push_back(static_cast<std::uint32_t>(i * 64) +
                      static_cast<std::uint32_t>(std::countr_zero(word)));
    }
  }
  words_.clear();
}

std::uint64_t TidSet::support(const TidOrder& order) const {
  if (!dense_) {
    const auto heavy = std::lower_bound(tids_.begin(), tids_.end(), order.singles());
    auto sum = static_cast<std::uint64_t>(heavy - tids_.begin());
    for (auto it = heavy; it != tids_.end(); ++it) sum += order.weight(*it);
    return sum;
  }
  std::uint64_t sum = 0;
  const std::size_t plain = order.singles() / 64;
  for (std::size_t i = 0; i < plain; ++i) sum += static_cast<std::uint64_t>(std::popcount(words_[i]));
  for (std::size_t i = plain; i < words_.size(); ++i) {
    for (std::uint64_t word = words_[i]; word != 0; word &= word - 1) {
      sum += order.weight(static_cast<std::uint32_t>(i * 64) +
                          static_cast<std::uint32_t>(std::countr_zero(word)));
    }
  }
  return sum;
}

std::uint64_t TidSet::last(const TidOrder& order) const {
  const auto newest = [&](std::uint32_t from, std::uint32_t to) -> std::uint64_t {
    // The largest member of [from, to).
    if (!dense_) {
      const auto it = std::lower_bound(tids_.begin(), tids_.end(), to);
      return it != tids_.begin() && *(it - 1) >= from ? order.last(*(it - 1)) : 0;
    }
    for (std::uint32_t tid = to; tid > from;) {
      --tid;
      const std::uint64_t below = words_[tid / 64] << (63 - tid % 64);
      if (below == 0) {
        tid -= tid % 64;
        continue;
      }
      const auto skip = static_cast<std::uint32_t>(std::countl_zero(below));
      if (skip > tid - from) return 0;
      return order.last(tid - skip);
    }
    return 0;
  };
  return std::max(newest(0, order.singles()), newest(order.singles(), order.size()));
}

}  // namespace cffs::grouping
