// A table that LevelDB's repair makes anew: whole, and durable, whatever fails meanwhile.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "core/object/faulty_store.h"
#include "core/object/memory_store.h"
#include "core/repair/repair.h"
#include "core/repair/second_reads.h"
#include "core/table/table.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/unit/cut_repair.h"
#include "tests/unit/object_bytes.h"
#include "tests/unit/rot.h"

namespace cffs::test {
namespace {

constexpr int kFilesOfTable = 300;

void make_table(ObjectStore& store) {
  REQUIRE(FileSystem::format(store, repeatable(), SystemClock()));
  const auto fs = std::move(*FileSystem::open(store, quiet()));
  for (int i = 0; i < kFilesOfTable; ++i) {
    const auto made = fs->mknod(kRootInode, "file" + std::to_string(i), S_IFREG | 0600, 0, kRoot);
    REQUIRE(made);
    REQUIRE(fs->write(made->ino, 0, as_bytes(std::string(300, 'x')), kRoot));
    fs->forget(made->ino, 1);
  }
  REQUIRE(fs->sync());
  fs->table().compact();
  REQUIRE(fs->close());
}

void make_damaged_table(ObjectStore& store) {
  make_table(store);
  flip_in_table(store, 0.5);
}
std::set<std::string> readable_in(FileSystem& fs) {
  std::set<std::string> names;
  for (int i = 0; i < kFilesOfTable; ++i) {
    const std::string name = "file" + std::to_string(i);
    const auto file = fs.lookup(kRootInode, name);
    std::string bytes(300, '\0');
    if (file && fs.read(file->ino, 0, as_writable_bytes(bytes)) && bytes == std::string(300, 'x'))
      names.insert(name);
    if (file) fs.forget(file->ino, 1);
  }
  return names;
}

}  // namespace

// LevelDB's repair leaves to the kernel what it writes, and puts it in the place of what was there.
TEST_CASE("a table that a repair made anew outlasts a power cut behind it") {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    INFO(seed);
    FaultyStore store;
    make_damaged_table(store);
    REQUIRE(repair_store(store, quiet()));
    const auto looked_at = copy_of(store);
    const auto before = readable_in(**FileSystem::open(*looked_at, quiet()));
    REQUIRE(before.size() > 20);
    const auto survivor = store.power_cut(seed);
    const auto after = FileSystem::open(*survivor, quiet());
    INFO((after ? std::string() : after.error().message()));
    REQUIRE(after);
    CHECK(readable_in(**after) == before);
  }
}

TEST_CASE("whenever a repair that makes the table anew is cut, the next one has every row that it had read") {
  MemoryStore store;
  make_damaged_table(store);
  const auto mended = copy_of(store);
  require_repair(*mended);
  const auto whole = readable_in(**FileSystem::open(*mended, quiet()));
  REQUIRE(whole.size() > 20);
  for (const bool loses_power : {false, true}) {
    int behind = 0;  // operations after the damaged file was put aside
    for (std::uint64_t n = 1; behind < 20; ++n) {
      INFO("operation " << n << (loses_power ? ", power cut" : ""));
      const CutRepair cut = repair_cut_at(n, store, loses_power);
      if (cut.finished || !cut.left->list("table/lost")->empty()) ++behind;
      require_repair(*cut.left);
      REQUIRE(readable_in(**FileSystem::open(*cut.left, quiet())) == whole);
    }
  }
}

