// The checksums of a sealed blob, by block: rows under (0x60 tag | inode number, number of the row), a u32 for each block of
// kSumBlockBytes, the low half of its XXH3-64. The last block of a file is as long as the file has it. A row that would say
// nothing but "zeros" is not there, so that a sparse file has rows where it has data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/bytes.h"
#include "core/base/checksum.h"
#include "core/table/key.h"

namespace cffs {

inline constexpr std::uint64_t kSumBlockBytes = 4096;
inline constexpr std::uint64_t kSumsPerRow = 256;
inline constexpr std::uint64_t kSumRowSpan =
    kSumBlockBytes * kSumsPerRow;  // bytes of the blob that a row covers

inline std::uint32_t block_sum(ConstBytes block) { return static_cast<std::uint32_t>(checksum(block)); }
// Of that many zeros, at most kSumBlockBytes.
inline std::uint32_t zero_block_sum(std::uint64_t bytes) {
  static constexpr std::byte kZeros[kSumBlockBytes] = {};
  static const std::uint32_t whole = block_sum(kZeros);
  return bytes == kSumBlockBytes ? whole : block_sum(ConstBytes(kZeros).first(bytes));
}

inline std::string encode_block_sums(const std::vector<std::uint32_t>& sums) {
  std::string bytes;
  bytes.reserve(sums.size() * 4);
  ByteWriter w(bytes);
  for (const std::uint32_t sum : sums) w.u32(sum);
  return bytes;
}
// nullopt: no row of sums.
inline std::optional<std::vector<std::uint32_t>> decode_block_sums(std::string_view bytes) {
  if (bytes.empty() || bytes.size() % 4 != 0 || bytes.size() / 4 > kSumsPerRow) return {};
  std::vector<std::uint32_t> sums(bytes.size() / 4);
  ByteReader r(bytes);
  for (std::uint32_t& sum : sums) sum = r.u32();
  return sums;
}

}  // namespace cffs
