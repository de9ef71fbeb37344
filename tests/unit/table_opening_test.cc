// What opening a store does to its table: nothing but a mark, where the store was closed.
#include <catch2/catch.hpp>

#include "core/fs/file_system.h"
#include "core/inspect/consistency.h"
#include "core/object/faulty_store.h"
#include "core/object/log_filler.h"
#include "core/table/table.h"
#include "core/table/table_log.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/unit/object_bytes.h"

namespace cffs::test {
namespace {

void make(FileSystem& fs, const std::string& name, std::size_t length) {
  const auto made = fs.mknod(kRootInode, name, S_IFREG | 0600, 0, kRoot);
  REQUIRE(made);
  REQUIRE(fs.write(made->ino, 0, as_bytes(std::string(length, 'x')), kRoot));
  fs.forget(made->ino, 1);
}

std::unique_ptr<FileSystem> opened(ObjectStore& store) {
  auto fs = FileSystem::open(store, quiet());
  INFO((fs ? "" : fs.error().message()));
  REQUIRE(fs);
  return std::move(*fs);
}

std::size_t names_in(FileSystem& fs) {
  std::size_t names = 0;
  REQUIRE(fs.readdir(kRootInode, 0, false, [&](const DirectoryEntry&) {
    ++names;
    return true;
  }));
  return names;
}

}  // namespace

TEST_CASE("a store that was closed is opened with the table's files that are there") {
  MemoryStore store;
  REQUIRE(FileSystem::format(store, repeatable(), SystemClock()));
  {
    const auto fs = opened(store);
    make(*fs, "first", 300);
    REQUIRE(fs->close());
  }
  const auto files = *store.list("table");
  for (int turn = 0; turn < 12; ++turn) {
    const auto fs = opened(store);
    make(*fs, "turn" + std::to_string(turn), 300);
    REQUIRE(fs->fsync(fs->lookup(kRootInode, "turn" + std::to_string(turn))->ino));
    REQUIRE(names_in(*fs) == static_cast<std::size_t>(turn) + 4);  // and "." and ".."
    REQUIRE(*find_inconsistencies(*fs) == std::vector<std::string>{});
    REQUIRE(fs->close());
    REQUIRE(*store.list("table") == files);
  }
}

// Such a store's log is replayed, and a new manifest takes the place of the one before.
TEST_CASE("an opening that fails at any operation leaves a store that opens") {
  MemoryStore store;
  REQUIRE(FileSystem::format(store, repeatable(), SystemClock()));
  const auto user = opened(store);
  for (int i = 0; i < 5; ++i) make(*user, "file" + std::to_string(i), 300);
  REQUIRE(user->sync());
  const auto killed = copy_of(store);
  for (const bool reads : {false, true}) {
    bool over = false;
    for (std::uint64_t n = 1; !over; ++n) {
      FaultyStore medium(copy_of(*killed));
      medium.count_reads(reads);
      medium.fail_operation(n, EMFILE, FaultyStore::Persistence::once);
      if (const auto fs = FileSystem::open(medium, quiet()); fs) (void)(*fs)->close();
      over = medium.operations() < n;
      medium.fail_operation(0, 0, FaultyStore::Persistence::once);
      INFO("operation " << n << (reads ? ", with reads" : ""));
      const auto cut = n % 2 == 0 ? medium.power_cut(n) : nullptr;
      const auto fs = opened(cut ? static_cast<ObjectStore&>(*cut) : medium);
      REQUIRE(names_in(*fs) == 7);  // and "." and ".."
      REQUIRE(*find_inconsistencies(*fs) == std::vector<std::string>{});
    }
  }
}

TEST_CASE("the namespace ends with a row that lives, in a store of an older program too") {
  MemoryStore store;
  REQUIRE(FileSystem::format(store, repeatable(), SystemClock()));
  const auto last_of_namespace = [](FileSystem& fs) {
    std::optional<Key> found;  // what follows the entries of a directory behind all others
    REQUIRE(fs.table().scan({kInodeLimit - 1, 1}, {~std::uint64_t{0}, ~std::uint64_t{0}},
                            [&](Key key, std::string_view) {
                              found = key;
                              return false;
                            }));
    return found;
  };
  {
    const auto fs = opened(store);
    make(*fs, "first", 300);
    REQUIRE(last_of_namespace(*fs) == Key::namespace_end());
    Batch batch;
    batch.erase(Key::namespace_end());
    REQUIRE(fs->table().write(batch));
    REQUIRE(last_of_namespace(*fs) != Key::namespace_end());
    REQUIRE(fs->close());
  }
  const auto fs = opened(store);
  make(*fs, "second", 300);  // the first change brings it
  REQUIRE(last_of_namespace(*fs) == Key::namespace_end());
  REQUIRE(*find_inconsistencies(*fs) == std::vector<std::string>{});
}

TEST_CASE("a store that is closed leaves little to replay") {
  MemoryStore store;
  REQUIRE(FileSystem::format(store, repeatable(), SystemClock()));
  {
    const auto fs = std::move(*FileSystem::open(store, all_in_rows()));
    for (int i = 0; i < 600; ++i) make(*fs, "file" + std::to_string(i), 1500);
    REQUIRE(bytes_of(store, only_object(store, ".log")).size() > 800'000);
    REQUIRE(fs->close());
  }
  REQUIRE(bytes_of(store, only_object(store, ".log")).size() < 10'000);
  REQUIRE(names_in(*opened(store)) == 602);
}

// What a power cut leaves of the room: the cut at the end was not durable.
TEST_CASE("a closed store whose log has room is written on where its records end") {
  MemoryStore store;
  REQUIRE(FileSystem::format(store, repeatable(), SystemClock()));
  {
    const auto fs = opened(store);
    make(*fs, "first", 300);
    REQUIRE(fs->close());
  }
  const std::string log = only_object(store, ".log");
  const std::string records = bytes_of(store, log);
  replace(store, log, records + log_filler(records.size(), 100'000));
  for (int turn = 0; turn < 3; ++turn) {
    const auto fs = opened(store);
    make(*fs, "turn" + std::to_string(turn), 300);
    if (turn == 1) {  // a kill
      const auto image = copy_of(store);
      REQUIRE(names_in(*opened(*image)) == 5);
    }
    REQUIRE(fs->close());
    REQUIRE_FALSE(read_log(bytes_of(store, log)).damaged());
    REQUIRE(bytes_of(store, log).starts_with(records));
  }
  REQUIRE(names_in(*opened(store)) == 6);
}

}  // namespace cffs::test
