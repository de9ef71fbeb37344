// Which composites are asked for room first, and when it is known that some are missing.
#include "core/fs/freed_composites.h"

#include <catch2/catch.hpp>

namespace cffs::test {
namespace {

using Ids = std::vector<CompositeId>;

CompositeId id(std::uint64_t n) { return CompositeId{n}; }

constexpr std::size_t kAll = 100;
constexpr std::uint64_t kEverything = 1u << 30;

}  // namespace

TEST_CASE("those of which most was freed come first, as many as it takes") {
  FreedComposites freed;
  freed.note({{id(1), 100}, {id(2), 300}, {id(3), 150}});
  freed.note({{id(1), 100}});
  REQUIRE(freed.take(450, kAll, 0) == Ids{id(2), id(1)});
  REQUIRE(freed.take(450, kAll, 0) == Ids{id(3)});
  REQUIRE(freed.take(450, kAll, 0).empty());
  freed.note({{id(1), 1}, {id(2), 2}, {id(3), 3}});
  REQUIRE(freed.take(kEverything, 2, 0) == Ids{id(3), id(2)});
}

TEST_CASE("one that is put back waits, and those that are gone are not asked") {
  FreedComposites freed;
  freed.note({{id(1), 100}, {id(2), 300}});
  freed.put_back(id(3), 5'000);
  freed.forget({id(2)});
  REQUIRE(freed.take(kEverything, kAll, 4'999) == Ids{id(1)});
  freed.note({{id(3), 50}});  // more of it: still too early
  REQUIRE(freed.take(kEverything, kAll, 4'999).empty());
  REQUIRE(freed.take(kEverything, kAll, 5'000) == Ids{id(3)});
}

TEST_CASE("after an open, and where more come than are kept, a scan is needed") {
  FreedComposites freed(2);
  REQUIRE(freed.incomplete());
  freed.scan_begins();
  REQUIRE(!freed.incomplete());
  freed.note({{id(1), 100}, {id(2), 100}});
  freed.note({{id(1), 100}});
  REQUIRE(!freed.incomplete());
  freed.note({{id(3), 100}});
  REQUIRE(freed.incomplete());
  freed.scan_begins();
  freed.scan_failed();
  REQUIRE(freed.incomplete());
}

}  // namespace cffs::test
