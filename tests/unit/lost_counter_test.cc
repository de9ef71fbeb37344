// The inode counter, where its row is gone or older than what has numbers: no new file may get what another one has.
#include <catch2/catch.hpp>

#include "core/blob/blob_store.h"
#include "core/table/catalogue.h"
#include "core/table/inode_counter.h"
#include "core/table/pending_removal.h"
#include "core/table/system_rows.h"
#include "tests/unit/closed_store.h"

namespace cffs::test {
namespace {

const Key kCounter = system_key(SystemField::first_unreserved);

void count(ClosedStore& c, std::uint64_t first) {
  c.in_table([&](Batch& batch) { batch.put(kCounter, encode_system_number(first)); });
}

// What is made now has numbers that nobody has, and all that was there is as it was.
void require_new_numbers(ClosedStore& c) {
  const auto fs = std::move(*FileSystem::open(c.store, quiet()));
  const std::uint64_t before = c.largest;
  REQUIRE(fs->next_inode().value > before);
  c.make(*fs, "new blob", 60'000);
  c.make(*fs, "new member", 800);
  REQUIRE(Reorganiser(*fs).compact_now());
  REQUIRE(fs->lookup(kRootInode, "new member")->ino.value > before);
  c.require_all(*fs);
  REQUIRE(fs->close());
  REQUIRE(c.findings() == Sentences{});
}

}  // namespace

TEST_CASE("a store whose inode counter is gone is not changed before it is repaired") {
  ClosedStore c;
  c.in_table([](Batch& batch) { batch.erase(kCounter); });
  const auto refused = FileSystem::open(c.store, quiet());
  REQUIRE(!refused);
  REQUIRE(refused.error().kind == ErrorKind::corruption);
  REQUIRE(refused.error().message().find("cffs fsck --repair") != std::string::npos);
  REQUIRE(c.findings() ==
          Sentences{"the store gives numbers from 2 on, has used " + std::to_string(c.largest)});
  REQUIRE(c.repaired().size() == 1);
  require_new_numbers(c);
}

TEST_CASE("an inode counter that is behind is named and mended") {
  ClosedStore c;
  SECTION("older by much") { count(c, 3); }
  SECTION("older by one") { count(c, c.largest); }
  REQUIRE(c.findings().size() == 1);
  REQUIRE(c.findings().front().find("has used " + std::to_string(c.largest)) != std::string::npos);
  REQUIRE(c.repaired().size() == 1);
  // What was removed, and nothing tells of any more, may have had larger ones: a backup has them still.
  REQUIRE(std::move(*FileSystem::open(c.store, quiet()))->next_inode().value >
          c.largest + InodeCounter::kRun);
  require_new_numbers(c);
}

TEST_CASE("an inode counter that is no number is named and mended") {
  ClosedStore c;
  SECTION("malformed") {
    c.in_table([](Batch& batch) { batch.put(kCounter, "short"); });
  }
  SECTION("larger than any") { count(c, kInodeLimit + 1); }
  REQUIRE(!FileSystem::open(c.store, quiet()));
  REQUIRE(c.findings().size() == 1);
  REQUIRE(c.repaired().size() == 1);
  require_new_numbers(c);
}

TEST_CASE("numbers that only data, an object or the catalogue has are not given again") {
  ClosedStore c;
  count(c, 100);
  REQUIRE(c.findings() == Sentences{});
  SECTION("data") {
    c.in_table([](Batch& batch) { batch.put(Key::data(InodeId{5000}, 0), "whose?"); });
    c.largest = 5000;
  }
  SECTION("an object") {
    REQUIRE(c.store.create(BlobStore::object_name(InodeId{5000}), ObjectStore::Create::exclusive));
    c.largest = 5000;
  }
  SECTION("what waits for its removal") {
    c.in_table([](Batch& batch) { batch.put(PendingRemoval::of(CompositeId{5000}).key(), ""); });
    c.largest = 5000;
  }
  SECTION("the catalogue") {
    const auto object = c.store.create(kCatalogueObject, ObjectStore::Create::exclusive);
    CatalogueWriter writer(**object, {7, 5001, 0});
    REQUIRE(writer.finish());
    c.largest = 5000;
  }
  const auto found = c.findings();
  REQUIRE(std::find(found.begin(), found.end(), "the store gives numbers from 100 on, has used 5000") !=
          found.end());
  REQUIRE(!c.repaired().empty());
  require_new_numbers(c);
}

TEST_CASE("numbers end before what no row may have, and the store is opened all the same") {
  MemoryStore store;
  TableOptions options;
  options.create = true;
  const auto table = std::move(*Table::open(store, options));
  InodeCounter counter(*table);
  REQUIRE(counter.load());
  REQUIRE(counter.raise(kInodeLimit - 1));
  REQUIRE(*counter.next() == kInodeLimit - 1);
  for (int i = 0; i < 3; ++i) REQUIRE(counter.next().error().errno_value == ENOSPC);
  REQUIRE(counter.close());
  InodeCounter again(*table);
  REQUIRE(again.load());
  REQUIRE(again.next().error().errno_value == ENOSPC);
}

TEST_CASE("a store in which nothing was made has no inode counter yet") {
  MemoryStore store;
  REQUIRE(FileSystem::format(store, repeatable(), SystemClock()));
  REQUIRE(*repair_store(store, quiet()) == Sentences{});
  const auto fs = FileSystem::open(store, quiet());
  REQUIRE(fs);
  REQUIRE((*fs)->next_inode().value == kFirstInode);
  REQUIRE(*find_inconsistencies(**fs) == Sentences{});
}

}  // namespace cffs::test
