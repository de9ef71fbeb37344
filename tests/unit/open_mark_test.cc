// When a store is marked as open: before its first change, durably, and not before.
#include <catch2/catch.hpp>
#include <map>
#include <vector>

#include "core/fs/file_system.h"
#include "core/fs/rehousing.h"
#include "core/object/faulty_store.h"
#include "core/object/memory_store.h"
#include "core/reorganise/reorganiser.h"
#include "core/table/system_rows.h"
#include "core/table/table.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/unit/object_bytes.h"

namespace cffs::test {
namespace {

using Contents = std::map<std::string, std::string>;

// What is beside the table, but for the room that is held in reserve.
Contents objects_of(ObjectStore& store) {
  Contents all;
  const auto names = *store.list("");
  for (const std::string& name : names) {
    if (!name.starts_with("table/") && name != "reserve") all[name] = test::bytes_of(store, name);
  }
  return all;
}

struct Marking {
  explicit Marking(ObjectStore& store) {
    FileSystemOptions options = quiet();
    options.log = [this](const std::string& line) {
      checked = checked || line.find("not closed") != line.npos;
    };
    fs = *FileSystem::open(store, options);
  }
  InodeId find(const char* name) const { return fs->lookup(kRootInode, name)->ino; }
  bool marked() const { return (*fs->table().get(system_key(SystemField::open_boot))).has_value(); }

