// A composite whose header or records are damaged, and whose members are whole: one repair, and the store is as whole as before.
#include <catch2/catch.hpp>

#include "core/composite/composite_store.h"
#include "core/composite/record.h"
#include "tests/unit/closed_store.h"
#include "tests/unit/cut_repair.h"
#include "tests/unit/object_bytes.h"
#include "tests/unit/rot.h"
#include "tests/unit/sharing_store.h"

namespace cffs::test {

TEST_CASE("members of a composite whose header or records are damaged move out of it", "[repair]") {
  ClosedStore closed;
  {
    const auto fs = std::move(*FileSystem::open(closed.store, quiet()));
    // Of several names, renamed, and one whose record nobody names any more.
    closed.make(*fs, "gone", 650);
    closed.make(*fs, "named", 800);
    closed.make(*fs, "old", 900);
    REQUIRE(Reorganiser(*fs).consolidate_now());
    const auto named = fs->lookup(kRootInode, "named");
    REQUIRE(fs->link(named->ino, kRootInode, "also"));
    REQUIRE(fs->rename(kRootInode, "old", kRootInode, "new", RenameMode::replace, kRoot));
    REQUIRE(fs->unlink(kRootInode, "gone"));
    closed.contents["also"] = closed.contents["named"];
    closed.contents["new"] = closed.contents["old"];
    closed.contents.erase("old");
    closed.contents.erase("gone");
    fs->forget(named->ino, 2);
    REQUIRE(fs->close());
  }
  const Extent member = closed.inode("member").extent;
  const std::string composite = CompositeStore::object_name(member.composite);
  std::size_t lost = 0;
  SECTION("its header") { flip_bit(closed.store, composite, 9); }
  SECTION("its number") { flip_bit(closed.store, composite, 17); }
  SECTION("a record's header") { flip_bit(closed.store, composite, kCompositeHeaderBytes + 20); }
  SECTION("a record's name") {
    flip_bit(closed.store, composite, kCompositeHeaderBytes + kRecordHeaderBytes + 2);
  }
  SECTION("a later record") {
    const Extent other = closed.inode("other").extent;
    flip_bit(closed.store, composite, other.offset - 3);
  }
  SECTION("its end") {
    const Extent other = closed.inode("other").extent;
    REQUIRE((*closed.store.open(composite))->truncate(other.offset + other.length - 1));
    lost = 1;
    closed.contents.erase("other");
  }
  SECTION("its header, and a member") {
    flip_bit(closed.store, composite, 9);
    flip_bit(closed.store, composite, member.offset);
    lost = 1;
    closed.contents.erase("member");
  }
  REQUIRE(!closed.findings().empty());
  REQUIRE(!closed.repaired().empty());
  const Sentences left = closed.findings();
  for (const std::string& sentence : left) UNSCOPED_INFO(sentence);
  if (lost == 0) {
    REQUIRE(left == Sentences{});
    REQUIRE(!closed.store.exists(composite).value_or(true));
  } else {
    REQUIRE(!left.empty());
  }
  const auto fs = std::move(*FileSystem::open(closed.store, quiet()));
  closed.require_all(*fs);
}

TEST_CASE("a repair that is cut while members move out of a damaged composite loses nothing", "[repair]") {
  ClosedStore closed;
  flip_bit(closed.store, CompositeStore::object_name(closed.inode("member").extent.composite), 9);
  const bool loses_power = GENERATE(false, true);
  std::uint64_t n = 1;
  for (bool finished = false; !finished; ++n) {
    INFO(n << (loses_power ? ", and the power" : ""));
    const CutRepair cut = repair_cut_at(n, closed.store, loses_power);
    finished = cut.finished;
    require_repair(*cut.left);
    const auto fs = std::move(*FileSystem::open(*cut.left, quiet()));
    REQUIRE(*find_inconsistencies(*fs) == Sentences{});
    closed.require_all(*fs);
  }
  REQUIRE(n > 10);
}

// More files than one batch of rows takes.
TEST_CASE("a repair that has no room while members move keeps those that did", "[repair]") {
  ClosedStore closed;
  {
    const auto fs = std::move(*FileSystem::open(closed.store, quiet()));
    for (int i = 0; i < 300; ++i) closed.make(*fs, "many" + std::to_string(i), 600);
    REQUIRE(Reorganiser(*fs).consolidate_now());
    REQUIRE(fs->close());
  }
  flip_bit(closed.store, CompositeStore::object_name(closed.inode("many107").extent.composite), 9);
  std::uint64_t n = 1;
  for (bool over = false; !over; ++n) {
    INFO(n);
    FaultyStore medium(copy_of(closed.store));
    medium.fail_operation(n, ENOSPC, FaultyStore::Persistence::once);
    (void)repair_store(medium, quiet());
    over = medium.operations() < n;
    medium.fail_operation(0, 0, FaultyStore::Persistence::once);
    require_repair(medium);
    const auto fs = std::move(*FileSystem::open(medium, quiet()));
    REQUIRE(*find_inconsistencies(*fs) == Sentences{});
    closed.require_all(*fs);
  }
  REQUIRE(n > 10);
}

TEST_CASE("files that share what a damaged composite has share it behind the repair", "[repair][sharing]") {
  SharingStore store;
  store.fill(3, 4);
  const Extent first = store.inode_of("k0.0").extent;
  REQUIRE(store.share("k0.0", "k0.3"));
  REQUIRE(store.fs->close());
  store.fs.reset();
  flip_bit(store.objects, CompositeStore::object_name(first.composite), 9);
  REQUIRE(repair_store(store.objects, quiet())->size() == 1);
  REQUIRE(*repair_store(store.objects, quiet()) == std::vector<std::string>{});
  store.open();
  REQUIRE(*find_inconsistencies(*store.fs) == std::vector<std::string>{});
  REQUIRE(store.share("k0.0", "k0.3"));
  for (const auto& [name, kind] : store.here) {
    INFO(name);
    REQUIRE((SharingStore::read(*store.fs, name) == content(kind)));
  }
}

TEST_CASE("a damaged composite whose members moved is kept where rows were lost: others may be in it",
          "[repair]") {
  ClosedStore closed;
  const std::string composite = CompositeStore::object_name(closed.inode("member").extent.composite);
  flip_bit(closed.store, composite, 9);
  const bool rows_were_lost = GENERATE(false, true);
  if (rows_were_lost) REQUIRE(closed.store.create(Recovery::kUnfinishedRepair, ObjectStore::Create::keep));
  const std::string bytes = bytes_of(closed.store, composite);
  REQUIRE(!closed.repaired().empty());
  const auto fs = std::move(*FileSystem::open(closed.store, quiet()));
  closed.require_all(*fs);
  REQUIRE(fs->close());
  REQUIRE_FALSE(*closed.store.exists(composite));
  const std::string kept = std::string(Recovery::kLostAndFound) + "/" + composite;
  REQUIRE(*closed.store.exists(kept) == rows_were_lost);
  if (rows_were_lost) REQUIRE((bytes_of(closed.store, kept) == bytes));
}

}  // namespace cffs::test
