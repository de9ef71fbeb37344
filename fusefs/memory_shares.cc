#include "fusefs/memory_shares.h"

#include <algorithm>

namespace cffs {
namespace {

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;
constexpr std::uint64_t kEnough = 1024 * kMebibyte;
constexpr MemoryShares kUsual{32 * kMebibyte, 16 * kMebibyte, 65'536, 32 * kMebibyte};
constexpr MemoryShares kLeast{2 * kMebibyte, 2 * kMebibyte, 4'096, 2 * kMebibyte};

}  // namespace

MemoryShares shares_of(std::uint64_t most_memory) {
  if (most_memory == 0 || most_memory >= kEnough) return kUsual;
  const auto part = [&](std::uint64_t usual, std::uint64_t least) {
    return std::max(least, usual * (most_memory / kMebibyte) / (kEnough / kMebibyte));
  };
  return {part(kUsual.table_cache, kLeast.table_cache), part(kUsual.write_buffer, kLeast.write_buffer),
          part(kUsual.awake_inodes, kLeast.awake_inodes), part(kUsual.frames, kLeast.frames)};
}

}  // namespace cffs
