// A repair that was cut short is gone on with by the next one, wherever it was cut, and nobody uses the store in between.
#include <catch2/catch.hpp>
#include <map>

#include "core/fs/recovery.h"
#include "core/inspect/consistency.h"
#include "core/object/memory_store.h"
#include "core/reorganise/reorganiser.h"
#include "core/repair/repair.h"
#include "core/table/system_rows.h"
#include "core/table/table.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/unit/cut_repair.h"
#include "tests/unit/object_bytes.h"
#include "tests/unit/rot.h"

namespace cffs::test {
namespace {

using Contents = std::map<std::string, std::string>;

// Members of a few composites, closed; all their rows, and those of the composites, are in the log, or in a file of the table.
Contents make_members(ObjectStore& store, int files = 20, bool in_files = false) {
  Contents contents;
  StoreFormat format;
  format.inline_max = 64;
  format.composite_file_max = 8192;
  format.composite_max = 8192;
  REQUIRE(FileSystem::format(store, repeatable(format), SystemClock()));
  const auto fs = std::move(*FileSystem::open(store, quiet()));
  for (int i = 0; i < files; ++i) {
    const std::string name = "member" + std::to_string(i);
    contents[name] = name + std::string(2000, static_cast<char>('a' + i % 26));
    const auto made = fs->mknod(kRootInode, name, S_IFREG | 0640, 0, kRoot);
    REQUIRE(made);
    REQUIRE(fs->write(made->ino, 0, as_bytes(contents[name]), kRoot));
    fs->forget(made->ino, 1);
  }
  REQUIRE(Reorganiser(*fs).consolidate_now());
  if (in_files) {
    REQUIRE(fs->sync());
    fs->table().compact();
  }
  REQUIRE(fs->close());
  return contents;
}

void require_all(ObjectStore& store, const Contents& contents) {
  const auto fs = std::move(*FileSystem::open(store, quiet()));
  REQUIRE(*find_inconsistencies(*fs) == std::vector<std::string>{});
  for (const auto& [name, content] : contents) {
    INFO(name);
    const auto file = fs->lookup(kRootInode, name);
    REQUIRE(file);
    std::string bytes(file->size, '\0');
    REQUIRE(fs->read(file->ino, 0, as_writable_bytes(bytes)));
    REQUIRE((bytes == content));
    fs->forget(file->ino, 1);
  }
}

}  // namespace

TEST_CASE("a repair of composites without rows that was cut at any write is gone on with by the next") {
  MemoryStore damaged;
  const Contents contents = make_members(damaged);
  REQUIRE(damaged.list("composites")->size() > 2);
  REQUIRE((*damaged.open(only_object(damaged, ".log")))->truncate(0));
  const bool loses_power = GENERATE(false, true);
  const bool is_mounted = GENERATE(false, true);
  std::uint64_t n = 1;
  for (bool finished = false; !finished; n += n < 60 ? 1 : 3) {
    INFO(n << (loses_power ? ", and the power" : "") << (is_mounted ? ", mounted" : ""));
    const CutRepair cut = repair_cut_at(n, damaged, loses_power);
    finished = cut.finished;
    if (is_mounted) {
      const auto fs = FileSystem::open(*cut.left, quiet());
      REQUIRE((fs || cut.left->exists(Recovery::kUnfinishedRepair).value() || n < 3));
      if (fs) REQUIRE((*fs)->mknod(kRootInode, "new", S_IFREG | 0600, 0, kRoot));
      if (fs) REQUIRE((*fs)->close());
    }
    require_repair(*cut.left);
    REQUIRE_FALSE(cut.left->exists(Recovery::kUnfinishedRepair).value());
    require_all(*cut.left, contents);
    REQUIRE(*repair_store(*cut.left, quiet()) == std::vector<std::string>{});
  }
  REQUIRE(n > 30);
}

// To make the table anew takes away what shows that rows are missing, and composites without rows are nobody's then.
TEST_CASE(
    "a repair of a table that lost files or blocks, and was cut at any write, is gone on with by the next") {
  const bool is_gone = GENERATE(false, true);
  MemoryStore damaged;
  const Contents contents = make_members(damaged, is_gone ? 20 : 200, true);
  const std::string file = only_object(damaged, ".ldb");
  if (is_gone) {
    REQUIRE(damaged.remove(file));
  } else {  // all blocks of rows but the first, which has the root
    for (const double part : {0.5, 0.6, 0.7, 0.8}) flip_in_table(damaged, part);
  }
  const bool loses_power = GENERATE(false, true);
  std::uint64_t n = 1;
  for (bool finished = false; !finished; n += n < 60 ? 1 : 11) {
    INFO(n << (is_gone ? ", a file" : ", blocks") << (loses_power ? ", and the power" : ""));
    const CutRepair cut = repair_cut_at(n, damaged, loses_power);
    finished = cut.finished;
    require_repair(*cut.left);
    REQUIRE_FALSE(cut.left->exists(Recovery::kUnfinishedRepair).value());
    require_all(*cut.left, contents);
  }
  REQUIRE(n > 60);
}

TEST_CASE("a check names a repair that was not finished, and a repair of a whole store leaves no mark") {
  MemoryStore store;
  const Contents contents = make_members(store);
  REQUIRE(repair_store(store, quiet()));
  REQUIRE_FALSE(store.exists(Recovery::kUnfinishedRepair).value());
  REQUIRE(store.create(Recovery::kUnfinishedRepair, ObjectStore::Create::exclusive));
  const auto refused = FileSystem::open(store, quiet());
  REQUIRE_FALSE(refused);
  REQUIRE(refused.error().message().find("fsck --repair") != std::string::npos);
  FileSystemOptions looking = quiet();
  looking.read_only = looking.keep_what_is_whole = true;
  const auto fs = std::move(*FileSystem::open(store, looking));
  const auto found = *find_inconsistencies(*fs);
  REQUIRE(found.size() == 1);
  REQUIRE(found.front().find("repair") != std::string::npos);
}

TEST_CASE("a repair that could not write once leaves nothing that the next does not mend") {
  MemoryStore damaged;
  const Contents contents = make_members(damaged);
  REQUIRE((*damaged.open(only_object(damaged, ".log")))->truncate(0));
  bool finished = false;
  for (std::uint64_t n = 1; !finished; ++n) {
    INFO(n);
    FaultyStore medium(copy_of(damaged));
    medium.fail_operation(n, EIO, FaultyStore::Persistence::once);
    const bool mended = repair_store(medium, quiet()).has_value();
    finished = medium.operations() < n;
    medium.fail_operation(0, 0, FaultyStore::Persistence::once);
    if (!mended) require_repair(medium);
    require_all(medium, contents);
  }
}

TEST_CASE("a wrong count of files is mended") {
  const std::string count = GENERATE(encode_system_number(999), std::string("x"));
  MemoryStore store;
  const Contents contents = make_members(store);
  {
    TableOptions options;
    options.values_apart = read_format(store)->values_apart;
    const auto table = std::move(*Table::open(store, options));
    Batch batch;
    batch.put(system_key(SystemField::file_count), count);
    REQUIRE(table->write(batch));
    REQUIRE(table->sync());
  }
  FileSystemOptions looking = quiet();
  looking.read_only = looking.keep_what_is_whole = true;
  REQUIRE(find_inconsistencies(**FileSystem::open(store, looking))->size() == 1);
  REQUIRE(repair_store(store, quiet())->size() == 1);
  REQUIRE(*repair_store(store, quiet()) == std::vector<std::string>{});
  require_all(store, contents);
}

}  // namespace cffs::test
