// When a store is marked as open: before its first change, durably, and not before.
#include <catch2/catch.hpp>
#include <map>
#include <vector>

#include "core/fs/file_system.h"
#include "core/object/faulty_store.h"
#include "core/object/memory_store.h"
#include "core/table/system_rows.h"
#include "core/table/table.h"
#include "tests/test_options.h"
#include "tests/unit/object_bytes.h"

namespace cffs::test {
namespace {

const Caller kRoot = Caller::privileged();
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

// Closed, with a small file and one that is a blob without checksums.
std::unique_ptr<MemoryStore> closed_store() {
  FaultyStore medium;
  StoreFormat format;
  format.inline_max = 512;
  format.composite_file_max = 4096;
  REQUIRE(FileSystem::format(medium, repeatable(format), SystemClock()));
  const auto fs = *FileSystem::open(medium, quiet());
  const auto write = [&](const char* name, std::size_t bytes) {
    const auto made = fs->mknod(kRootInode, name, S_IFREG | 0644, 0, kRoot);
    REQUIRE(made);
    REQUIRE(fs->write(made->ino, 0, as_bytes(std::string(bytes, 'a')), kRoot));
  };
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
    CHECK(again.fs->file_count() == 3);
    CHECK(again.fs->close());
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
