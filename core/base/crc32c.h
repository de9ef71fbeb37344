// CRC-32C as LevelDB stores it: changed so that a checksum stored as data is not taken for one (leveldb/util/crc32c.h).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace cffs {

std::uint32_t masked_crc32c(std::string_view bytes);

// The same of bytes that come one by one.
class RunningSum {
 public:
  void take(char byte);
  std::uint32_t masked_crc32c() const;

 private:
  std::uint32_t sum_ = ~0u;
};

// The same of any range of some bytes, whatever its length by some thirty steps: for who does not know where something that has such a
// checksum begins, and tries each byte.
class RangeSums {
 public:
  // Of `most_bytes` at most.
  explicit RangeSums(std::size_t most_bytes);
  void take(std::string_view bytes);  // from now on, of these
  std::uint32_t masked_crc32c(std::size_t begin, std::size_t end) const;

 private:
  std::vector<std::uint32_t> shifts_;    // what that many bytes behind it make of the lowest bit of a sum
  std::vector<std::uint32_t> prefixes_;  // the sum of the first n bytes
};

}  // namespace cffs
