// Which pieces of an object in a pool may have been written (core/rados/written_pieces.h).
#include "core/rados/written_pieces.h"

#include <catch2/catch.hpp>
#include <random>
#include <set>

#include "tests/test_seeds.h"

namespace cffs::test {
namespace {

using rados::WrittenPieces;
constexpr std::uint64_t kNoEnd = ~std::uint64_t{0};

WrittenPieces parsed(const std::string& text) {
  const auto pieces = WrittenPieces::parse(text, kNoEnd);
  REQUIRE(pieces);
  return *pieces;
}

// As the header promises: in order, apart from each other, from the first piece on.
void check_spans(const WrittenPieces& pieces) {
  const auto& spans = pieces.spans();
  REQUIRE(!spans.empty());
  REQUIRE(spans.front().begin == 0);
  REQUIRE(spans.size() <= WrittenPieces::kMostSpans);
  for (std::size_t i = 0; i < spans.size(); ++i) {
    REQUIRE(spans[i].begin < spans[i].end);
    if (i > 0) REQUIRE(spans[i - 1].end < spans[i].begin);
  }
  REQUIRE(parsed(pieces.text()) == pieces);
}

}  // namespace

TEST_CASE("pieces of an object that grows are told seldom, and as one number") {
  WrittenPieces pieces;
  CHECK(pieces.text() == "1");
  int told = 0;
  for (std::uint64_t piece = 0; piece < 100'000; ++piece) {
    if (pieces.contains(piece)) continue;
    pieces.add(piece);
    ++told;
  }
  CHECK(told <= 17);
  CHECK(pieces.text() == "131072");
  pieces.cut(3);
  CHECK(pieces.text() == "3");
  pieces.add_first(10);
  CHECK(pieces.text() == "10");
}

TEST_CASE("pieces far from all others are told apart, and joined where somebody writes between") {
  WrittenPieces pieces;
  pieces.add(std::uint64_t{1} << 28);
  CHECK(pieces.text() == "1 268435456-268435457");
  CHECK(pieces.contains(0));
  CHECK(pieces.contains(std::uint64_t{1} << 28));
  CHECK_FALSE(pieces.contains(1));
  CHECK_FALSE(pieces.contains((std::uint64_t{1} << 28) - 1));
  CHECK_FALSE(pieces.contains((std::uint64_t{1} << 28) + 1));
  pieces.add(1000);
  pieces.add(1001);
  pieces.add(1002);
  CHECK(pieces.text() == "1 1000-1004 268435456-268435457");
  pieces.add(990);  // in front of them
  CHECK(pieces.text() == "1 990-1004 268435456-268435457");
  pieces.add_first(2000);
  CHECK(pieces.text() == "2000 268435456-268435457");
  pieces.cut(std::uint64_t{1} << 28);
  CHECK(pieces.text() == "2000");
}

TEST_CASE("a text that names no pieces is none") {
  for (const char* wrong : {"", "x", "-1", "1 ", "1  5-6", "1 5", "1 5-5", "1 6-5", "5 3-8", "5 5-8",
                            "1 3-4 4-5", "1 3-4,7-8", "1 3-4 x", "99999999999999999999"}) {
    INFO(wrong);
    CHECK_FALSE(WrittenPieces::parse(wrong, kNoEnd));
  }
  CHECK(parsed("0").text() == "1");
  CHECK(WrittenPieces::parse("5 100-200 300-400", 150)->text() == "5 100-150");
}

TEST_CASE("every piece that was added is there, and few others") {
  for (const std::uint64_t seed : seeds(200)) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    WrittenPieces pieces;
    std::set<std::uint64_t> added;
    const std::uint64_t range = std::uint64_t{1} << (4 + seed % 30);
    for (std::uint64_t i = 0; i < (seed % 20 == 0 ? 3000 : 200); ++i) {
      const std::uint64_t piece = random() % range;
      if (random() % 16 == 0) {
        pieces.cut(piece);
        added.erase(added.lower_bound(std::max<std::uint64_t>(piece, 1)), added.end());
      } else {
        pieces.add(piece);
        added.insert(piece);
      }
    }
    check_spans(pieces);
    for (const std::uint64_t piece : added) REQUIRE(pieces.contains(piece));
    if (pieces.spans().size() == WrittenPieces::kMostSpans) continue;
    std::uint64_t all = 0;
    for (const auto& span : pieces.spans()) all += span.end - span.begin;
    CHECK(all <= 200 * (added.size() + 1));
  }
}

}  // namespace cffs::test
