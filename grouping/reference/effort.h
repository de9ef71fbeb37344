// How much work a stranger's text may make. The text decides what it expands to, so what counts is bytes made and looked at
// again, not depth or lines: a Makefile of 1,040 bytes can ask for 2^64.
#pragma once

#include <algorithm>
#include <cstdint>

namespace cffs::grouping {

class Effort {
 public:
  static constexpr std::uint64_t kPerByte = 64;        // what real documents take is below 10
  static constexpr std::uint64_t kAtLeast = 1u << 20;  // of any text, bytes

  static constexpr std::uint64_t most(std::uint64_t text_bytes) { return kPerByte * text_bytes + kAtLeast; }
  explicit Effort(std::uint64_t text_bytes) : most_(most(text_bytes)), left_(most_) {}

  // False: it is used up, and what the work was for is to be left out.
  bool spend(std::uint64_t bytes) {
    left_ = left_ > bytes ? left_ - bytes : 0;
    return left_ > 0;
  }
  bool is_left() const { return left_ > 0; }
  std::uint64_t spent() const { return most_ - left_; }

 private:
  std::uint64_t most_;
  std::uint64_t left_;
};

}  // namespace cffs::grouping