  bool checked = false;  // all rows, since nobody had closed the store
  std::unique_ptr<FileSystem> fs;
};

// Closed, with a small file, one that is a blob without checksums, and members of a packed composite.
std::unique_ptr<MemoryStore> closed_store() {
  FaultyStore medium;
  StoreFormat format;
  format.inline_max = 512;
  format.composite_file_max = 16384;
  format.compression = {Codec::zstd, 3};
  REQUIRE(FileSystem::format(medium, repeatable(format), SystemClock()));
  const auto fs = *FileSystem::open(medium, quiet());
  const auto write = [&](const std::string& name, std::size_t bytes) {
    const auto made = fs->mknod(kRootInode, name, S_IFREG | 0644, 0, kRoot);
    REQUIRE(made);
    REQUIRE(fs->write(made->ino, 0, as_bytes(std::string(bytes, 'a')), kRoot));
    fs->forget(made->ino, 1);
  };
  for (int i = 0; i < 20; ++i) write("member" + std::to_string(i), 9000);
  REQUIRE(Reorganiser(*fs).compact_now());
  write("small", 100);
  write("large", 50'000);
  REQUIRE(fs->close());
  return medium.power_cut(1);
}

using Change = std::function<Status(const Marking&)>;

std::vector<Change> every_kind_of_change() {
  return {
      [](const Marking& store) { return store.fs->write(store.find("large"), 100, as_bytes("b"), kRoot); },
      [](const Marking& store) { return store.fs->write(store.find("large"), 60'000, as_bytes("b"), kRoot); },
      [](const Marking& store) { return store.fs->write(store.find("small"), 0, as_bytes("b"), kRoot); },
      [](const Marking& store) {
        return store.fs->allocate(store.find("large"), 0, 9000, AllocateMode::punch_hole, true, kRoot);
      },
      [](const Marking& store) {
        AttributeChange change;
        change.size = 70'000;
        const auto done = store.fs->setattr(store.find("large"), change, kRoot);
        return done ? Status() : fail(done.error());
      },
      [](const Marking& store) {
        AttributeChange change;
        change.size = 10;
        const auto done = store.fs->setattr(store.find("large"), change, kRoot);
        return done ? store.fs->sync() : fail(done.error());
      },
      [](const Marking& store) {
        const auto made = store.fs->mknod(kRootInode, "new", S_IFREG | 0644, 0, kRoot);
        return made ? store.fs->write(made->ino, 0, as_bytes(std::string(9000, 'n')), kRoot)
                    : fail(made.error());
      },
      [](const Marking& store) -> Status {
        const auto member = store.fs->rehousing().find({kRootInode, "member3"}, store.find("member3"));
        REQUIRE((member && *member && (*member)->inode.home == Home::composite));
        const auto packed =
            store.fs->rehousing().pack((*member)->inode.extent.composite, Compression{Codec::lz4, 0});
        CFFS_TRY_VOID(packed);
        REQUIRE(*packed);
        return {};
      },
      [](const Marking& store) -> Status {
        CFFS_TRY_VOID(store.fs->unlink(kRootInode, "large"));
        return store.fs->sync();
      },
  };
}

}  // namespace

TEST_CASE("a store that was only read since it was opened is closed, whatever ends that") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    FaultyStore medium(closed_store());
    const Marking reads(medium);
    std::string out(50'000, '\0');
    REQUIRE(*reads.fs->read(reads.find("large"), 0, as_writable_bytes(out)) == out.size());
    REQUIRE(reads.fs->sync());
    CHECK_FALSE(reads.marked());
    const auto survivor = medium.power_cut(seed);
    const Marking again(*survivor);
    CHECK_FALSE(again.checked);
    CHECK(again.fs->file_count() == 23);
    CHECK(again.fs->close());
  }
}

TEST_CASE("a store that was only read is as it was when it is closed") {
  const auto store = closed_store();
  const auto everything = [&] {
    Contents all;
    const auto names = *store->list("");
    for (const std::string& name : names) all[name] = test::bytes_of(*store, name);
    return all;
  };
  const Contents before = everything();
  for (int turn = 0; turn < 3; ++turn) {
    const Marking reads(*store);
    std::string out(9000, '\0');
    REQUIRE(*reads.fs->read(reads.find("member7"), 0, as_writable_bytes(out)) == out.size());
    REQUIRE(reads.fs->close());
    REQUIRE(everything() == before);
  }
}

TEST_CASE("nothing of a store changes before its mark is durable") {
  const auto changes = every_kind_of_change();
  for (std::size_t kind = 0; kind < changes.size(); ++kind) {
    bool all_done = false;
    for (std::uint64_t cut = 1; !all_done; ++cut) {
      for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        INFO("change " << kind << ", cut before operation " << cut << ", seed " << seed);
        FaultyStore medium(closed_store());
        const Contents found = objects_of(medium);
        const Marking changed(medium);
        medium.fail_operation(cut, EIO, FaultyStore::Persistence::from_then_on);
        all_done = changes[kind](changed).has_value();
        const auto survivor = medium.power_cut(seed);
        const bool differs = objects_of(*survivor) != found;
        const Marking again(*survivor);
        CHECK((!differs || again.checked));
        CHECK((!all_done || changed.marked()));
        CHECK(again.fs->lookup(kRootInode, "small"));
      }
      REQUIRE(cut < 100);
    }
  }
}

// The batch that closes a store says that all before it is durable: none of that may be lost where it is not.
TEST_CASE("what a power cut leaves of a store that is being closed is no damage") {
  bool all_done = false;
  for (std::uint64_t cut = 1; !all_done; ++cut) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      INFO("cut before operation " << cut << " of closing, seed " << seed);
      FaultyStore medium(closed_store());
      const Marking changed(medium);
      for (const Change& change : every_kind_of_change()) REQUIRE(change(changed));
      for (int i = 0; i < 12; ++i) REQUIRE(changed.fs->unlink(kRootInode, "member" + std::to_string(i)));
      medium.fail_operation(cut, EIO, FaultyStore::Persistence::from_then_on);
      all_done = changed.fs->close().has_value();
      const auto survivor = medium.power_cut(seed, [](std::string_view) { return true; });
      const auto again = FileSystem::open(*survivor, quiet());
      INFO((again ? "" : again.error().message()));
      REQUIRE(again);
      CHECK((*again)->lookup(kRootInode, "small"));
      CHECK((*again)->close());
    }
    REQUIRE(cut < 200);
  }
}

TEST_CASE("what cannot be marked is refused, and changes nothing") {
  const auto changes = every_kind_of_change();
  for (std::size_t kind = 0; kind < changes.size(); ++kind) {
    INFO("change " << kind);
    FaultyStore medium(closed_store());
    const Marking store(medium);
    const Contents before = objects_of(medium);
    medium.fail_operation(1, EIO, FaultyStore::Persistence::once);
    CHECK_FALSE(changes[kind](store));
    CHECK(objects_of(medium) == before);
    CHECK_FALSE(store.fs->sync());
  }
}

}  // namespace cffs::test
