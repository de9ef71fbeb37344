// A bitmap in words: which blocks, which onodes are taken.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace cffs::region {

inline bool bit(const std::vector<std::uint64_t>& bits, std::uint64_t at) {
  return (bits[at / 64] >> (at % 64) & 1) != 0;
}
inline void set(std::vector<std::uint64_t>& bits, std::uint64_t at) {
  bits[at / 64] |= std::uint64_t{1} << (at % 64);
}
inline void clear(std::vector<std::uint64_t>& bits, std::uint64_t at) {
  bits[at / 64] &= ~(std::uint64_t{1} << (at % 64));
}

// The first bit at or after `from` that is not set; `end` if there is none.
inline std::uint64_t next_clear(const std::vector<std::uint64_t>& bits, std::uint64_t from,
                                std::uint64_t end) {
  while (from < end) {
    const std::uint64_t word = ~bits[from / 64] >> (from % 64);
    if (word != 0) return std::min(end, from + static_cast<std::uint64_t>(std::countr_zero(word)));
    from = (from / 64 + 1) * 64;
  }
  return end;
}

// The same for one that is set.
inline std::uint64_t next_set(const std::vector<std::uint64_t>& bits, std::uint64_t from, std::uint64_t end) {
  while (from < end) {
    const std::uint64_t word = bits[from / 64] >> (from % 64);
    if (word != 0) return std::min(end, from + static_cast<std::uint64_t>(std::countr_zero(word)));
    from = (from / 64 + 1) * 64;
  }
  return end;
}

}  // namespace cffs::region
