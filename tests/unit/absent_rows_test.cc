// Rows that were not there a moment ago: believed only while nobody can have written one.
#include "core/table/absent_rows.h"

#include <array>
#include <catch2/catch.hpp>

namespace cffs::test {
namespace {

const Key kNew = Key::entry(InodeId{7}, 1234), kOther = Key::entry(InodeId{7}, 1235);

void look_for(RowLocks& locks, AbsentRows& absent, Key key) {
  const RowLocks::SharedGuard guard(locks, key);
  absent.note(guard, key);
}
bool known(RowLocks& locks, const AbsentRows& absent, Key key) {
  const RowLocks::SharedGuard guard(locks, key);
  return absent.still(guard, key);
}
void change(RowLocks& locks, Key key) {
  const std::array<Key, 1> keys{key};
  const RowLocks::Guard guard(locks, keys);
}

}  // namespace

TEST_CASE("a row that was not there is not looked for again until somebody may have written it") {
  RowLocks locks;
  AbsentRows absent;
  REQUIRE(!known(locks, absent, kNew));
  look_for(locks, absent, kNew);
  REQUIRE(known(locks, absent, kNew));
  REQUIRE(!known(locks, absent, kOther));
  {
    const std::array<Key, 2> keys{kNew, kOther};
    const RowLocks::Guard guard(locks, keys);
    REQUIRE(absent.still(guard, kNew));  // who writes it asks first
    REQUIRE(!absent.still(guard, kOther));
  }
  REQUIRE(!known(locks, absent, kNew));
  look_for(locks, absent, kNew);
  change(locks, kNew);
  REQUIRE(!known(locks, absent, kNew));
}

TEST_CASE("the first key of all was not looked for") {
  RowLocks locks;
  const AbsentRows absent;
  REQUIRE(!known(locks, absent, Key{}));
}

}  // namespace cffs::test
