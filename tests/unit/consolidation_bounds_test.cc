// Consolidation holds so much in memory, however many files wait in a directory.
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "core/fs/file_system.h"
#include "core/object/memory_store.h"
#include "core/reorganise/consolidation.h"
#include "core/table/table.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"

namespace cffs::test {
namespace {

constexpr int kFiles = 100;

std::string content_of(int i) { return "content of " + std::to_string(i) + std::string(5000, 'x'); }

// A directory of files that wait in the table.
struct Waiting {
  Waiting() {
    REQUIRE(FileSystem::format(objects, repeatable(), SystemClock()));
    auto opened = FileSystem::open(objects, quiet());
    REQUIRE(opened);
    fs = std::move(*opened);
    const auto made = fs->mkdir(kRootInode, "d", 0755, kRoot);
    REQUIRE(made);
    directory = made->ino;
    for (int i = 0; i < kFiles; ++i) {
      const auto file = fs->mknod(directory, std::to_string(i), S_IFREG | 0644, 0, kRoot);
      REQUIRE(file);
      REQUIRE(fs->write(file->ino, 0, as_bytes(content_of(i)), kRoot));
      fs->forget(file->ino, 1);
    }
  }
  std::map<std::string, Inode> rows() {
    std::map<std::string, Inode> found;
    REQUIRE(fs->table().scan_directory(directory, 0, [&](Key, const Row& row) {
      for (const Entry& entry : row.entries) found.emplace(entry.name, *entry.inode);
      return true;
    }));
    return found;
  }
  Result<Consolidation::Left> consolidate(Consolidation::Bounds bounds,
                                          std::int64_t quiet_before_ns = Sealing::kAll) {
    CompositeFiller filler(*fs);
    Sealing sealing(*fs);
    return Consolidation(*fs, filler, sealing, quiet_before_ns, {}, bounds).run({directory}, {});
  }

  MemoryStore objects;
  std::unique_ptr<FileSystem> fs;
  InodeId directory{};
};

}  // namespace

TEST_CASE("a directory of more files than are held at once is consolidated whole", "[consolidation]") {
  for (const std::size_t names : {1, 7, 99, 100, 101, 1000}) {
    for (const std::size_t files : {1, 10, 1000}) {
      INFO(names << " names, " << files << " files at once");
      Waiting s;
      const auto left = s.consolidate({names, files});
      REQUIRE(left);
      CHECK(left->directories.empty());
      const auto rows = s.rows();
      REQUIRE(rows.size() == kFiles);
      std::set<std::pair<std::uint64_t, std::uint32_t>> places;
      for (const auto& [name, inode] : rows) {
        CHECK(inode.home == Home::composite);
        places.insert({inode.extent.composite.value, inode.extent.slot});
        const auto file = s.fs->lookup(s.directory, name);
        REQUIRE(file);
        std::string content(inode.size, '\0');
        REQUIRE(s.fs->read(file->ino, 0, as_writable_bytes(content)).value() == inode.size);
        CHECK(content == content_of(std::stoi(name)));
      }
      CHECK(places.size() == kFiles);
    }
  }
}

TEST_CASE("files lie by name where their names are held together", "[consolidation]") {
  Waiting s;
  REQUIRE(s.consolidate({1000, 7}));
  std::pair<std::uint64_t, std::uint64_t> last{0, 0};
  for (const auto& [name, inode] : s.rows()) {
    const std::pair place(inode.extent.composite.value, inode.extent.offset);
    CHECK(last < place);
    last = place;
  }
}

TEST_CASE("a directory where some files are not quiet is looked at again, at any bounds", "[consolidation]") {
  Waiting s;
  const std::int64_t now = s.fs->clock().now_ns();
  while (s.fs->clock().now_ns() == now) {  // it moves in steps
  }
  const auto last = s.fs->mknod(s.directory, "last", S_IFREG | 0644, 0, kRoot);
  REQUIRE(last);
  REQUIRE(s.fs->write(last->ino, 0, as_bytes(content_of(0)), kRoot));
  const auto left = s.consolidate({3, 2}, now);
  REQUIRE(left);
  CHECK(left->directories == std::vector<InodeId>{s.directory});
  const auto rows = s.rows();
  std::size_t moved = 0;
  for (const auto& [name, inode] : rows) moved += inode.home == Home::composite;
  CHECK(moved == kFiles);
}

}  // namespace cffs::test