// LevelDB passes over a log whose rows it cannot write out, and over a file that it cannot read or has no descriptor for, and puts them aside.
TEST_CASE("a repair that meets one fault while it makes the table anew loses no row") {
  MemoryStore store;
  make_damaged_table(store);
  {
    TableOptions options;
    options.values_apart = read_format(store)->values_apart;
    const auto table = std::move(*Table::open(store, options));
    Batch batch;
    for (std::uint64_t i = 0; i < 40; ++i) batch.put(Key::data(InodeId{900 + i}, 0), std::string(100, 'd'));
    REQUIRE(table->write(batch));  // in a log
    REQUIRE(table->sync());
  }
  const auto files_in = [](ObjectStore& of) {
    const auto fs = std::move(*FileSystem::open(of, quiet()));
    auto names = readable_in(*fs);
    const auto kept = fs->lookup(kRootInode, "lost+found");
    REQUIRE(kept);
    for (int i = 0; i < 40; ++i) {
      const std::string name = "#" + std::to_string(900 + i);
      if (fs->lookup(kept->ino, name)) names.insert(name);
    }
    return names;
  };
  const auto mended = copy_of(store);
  require_repair(*mended);
  const auto whole = files_in(*mended);
  REQUIRE(whole.size() > 60);
  const bool values_apart = read_format(store)->values_apart;
  const auto check = [&](int reason, bool reads, std::uint64_t n) {
    INFO("errno " << reason << ", operation " << n);
    FaultyStore medium(copy_of(store));
    medium.count_reads(reads);
    medium.fail_operation(n, reason, FaultyStore::Persistence::once);
    SecondReads second(medium);
    if (reads) (void)Table::rebuild(second, values_apart);
    if (!reads) (void)repair_store(medium, quiet());
    const bool over = medium.operations() < n;
    medium.fail_operation(0, 0, FaultyStore::Persistence::once);
    require_repair(medium);
    REQUIRE(files_in(medium) == whole);
    return !over && n < 120;
  };
  for (std::uint64_t n = 1; check(ENOSPC, false, n); ++n) continue;
  for (std::uint64_t n = 1; check(EMFILE, true, n); ++n) continue;
  for (std::uint64_t n = 1; check(EIO, true, n); ++n) continue;
}

// LevelDB reads such a file for the bounds of its keys, and again for its rows: those that come the second time only nobody would find.
TEST_CASE("what could not be read while the table was made anew is not listed, or is found") {
  MemoryStore store;
  make_damaged_table(store);
  const bool values_apart = read_format(store)->values_apart;
  const auto mended = copy_of(store);
  require_repair(*mended);
  const auto whole = readable_in(**FileSystem::open(*mended, quiet()));
  bool over = false;
  for (std::uint64_t n = 1; !over; ++n) {
    INFO("operation " << n);
    FaultyStore medium(copy_of(store));
    medium.count_reads(true);
    medium.fail_operation(n, EIO, FaultyStore::Persistence::once);
    (void)Table::rebuild(medium, values_apart);
    over = medium.operations() < n;
    medium.fail_operation(0, 0, FaultyStore::Persistence::once);
    require_repair(medium);
    const auto fs = std::move(*FileSystem::open(medium, quiet()));
    const auto found = readable_in(*fs);
    REQUIRE(std::includes(whole.begin(), whole.end(), found.begin(), found.end()));
    std::vector<std::string> listed;
    REQUIRE(fs->readdir(kRootInode, 0, false, [&](const DirectoryEntry& e) {
      if (e.name.starts_with("file")) listed.emplace_back(e.name);
      return true;
    }));
    for (const std::string& name : listed) REQUIRE(fs->lookup(kRootInode, name));
  }
}

// All blocks of rows are whole. A repair that takes rows for lost brings back what catalogue and records know, also what had been removed.
TEST_CASE(
    "a table whose index is damaged loses nothing by a repair, wherever that is cut, and gets nothing back") {
  MemoryStore store;
  make_table(store);
  {
    const auto fs = std::move(*FileSystem::open(store, quiet()));
    for (int i = 0; i < kFilesOfTable; i += 2) REQUIRE(fs->unlink(kRootInode, "file" + std::to_string(i)));
    REQUIRE(fs->sync());
    fs->table().compact();
    REQUIRE(fs->close());
  }
  const auto whole = readable_in(**FileSystem::open(store, quiet()));
  REQUIRE(whole.size() == kFilesOfTable / 2);
  const std::string file = only_object(store, ".ldb");
  const std::uint64_t size = bytes_of(store, file).size();
  for (const std::uint64_t behind : {20u, 60u}) {  // the footer, the index
    INFO(behind);
    const auto damaged = copy_of(store);
    flip_bit(*damaged, file, size - behind);
    const auto mended = copy_of(*damaged);
    std::vector<std::string> lost;
    REQUIRE(repair_store(*mended, quiet(), &lost));
    CHECK(lost.empty());
    CHECK(readable_in(**FileSystem::open(*mended, quiet())) == whole);
    for (const bool loses_power : {false, true}) {
      bool finished = false;
      for (std::uint64_t n = 1; !finished && n < 120; ++n) {
        INFO("operation " << n << (loses_power ? ", power cut" : ""));
        const CutRepair cut = repair_cut_at(n, *damaged, loses_power);
        finished = cut.finished;
        require_repair(*cut.left);
        REQUIRE(readable_in(**FileSystem::open(*cut.left, quiet())) == whole);
      }
    }
  }
}

}  // namespace cffs::test
