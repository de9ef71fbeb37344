#include "core/base/crc32c.h"

#include <array>
#include <boost/crc.hpp>

namespace cffs {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78;  // bits in the order in which they come
constexpr std::uint32_t kOne = 1u << 31;           // as a polynomial in that order

std::uint32_t masked(std::uint32_t plain) { return ((plain >> 15) | (plain << 17)) + 0xa282ead8u; }

constexpr std::array<std::uint32_t, 256> sums_of_bytes() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t sum = i;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? kPolynomial : 0);
    table[i] = sum;
  }
  return table;
}
constexpr auto kSumsOfBytes = sums_of_bytes();
constexpr std::size_t low_byte(std::uint32_t value) { return value & 0xFF; }

std::uint32_t with_byte(std::uint32_t sum, char byte) {
  return kSumsOfBytes[low_byte(sum ^ static_cast<unsigned char>(byte))] ^ (sum >> 8);
}

// Of two polynomials, modulo the one above.
std::uint32_t product(std::uint32_t a, std::uint32_t b) {
  std::uint32_t result = 0;
  for (; a != 0; a <<= 1) {
    if ((a & kOne) != 0) result ^= b;
    b = (b >> 1) ^ ((b & 1) != 0 ? kPolynomial : 0);
  }
  return result;
}

}  // namespace

std::uint32_t masked_crc32c(std::string_view bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return masked(crc.checksum());
}

void RunningSum::take(char byte) { sum_ = with_byte(sum_, byte); }

std::uint32_t RunningSum::masked_crc32c() const { return masked(~sum_); }

RangeSums::RangeSums(std::size_t most_bytes) {
  shifts_.push_back(kOne);
  for (std::size_t n = 0; n < most_bytes; ++n)
    shifts_.push_back(kSumsOfBytes[low_byte(shifts_[n])] ^ (shifts_[n] >> 8));
}

void RangeSums::take(std::string_view bytes) {
  prefixes_.assign(1, 0);
  std::uint32_t sum = ~0u;
  for (const char c : bytes) {
    sum = with_byte(sum, c);
    prefixes_.push_back(~sum);
  }
}

// A sum is linear: that of all is that of what is behind, and that of what is before moved by as many bytes.
std::uint32_t RangeSums::masked_crc32c(std::size_t begin, std::size_t end) const {
  return masked(prefixes_[end] ^ product(prefixes_[begin], shifts_[end - begin]));
}

}  // namespace cffs
