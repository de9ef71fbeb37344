// Members whose rows are gone come back from their records, and no repair books them as free.
#include "core/repair/lost_members.h"

#include <catch2/catch.hpp>
#include <map>

#include "core/inspect/consistency.h"
#include "core/object/memory_store.h"
#include "core/reorganise/reorganiser.h"
#include "core/repair/repair.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"

namespace cffs::test {
namespace {

// Members, all in composites, closed; the table is in files.
struct Members {
  MemoryStore store;
  std::map<std::string, std::string> contents;

  explicit Members(std::size_t files) {
    StoreFormat format;
    format.inline_max = 64;
    format.composite_file_max = 8192;
    REQUIRE(FileSystem::format(store, repeatable(format), SystemClock()));
    auto fs = std::move(*FileSystem::open(store, quiet()));
    for (std::size_t i = 0; i < files; ++i) {
      const std::string name = "member" + std::to_string(i);
      contents[name] = name + std::string(500, static_cast<char>('a' + i % 26));
      const InodeId ino = fs->mknod(kRootInode, name, S_IFREG | 0640, 0, kRoot)->ino;
      REQUIRE(fs->write(ino, 0, as_bytes(contents[name]), kRoot));
    }
    REQUIRE(Reorganiser(*fs).consolidate_now());
    REQUIRE(fs->sync());
    fs->table().compact();
    REQUIRE(fs->close());
  }
  std::string largest_table_file() {
    std::string largest;
    std::uint64_t most = 0;
    const auto names = *store.list("table");
    for (const std::string& name : names) {
      if (!name.ends_with(".ldb")) continue;
      const std::uint64_t size = (*store.open(name))->info()->size;
      if (size > most) largest = name;
      most = std::max(most, size);
    }
    REQUIRE(!largest.empty());
    return largest;
  }
  void flip(const std::string& name, unsigned per_cent) {
    const auto object = *store.open(name);
    std::string byte(1, '\0');
    const std::uint64_t at = object->info()->size * per_cent / 100;
    REQUIRE(object->read_at(at, as_writable_bytes(byte)));
    byte[0] = static_cast<char>(byte[0] ^ 1);
    REQUIRE(object->write_at(at, as_bytes(byte)));
  }
  std::map<std::string, std::string> readable() {
    std::map<std::string, std::string> found;
    const auto fs = std::move(*FileSystem::open(store, quiet()));
    REQUIRE(Reorganiser(*fs).compact_now());
    REQUIRE(*find_inconsistencies(*fs) == std::vector<std::string>{});
    for (const auto& [name, content] : contents) {
      const auto file = fs->lookup(kRootInode, name);
      if (!file) continue;
      std::string bytes(file->size, '\0');
      if (fs->read(file->ino, 0, as_writable_bytes(bytes))) found[name] = bytes;
    }
    return found;
  }
};

}  // namespace

TEST_CASE("members whose rows were in a damaged block of the table come back from their records") {
  Members m(600);
  const std::string file = m.largest_table_file();
  SECTION("in the middle") { m.flip(file, 60); }
  SECTION("near the beginning") { m.flip(file, 30); }
  std::vector<std::string> lost;
  REQUIRE(repair_store(m.store, quiet(), &lost));
  REQUIRE(lost == std::vector<std::string>{});
  REQUIRE(m.readable() == m.contents);
  REQUIRE(*repair_store(m.store, quiet()) == std::vector<std::string>{});
}

TEST_CASE("a file that was removed stays so where no row is missing") {
  Members m(20);
  {
    const auto fs = std::move(*FileSystem::open(m.store, quiet()));
    REQUIRE(fs->unlink(kRootInode, "member3"));
    m.contents.erase("member3");
    REQUIRE(fs->sync());
    REQUIRE(fs->close());
  }
  REQUIRE(repair_store(m.store, quiet()));
  REQUIRE(m.readable() == m.contents);
}

TEST_CASE("a member whose row and data are gone is named") {
  Members m(600);
  m.flip(m.largest_table_file(), 60);
  const auto names = *m.store.list("composites");
  for (const std::string& name : names) {
    const auto object = *m.store.open(name);
    std::string bytes(object->info()->size, '\0');
    REQUIRE(object->read_at(0, as_writable_bytes(bytes)));
    for (std::size_t at = bytes.find("aaaaaaaa"); at != std::string::npos;
         at = bytes.find("aaaaaaaa", at + 600))
      bytes[at] = 'x';
    REQUIRE(object->write_at(0, as_bytes(bytes)));
  }
  std::vector<std::string> lost;
  REQUIRE(repair_store(m.store, quiet(), &lost));
  REQUIRE(!lost.empty());
}

}  // namespace cffs::test
