// Where the bytes of a floor's files lie in its pack.
#include "bench/floor/pack.h"

#include <catch2/catch.hpp>
#include <random>
#include <string>

#include "tests/unit/temporary_directory.h"

namespace cffs::bench::floor {
namespace {

std::uint64_t size_of(const Extents& extents) {
  std::uint64_t size = 0;
  for (const Extent& extent : extents) size += extent.bytes;
  return size;
}

std::string content(const Pack& pack, const Extents& extents, std::uint64_t offset, std::uint64_t size) {
  const Extents part = part_of(extents, offset, size);
  std::string out(size_of(part), '?');
  REQUIRE(pack.read(part, out));
  return out;
}

}  // namespace

TEST_CASE("A file in a pack reads as what was written last, wherever it lies", "[floor]") {
  const cffs::test::TemporaryDirectory directory;
  auto pack = Pack::make(directory.path + "/data");
  REQUIRE(pack);
  std::mt19937 random(3);
  Extents extents;
  std::string expected;
  for (int round = 0; round < 500; ++round) {
    const std::size_t at = random() % 300, n = random() % 100 + 1;
    if (random() % 5 == 0) {
      resize(extents, at);
      expected.resize(at);
    } else {
      const std::string bytes(n, static_cast<char>('a' + round % 26));
      if (at > expected.size()) resize(extents, at);
      expected.resize(std::max(expected.size(), at));
      const auto piece = pack->append(bytes);
      REQUIRE(piece);
      replace(extents, at, *piece);
      expected.replace(at, std::min(n, expected.size() - at), bytes);
    }
    REQUIRE(size_of(extents) == expected.size());
    REQUIRE(content(*pack, extents, 0, 1000) == expected);
    const std::size_t from = random() % 400, size = random() % 200;
    REQUIRE(content(*pack, extents, from, size) == (from < expected.size() ? expected.substr(from, size) : ""));
  }
}

TEST_CASE("What is written to the end in pieces is one extent, and one read", "[floor]") {
  const cffs::test::TemporaryDirectory directory;
  auto pack = Pack::make(directory.path + "/data");
  REQUIRE(pack);
  Extents extents;
  for (int piece = 0; piece < 3; ++piece) replace(extents, size_of(extents), *pack->append(std::string(4096, 'x')));
  CHECK(extents.size() == 1);
  std::string out(3 * 4096, '?');
  CHECK(pack->try_read(extents, true, out));
  CHECK(out == std::string(3 * 4096, 'x'));
}

TEST_CASE("A pack takes no name that is there", "[floor]") {
  const cffs::test::TemporaryDirectory directory;
  const std::string path = directory.path + "/data";
  CHECK_FALSE(Pack::make(directory.path));
  CHECK(Pack::make(path));
  CHECK(Pack::make(path));  // the one before has gone from the directory
}

}  // namespace cffs::bench::floor
