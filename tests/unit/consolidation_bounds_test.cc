// Consolidation holds so much in memory, however many files wait in a directory.
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>

#include "core/fs/file_system.h"
#include "core/object/memory_store.h"
#include "core/reorganise/consolidation.h"
#include "core/reorganise/reorganiser.h"
#include "core/table/table.h"
#include "grouping/reference_policy.h"
#include "tests/passing_store.h"
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

TEST_CASE("where directories lie is looked for once a pass, however many files it moves", "[consolidation]") {
  constexpr int kPages = 100, kOthers = 4000;
  MemoryStore objects;
  REQUIRE(FileSystem::format(objects, repeatable(), SystemClock()));
  auto fs = std::move(*FileSystem::open(objects, all_in_rows()));
  const InodeId pages = fs->mkdir(kRootInode, "pages", 0755, kRoot)->ino;
  const InodeId crowded = fs->mkdir(kRootInode, "crowded", 0755, kRoot)->ino;
  std::mt19937_64 random(7);
  for (int i = 0; i < kOthers; ++i) {
    std::string name;
    while (name.size() < 200) name += std::to_string(random());
    REQUIRE(fs->mknod(crowded, name, S_IFREG | 0644, 0, kRoot));
  }
  InodeId first{};
  for (int i = 0; i < kPages; ++i) {
    const auto page = fs->mknod(pages, std::to_string(i) + ".html", S_IFREG | 0644, 0, kRoot);
    REQUIRE(page);
    if (i == 0) first = page->ino;
    REQUIRE(fs->write(page->ino, 0, as_bytes("<img src=" + std::to_string(i) + ".png>"), kRoot));
  }
  REQUIRE(fs->sync());
  fs->table().compact();
  REQUIRE(fs->close());
  // Nobody refers to a directory, and every look at a block is a read.
  FileSystemOptions options = all_in_rows();
  options.cache_bytes = 64 << 10;
  options.policy = std::make_shared<grouping::ReferencePolicy>();
  fs = std::move(*FileSystem::open(objects, options));
  std::uint64_t table_bytes = 0;
  const auto names = objects.list("table");
  for (const std::string& name : *names) {
    if (name.ends_with(".ldb")) table_bytes += (*objects.open(name))->info()->size;
  }
  REQUIRE(table_bytes > 200 * kOthers / 3);
  const std::uint64_t before = fs->table().activity().block_read_bytes;
  CompositeFiller filler(*fs);
  Sealing sealing(*fs);
  REQUIRE(Consolidation(*fs, filler, sealing, Sealing::kAll, {}, {1000, 5}).run({pages}, {}));
  CHECK(fs->table().activity().block_read_bytes - before < 10 * table_bytes);  // of 20 slices
  const auto moved = fs->rehousing().find({pages, "0.html"}, first);
  REQUIRE(moved);
  REQUIRE(*moved);
  CHECK((*moved)->inode.home == Home::composite);
}

namespace {

// Refuses to make a composite, once.
struct RefusedComposite final : PassingStore {
  using PassingStore::PassingStore;
  int until = 0;  // how many are made before it

  Result<std::shared_ptr<Object>> create(std::string_view name, Create how) override {
    if (name.starts_with("composites/") && until-- == 0) return fail(EIO, std::string(name));
    return PassingStore::create(name, how);
  }
};

}  // namespace

TEST_CASE("files whose turn failed beside those of another directory are moved by the next pass",
          "[consolidation]") {
  constexpr int kEach = 15;
  MemoryStore objects;
  RefusedComposite store(objects);
  StoreFormat format;
  format.composite_max = 64 << 10;
  REQUIRE(FileSystem::format(store, repeatable(format), SystemClock()));
  auto fs = std::move(*FileSystem::open(store, quiet()));
  std::vector<InodeId> directories;
  for (const char* name : {"a", "b"}) {
    directories.push_back(fs->mkdir(kRootInode, name, 0755, kRoot)->ino);
    for (int i = 0; i < kEach; ++i) {
      const auto file = fs->mknod(directories.back(), std::to_string(i), S_IFREG | 0644, 0, kRoot);
      REQUIRE(file);
      REQUIRE(fs->write(file->ino, 0, as_bytes(content_of(i)), kRoot));
    }
  }
  store.until = 1;  // that of the last files of the one and the first of the other
  Reorganiser reorganiser(*fs);
  CHECK_FALSE(reorganiser.consolidate_now());
  REQUIRE(reorganiser.consolidate_now());
  for (const InodeId directory : directories) {
    for (int i = 0; i < kEach; ++i) {
      const std::string name = std::to_string(i);
      INFO(directory.value << ", " << name);
      const auto file = fs->rehousing().find({directory, name}, fs->lookup(directory, name)->ino);
      REQUIRE(file);
      REQUIRE(*file);
      CHECK((*file)->inode.home == Home::composite);
    }
  }
}

}  // namespace cffs::test
