// How many composites are read ahead of a reader.
#include "core/composite/lead.h"

#include <catch2/catch.hpp>

namespace cffs {

TEST_CASE("a lead doubles with each composite that the reader came to, up to its most") {
  Lead lead;
  CHECK(lead.free() == 1);
  CHECK_FALSE(lead.is_proven());
  unsigned taken = 0;
  for (int i = 0; i < 10; ++i) {
    for (unsigned n = lead.free(); n > 0; --n) {
      lead.took();
      ++taken;
    }
    CHECK(lead.free() == 0);
    lead.came(true);
    --taken;
    CHECK(lead.is_proven());
    CHECK(taken + lead.free() <= Lead::kMost);
  }
  CHECK(taken + lead.free() == Lead::kMost);
}

TEST_CASE("who comes to others for long is not read ahead of for a while, and then by one") {
  Lead lead;
  lead.took();
  lead.came(true);
  lead.took();
  lead.took();
  int others = 0;
  for (; lead.is_proven() && others < 1000; ++others) lead.came(false);
  CHECK(others > 1);  // what lies in another order is come to later
  CHECK(others < 100);
  CHECK(lead.free() == 0);
  int rest = 0;
  for (; lead.free() == 0 && rest < 1000; ++rest) lead.came(false);
  CHECK(rest > 1);
  CHECK(rest < 100);
  CHECK(lead.free() == 1);
}

TEST_CASE("what is come to in another order keeps a lead as it is") {
  Lead lead;
  lead.took();
  lead.came(true);
  for (int i = 0; i < 100; ++i) {
    for (unsigned n = lead.free(); n > 0; --n) lead.took();
    lead.came(i % 3 == 0);
  }
  CHECK(lead.is_proven());
}

}  // namespace cffs
