// The store's owner may have less of the medium than statfs tells: a quota of a user or of a project. What the table needs to go on is kept all the same:
// who is refused hears of the quota, what is removed gives room back, and the store can be opened again.
#include <catch2/catch.hpp>
#include <functional>
#include <string>

#include "core/fs/space_guard.h"
#include "core/inspect/consistency.h"
#include "core/reorganise/reorganiser.h"
#include "tests/crash/calls.h"
#include "tests/crash/session.h"
#include "tests/test_options.h"

namespace cffs::test {
namespace {

CrashMedium store_to_limit() {
  CrashStore store;
  REQUIRE(FileSystem::format(store, small_format(), SystemClock()));
  return store.medium();
}

std::string numbered(int i) { return "file" + std::to_string(i); }
std::string content_of(int i) { return pattern(500 + static_cast<std::size_t>(i) * 37 % 3'500, i); }

// The quota is used up: how many files there are; the last one was refused.
int fill(LibrarySurface& s) {
  for (int files = 0;; ++files) {
    int made = s.create(numbered(files), 0600);
    if (made == 0) made = s.write(numbered(files), 0, content_of(files));
    if (files % 1000 == 999) REQUIRE(s.fs().sync());
    if (made == 0) continue;
    REQUIRE(made == EDQUOT);
    (void)s.unlink(numbered(files));
    return files;
  }
}

void expect_files(LibrarySurface& s, int files, const std::function<bool(int)>& there) {
  for (int i = 0; i < files; ++i) {
    if (!there(i)) continue;
    INFO("file " << i << " of " << files);
    std::string content;
    REQUIRE(s.read(numbered(i), 0, 10'000, content) == 0);
    REQUIRE((content == content_of(i)));
  }
  const auto problems = find_inconsistencies(s.fs());
  REQUIRE(problems);
  REQUIRE(*problems == std::vector<std::string>{});
}

}  // namespace

// Small files wait in the table, so that all that is written there is LevelDB's.
TEST_CASE("a quota that statfs does not tell of stops users before it stops the table", "[quota]") {
  const CrashMedium medium = store_to_limit();
  struct Limit {
    std::uint64_t megabytes, delay;
    bool copies;
  };
  for (const auto& [megabytes, delay, copies] :
       {Limit{128, 1, false}, Limit{96, 100, false}, Limit{64, 0, false}, Limit{96, 1, true}}) {
    INFO("a quota of " << megabytes << " MiB, LevelDB's work " << delay << " appends late"
                       << (copies ? ", where to cut a file takes room" : ""));
    Session session(medium, delay);
    session.write_buffer(0);
    session.store().set_quota(megabytes << 20, copies);
    REQUIRE(session.open());
    REQUIRE(session.fs().sync());  // the reserve is there
    const int files = fill(session.surface());
    CHECK(files > 100);
    for (int i = 0; i < 100; ++i) CHECK(session.surface().create("more" + std::to_string(i), 0600) == EDQUOT);
    session.close();
    REQUIRE(session.open());
    expect_files(session.surface(), files, [](int) { return true; });
    const auto stays = [](int i) { return i % 3 == 0; };
    for (int i = 0; i < files; ++i) {
      INFO("file " << i << " of " << files);
      if (!stays(i)) REQUIRE(session.surface().unlink(numbered(i)) == 0);
      if (i % 1000 == 999) REQUIRE(session.fs().sync());
    }
    REQUIRE(session.fs().sync());
    session.compact_table();
    REQUIRE(session.fs().sync());
    REQUIRE(session.surface().create("after", 0600) == 0);
    REQUIRE(session.surface().write("after", 0, pattern(2'000'000, 1)) == 0);
    expect_files(session.surface(), files, stays);
  }
}

// The quota refuses what statfs has: only the write itself meets it.
TEST_CASE("who finds what was removed too little under a quota has files moved for the rest", "[quota]") {
  Session session(store_to_limit(), 0);
  session.write_buffer(0);
  REQUIRE(session.open());
  REQUIRE(session.surface().create("removed", 0600) == 0);
  REQUIRE(session.surface().write("removed", 0, pattern(100'000, 1)) == 0);
  REQUIRE(session.surface().create("grows", 0600) == 0);
  REQUIRE(session.fs().sync());  // the reserve is there
  int asked = 0;
  session.fs().on_shortage([&](std::uint64_t) {
    ++asked;
    session.store().set_quota(session.store().used() + (64u << 20));
    return true;
  });
  session.store().set_quota(session.store().used() + (1u << 20));
  REQUIRE(session.surface().unlink("removed") == 0);
  CHECK(session.surface().write("grows", 0, pattern(3'000'000, 2)) == 0);
  CHECK(asked > 0);
  session.fs().on_shortage(nullptr);
}

// What is left of a small file that is cut is written anew.
TEST_CASE("cutting a file has the room of what was just removed, too", "[quota]") {
  Session session(store_to_limit(), 0);
  session.write_buffer(0);
  REQUIRE(session.open());
  for (const char* const name : {"cut", "other"}) {
    REQUIRE(session.surface().create(name, 0600) == 0);
    REQUIRE(session.surface().write(name, 0, pattern(15'000, 3)) == 0);
  }
  REQUIRE(session.surface().create("removed", 0600) == 0);
  REQUIRE(session.surface().write("removed", 0, pattern(100'000, 1)) == 0);
  REQUIRE(Reorganiser(session.fs()).consolidate_now());
  REQUIRE(session.fs().sync());  // the reserve is there
  session.store().set_quota(session.store().used() + 1'000);
  REQUIRE(session.surface().unlink("removed") == 0);
  CHECK(session.surface().truncate("cut", 9'000) == 0);
  std::string content;
  REQUIRE(session.surface().read("cut", 0, 20'000, content) == 0);
  CHECK((content == pattern(15'000, 3).substr(0, 9'000)));
}

TEST_CASE("of a quota the reserve has what the table needs, and gives up what it does not need any more",
          "[quota]") {
  constexpr std::uint64_t kMegabyte = 1u << 20;
  CrashStore store;
  SpaceGuard guard(store);
  std::uint64_t need = 10 * kMegabyte;
  guard.on_need([&] { return need; });
  const auto reserve = [&] {
    const auto object = store.open(SpaceGuard::kObjectName);
    REQUIRE(object);
    return (*object)->info()->size;
  };
  SECTION("where it was not known before") {
    store.set_quota(40 * kMegabyte);
    guard.hold();  // finds that less is to be had than was wanted
    CHECK(reserve() >= 10 * kMegabyte);
    CHECK(reserve() < 20 * kMegabyte);
    CHECK(guard.charge(kMegabyte));
  }
  SECTION("where the table needed more") {
    store.set_quota(80 * kMegabyte);
    need = 100 * kMegabyte;
    guard.hold();
    CHECK(reserve() > 70 * kMegabyte);
    const Status refused = guard.charge(kMegabyte);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().errno_value == EDQUOT);
    need = 10 * kMegabyte;
    guard.hold();
    CHECK(reserve() >= 10 * kMegabyte);
    CHECK(reserve() < 20 * kMegabyte);
    CHECK(guard.charge(kMegabyte));
  }
}

TEST_CASE("who gives back more than he takes leaves the table what it needs of the reserve", "[quota]") {
  constexpr std::uint64_t kMegabyte = 1u << 20;
  CrashStore store;
  SpaceGuard guard(store);
  guard.on_need([] { return 12 * kMegabyte; });
  store.set_capacity(64 * kMegabyte);
  guard.hold();
  const auto other = store.create("other", ObjectStore::Create::exclusive);
  REQUIRE(other);
  REQUIRE((*other)->allocate(0, 49 * kMegabyte));
  const auto reserve = store.open(SpaceGuard::kObjectName);
  REQUIRE(reserve);
  CHECK((*reserve)->info()->size > 13 * kMegabyte);
  CHECK_FALSE(guard.charge_to_give_back(30 * kMegabyte));
  CHECK((*reserve)->info()->size >= 12 * kMegabyte);
  CHECK((*reserve)->info()->size <= 13 * kMegabyte);
}

}  // namespace cffs::test
