// Rows that say of what a row names that nobody needs it: nothing goes by them.
#include <catch2/catch.hpp>

#include "core/blob/blob_store.h"
#include "core/composite/composite_store.h"
#include "core/object/memory_store.h"
#include "core/repair/repair.h"
#include "core/table/pending_removal.h"
#include "core/table/table.h"
#include "tests/test_options.h"
#include "tests/unit/closed_store.h"
#include "tests/unit/object_bytes.h"
#include "tests/unit/rot.h"

namespace cffs::test {
namespace {

void wait_for_removal(ClosedStore& c, PendingRemoval removal, std::string_view value = {}) {
  c.in_table([&](Batch& batch) { batch.put(removal.key(), value); });
}

void require_named_and_mended(ClosedStore& c, const std::string& what) {
  REQUIRE(c.findings() == Sentences{what + " waits for its removal, and a row names it"});
  REQUIRE(c.repaired() == Sentences{what.substr(0, what.find(" '")) +
                                    " waited for its removal, and a row names it: it stays"});
  REQUIRE(c.findings() == Sentences{});
  const auto fs = std::move(*FileSystem::open(c.store, quiet()));
  c.require_all(*fs);
}

}  // namespace

TEST_CASE("what waits for its removal and is named is reported, and a repair keeps it") {
  ClosedStore c;
  std::string what;
  SECTION("a composite") {
    const CompositeId id = c.inode("member").extent.composite;
    wait_for_removal(c, PendingRemoval::of(id));
    what = "object " + CompositeStore::object_name(id);
  }
  SECTION("a blob") {
    const InodeId ino = c.inode("blob").ino;
    wait_for_removal(c, PendingRemoval::of_blob(ino));
    what = "object " + BlobStore::object_name(ino);
  }
  SECTION("data in the table") {
    const Inode file = c.inode("inline");
    std::string value;
    encode_inode(value, file);
    wait_for_removal(c, PendingRemoval::of_nameless(file.ino), value);
    what = "inode " + std::to_string(file.ino.value) + " 'inline'";
  }
  require_named_and_mended(c, what);
}

TEST_CASE("a composite that is given up by mistake stays as long as a row names it") {
  ClosedStore c;
  const CompositeId id = c.inode("member").extent.composite;
  const auto fs = std::move(*FileSystem::open(c.store, quiet()));
  fs->rehousing().drop_composite(id);
  const CompositeId nobodys = *fs->rehousing().begin_composite();
  REQUIRE(c.store.create(CompositeStore::object_name(nobodys), ObjectStore::Create::exclusive));
  fs->rehousing().drop_composite(nobodys);
  REQUIRE(fs->close());
  REQUIRE(*c.store.exists(CompositeStore::object_name(id)));
  REQUIRE_FALSE(*c.store.exists(CompositeStore::object_name(nobodys)));
  const auto again = std::move(*FileSystem::open(c.store, quiet()));
  c.require_all(*again);
}

TEST_CASE("a mount removes no composite and no hard-linked file that a row names") {
  ClosedStore c;
  SECTION("a composite") { wait_for_removal(c, PendingRemoval::of(c.inode("member").extent.composite)); }
  SECTION("a file of several names") {
    const InodeId ino = c.inode("linked").ino;
    Inode file;
    REQUIRE(c.table()->scan_entries([&](Key, const Row& row) {
      for (const Entry& entry : row.entries) {
        if (entry.ino == ino && entry.inode) file = *entry.inode;
      }
      return true;
    }));
    std::string value;
    encode_inode(value, file);
    wait_for_removal(c, PendingRemoval::of_nameless(ino), value);
  }
  for (int round = 0; round < 2; ++round) {
    const auto fs = std::move(*FileSystem::open(c.store, quiet()));
    c.require_all(*fs);
    REQUIRE(fs->close());
  }
  REQUIRE(c.findings().size() == 1);
}

TEST_CASE("what nobody names goes with the first who opens the store after a repair") {
  ClosedStore c;
  const std::string name = BlobStore::object_name(InodeId{c.largest});
  const auto fs = std::move(*FileSystem::open(c.store, quiet()));
  REQUIRE(fs->unlink(kRootInode, "blob"));
  REQUIRE(fs->close());
  REQUIRE(c.store.create(name, ObjectStore::Create::exclusive));
  wait_for_removal(c, PendingRemoval::of_blob(InodeId{c.largest}));
  REQUIRE(c.findings() == Sentences{});
  REQUIRE(c.repaired() == Sentences{});
  REQUIRE(*c.store.exists(name));
  REQUIRE(FileSystem::open(c.store, quiet()));
  REQUIRE(!*c.store.exists(name));
}

// A row that had been taken back may show again where a block cannot be read.
TEST_CASE("a store opens where what waits for its removal cannot be read, and nothing goes until a repair") {
  ClosedStore c;
  MemoryStore& store = c.store;
  constexpr std::uint64_t kFirst = 1000, kMany = 6000;
  {
    const auto table = c.table();
    Batch batch;
    for (std::uint64_t n = 0; n < kMany; ++n)
      batch.put(PendingRemoval::of_blob(InodeId{kFirst + n}).key(), {});
    REQUIRE(table->write(batch));
    REQUIRE(table->sync());
    table->compact();
  }
  const std::string blob = BlobStore::object_name(InodeId{kFirst});
  replace(store, blob, "bytes");
  flip_in_table(store, 0.5);
  {
    const auto fs = FileSystem::open(store, quiet());
    INFO((fs ? std::string() : fs.error().message()));
    REQUIRE(fs);
    REQUIRE((*fs)->sync());
    REQUIRE((*fs)->close());
    CHECK(*store.exists(blob));
  }
  REQUIRE(repair_store(store, quiet()));
  REQUIRE((*FileSystem::open(store, quiet()))->close());
  CHECK(!*store.exists(blob));
}

// What the cut tore off had not been durable: a mount brings nothing back.
TEST_CASE("a repair of a store whose log a power cut tore brings nothing back that had been removed") {
  ClosedStore c;
  const auto fs = std::move(*FileSystem::open(c.store, quiet()));
  REQUIRE(fs->unlink(kRootInode, "member"));
  REQUIRE(fs->unlink(kRootInode, "other"));
  REQUIRE(fs->sync());
  c.make(*fs, "last", 100);
  const auto killed = copy_of(c.store);
  const std::string log = only_object(*killed, ".log");
  const std::uint64_t size = bytes_of(*killed, log).size();
  REQUIRE((*killed->open(log))->write_at(size - 20, as_bytes(std::string(20, '\0'))));
  REQUIRE(repair_store(*killed, quiet()));
  const auto mended = std::move(*FileSystem::open(*killed, quiet()));
  CHECK(mended->lookup(kRootInode, "inline"));
  for (const char* gone : {"member", "other", "lost+found"}) {
    INFO(gone);
    CHECK(!mended->lookup(kRootInode, gone));
  }
}

}  // namespace cffs::test
