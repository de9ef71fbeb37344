// One failed read costs nothing: neither a repair nor a salvage takes what it could not read once for lost.
#include "core/repair/second_reads.h"

#include <catch2/catch.hpp>
#include <set>

#include "core/fs/store_format.h"
#include "core/object/faulty_store.h"
#include "core/repair/salvage.h"
#include "tests/unit/catalogued_store.h"
#include "tests/unit/cut_repair.h"

namespace cffs::test {
namespace {

// Members of several composites, a large file, an inline one, and a catalogue of them; then all rows but the root's are lost.
std::unique_ptr<MemoryStore> lost_store() {
  CataloguedStore s;
  for (int i = 0; i < 40; ++i) s.make(s.directory, "member" + std::to_string(i));
  REQUIRE(Reorganiser(*s.fs).consolidate_now());
  const auto large = s.fs->mknod(s.below, "large", S_IFREG | 0600, 0, kRoot);
  REQUIRE(large);
  REQUIRE(s.fs->write(large->ino, 0, as_bytes(std::string(30'000, 'l')), kRoot));
  REQUIRE(s.fs->sync());
  REQUIRE(write_catalogue(*s.fs, [] { return true; }));
  s.lose_rows();
  return copy_of(s.store);
}

std::set<std::string> paths_in(FileSystem& fs, InodeId directory = kRootInode, const std::string& at = "") {
  std::set<std::string> paths;
  std::vector<std::string> names;
  REQUIRE(fs.readdir(directory, 0, false, [&](const DirectoryEntry& e) {
    if (e.name != "." && e.name != "..") names.emplace_back(e.name);
    return true;
  }));
  for (const std::string& name : names) {
    const auto file = fs.lookup(directory, name);
    REQUIRE(file);
    std::string bytes(S_ISREG(file->mode) ? file->size : 0, '\0');
    if (S_ISREG(file->mode)) REQUIRE(fs.read(file->ino, 0, as_writable_bytes(bytes)));
    paths.insert(at + "/" + name + " " + std::to_string(std::hash<std::string>()(bytes)));
    if (S_ISDIR(file->mode)) paths.merge(paths_in(fs, file->ino, at + "/" + name));
    fs.forget(file->ino, 1);
  }
  return paths;
}

}  // namespace

TEST_CASE("a repair in which one read fails brings back what one does in which none fails", "[repair]") {
  const auto lost = lost_store();
  const auto mended = copy_of(*lost);
  require_repair(*mended);
  const auto all = paths_in(**FileSystem::open(*mended, quiet()));
  REQUIRE(all.size() > 40);
  bool over = false;
  for (std::uint64_t n = 1; !over; ++n) {
    INFO("operation " << n);
    FaultyStore medium(copy_of(*lost));
    medium.count_reads(true);
    medium.fail_operation(n, EIO, FaultyStore::Persistence::once);
    (void)repair_store(medium, quiet());
    over = medium.operations() < n;
    medium.fail_operation(0, 0, FaultyStore::Persistence::once);
    require_repair(medium);
    REQUIRE(paths_in(**FileSystem::open(medium, quiet())) == all);
  }
}

TEST_CASE("what the file system below found damaged is read a second time, and what is short is not",
          "[repair]") {
  const auto [reason, gives] = GENERATE(table<int, bool>(
      {{EIO, true}, {EUCLEAN, true}, {EBADMSG, true}, {ENODATA, true}, {EMFILE, false}, {ENOENT, false}}));
  INFO("errno " << reason);
  FaultyStore medium;
  REQUIRE((*medium.create("object", ObjectStore::Create::exclusive))->write_at(0, as_bytes("bytes")));
  SecondReads store(medium);
  medium.count_reads(true);
  medium.fail_operation(1, reason, FaultyStore::Persistence::once);
  const auto opened = store.open("object");
  REQUIRE(opened.has_value() == gives);
  if (!gives) return;
  std::string bytes(5, '\0');
  medium.fail_operation(1, reason, FaultyStore::Persistence::once);
  REQUIRE((*opened)->read_at(0, as_writable_bytes(bytes)));
  REQUIRE(bytes == "bytes");
}

TEST_CASE("a salvage in which one read fails brings back what one does in which none fails", "[repair]") {
  const auto lost = lost_store();
  const auto salvaged = [](ObjectStore& from, std::size_t* told) {
    MemoryStore to;
    REQUIRE(FileSystem::format(to, repeatable(), SystemClock()));
    const auto fs = std::move(*FileSystem::open(to, quiet()));
    const auto report = Salvage(from, *fs, [](const std::string&) {}).run();
    REQUIRE(report);
    *told = report->lost.size();
    return paths_in(*fs);
  };
  std::size_t lost_of_all = 0;
  const auto all = salvaged(*lost, &lost_of_all);
  REQUIRE(all.size() > 40);
  bool over = false;
  for (std::uint64_t n = 1; !over; ++n) {
    INFO("operation " << n);
    FaultyStore medium(copy_of(*lost));
    medium.count_reads(true);
    medium.fail_operation(n, EIO, FaultyStore::Persistence::once);
    std::size_t told = 0;
    REQUIRE(salvaged(medium, &told) == all);
    REQUIRE(told == lost_of_all);
    over = medium.operations() < n;
  }
}

}  // namespace cffs::test
