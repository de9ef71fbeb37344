// What a closed store says of its value log, where rows name more: their bytes may not go.
#include <catch2/catch.hpp>

#include "core/table/system_rows.h"
#include "core/table/value_log.h"
#include "tests/unit/closed_store.h"

namespace cffs::test {

TEST_CASE("a count of the value log that is too low is named and mended before anything goes by it") {
  ClosedStore c;
  {
    const auto fs = std::move(*FileSystem::open(c.store, quiet()));
    for (int i = 0; i < 20; ++i) c.make(*fs, "waits" + std::to_string(i), 400);
    REQUIRE(fs->close());
  }
  const Key key = system_key(SystemField::values);
  auto known = *decode_values(**c.table()->get(key));
  REQUIRE(!known.empty());
  const auto first = known.begin();
  REQUIRE(first->second.live > 0);
  const std::string live = std::to_string(first->second.live);
  std::string said = "0";
  SECTION("nothing is named, it says") { first->second.live = 0; }
  SECTION("less is named, it says") { said = std::to_string(--first->second.live); }
  SECTION("the object is not known to it") { known.erase(first); }
  c.in_table([&](Batch& batch) { batch.put(key, encode_values(known)); });
  const std::string sentence =
      ValueLog::object_name(1) + " counts " + said + " bytes that rows name; they name " + live;
  REQUIRE(c.findings() == Sentences{sentence});
  REQUIRE(c.repaired() == Sentences{sentence});
  REQUIRE(c.findings() == Sentences{});
  for (int round = 0; round < 2; ++round) {
    const auto fs = std::move(*FileSystem::open(c.store, quiet()));
    REQUIRE(fs->sync());
    c.require_all(*fs);
    REQUIRE(fs->close());
  }
  REQUIRE(c.findings() == Sentences{});
}

}  // namespace cffs::test
