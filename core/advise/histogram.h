// How many files and bytes have a quantity below each of some limits, for sizes and ages.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace cffs {

struct Tally {
  std::uint64_t files = 0, bytes = 0;
  friend bool operator==(const Tally&, const Tally&) = default;
};

// `kLimits` rise; the last class is what is at none of them or below.
template <std::size_t n>
struct Histogram {
  std::array<std::uint64_t, n> limits{};
  std::array<Tally, n + 1> classes{};

  void add(std::uint64_t quantity, std::uint64_t bytes) {
    std::size_t i = 0;
    while (i < n && quantity > limits[i]) ++i;
    ++classes[i].files;
    classes[i].bytes += bytes;
  }
  void add(const Histogram& other) {
    for (std::size_t i = 0; i <= n; ++i) {
      classes[i].files += other.classes[i].files;
      classes[i].bytes += other.classes[i].bytes;
    }
  }
};

// Of files' sizes, in bytes: empty, then powers of four from 1 KiB to 64 MiB.
using SizeHistogram = Histogram<10>;
inline constexpr std::array<std::uint64_t, 10> kSizeLimits = {
    0, 1u << 10, 4u << 10, 16u << 10, 64u << 10, 256u << 10, 1u << 20, 4u << 20, 16u << 20, 64u << 20};
// Of ages, in seconds: a day, a week, a month, a quarter, a year.
using AgeHistogram = Histogram<5>;
inline constexpr std::array<std::uint64_t, 5> kAgeLimits = {86'400, 604'800, 2'592'000, 7'776'000,
                                                            31'536'000};

}  // namespace cffs
