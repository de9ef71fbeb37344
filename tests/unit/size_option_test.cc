// Sizes as people type them.
#include <catch2/catch.hpp>

#include "fusefs/mount_options.h"

namespace cffs::test {

TEST_CASE("sizes are bytes, or take K, M, G or T") {
  REQUIRE(*parse_size("4096", "--size") == 4096);
  REQUIRE(*parse_size("64K", "--size") == std::uint64_t{64} << 10);
  REQUIRE(*parse_size("3m", "--size") == std::uint64_t{3} << 20);
  REQUIRE(*parse_size("10G", "--size") == std::uint64_t{10} << 30);
  REQUIRE(*parse_size("2T", "--size") == std::uint64_t{2} << 40);
  for (const char* wrong : {"", "T", "-1", "1P", "1TB", "1.5G", " 1", "99999999T", "99999999999999999999"}) {
    const auto size = parse_size(wrong, "--size");
    REQUIRE_FALSE(size);
    REQUIRE(size.error().message().find("--size wants a size") != std::string::npos);
  }
}

}  // namespace cffs::test
