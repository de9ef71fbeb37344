#include "fusefs/memory_shares.h"

#include <catch2/catch.hpp>

namespace cffs::test {

TEST_CASE("a mount takes less for itself where there is less than a gigabyte, and never nothing") {
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  const MemoryShares usual{32 * kMiB, 16 * kMiB, 65'536, 32 * kMiB};
  CHECK(shares_of(0) == usual);
  CHECK(shares_of(1024 * kMiB) == usual);
  CHECK(shares_of(~std::uint64_t{0}) == usual);
  CHECK(shares_of(256 * kMiB) == MemoryShares{8 * kMiB, 4 * kMiB, 16'384, 8 * kMiB});
  CHECK(shares_of(1) == MemoryShares{2 * kMiB, 2 * kMiB, 4'096, 2 * kMiB});
  for (std::uint64_t memory = 64 * kMiB; memory < 1024 * kMiB; memory += kMiB) {
    const MemoryShares shares = shares_of(memory);
    CHECK(shares.table_cache + 2 * shares.write_buffer + shares.awake_inodes * 700 + shares.frames <= memory / 5);
  }
}

}  // namespace cffs::test
