// Making a composite may fail at any step, mostly for want of room: what was begun then is nobody's, and takes none for long.
#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/composite/composite_store.h"
#include "core/fs/file_system.h"
#include "core/fs/new_file.h"
#include "core/inspect/consistency.h"
#include "core/object/faulty_store.h"
#include "core/reorganise/reorganiser.h"
#include "core/table/table.h"
#include "grouping/directory_policy.h"
#include "tests/test_options.h"

namespace cffs::test {
namespace {

constexpr int kFiles = 12;

struct Failing {
  Failing() {
    StoreFormat format;
    format.inline_max = 64;
    format.composite_file_max = 16 << 10;
    format.composite_max = 32 << 10;  // several
    REQUIRE(FileSystem::format(store, repeatable(format), SystemClock()));
    auto opened = FileSystem::open(store, quiet());
    REQUIRE(opened);
    fs = std::move(*opened);
    fs->set_policy(std::make_shared<grouping::DirectoryPolicy>());
    reorganiser.emplace(*fs);
  }
  static std::string name(int i) { return "f" + std::to_string(i); }
  static std::string content(int i) {
    return std::string(4000 + static_cast<std::size_t>(i), static_cast<char>('a' + i));
  }
  void make_files() {
    for (int i = 0; i < kFiles; ++i) {
      const auto made = fs->mknod(kRootInode, name(i), S_IFREG | 0644, 0, root);
      REQUIRE(made);
      REQUIRE(fs->write(made->ino, 0, as_bytes(content(i)), root));
    }
    REQUIRE(fs->sync());
  }
  std::vector<std::vector<NewFile>> new_files() const {
    std::vector<std::vector<NewFile>> groups(1);
    for (int i = 0; i < kFiles; ++i) {
      NewFile file;
      file.parent = kRootInode;
      file.name = "new" + name(i);
      file.inode.mode = S_IFREG | 0644;
      file.content = content(i);
      groups.front().push_back(std::move(file));
    }
    return groups;
  }
  void expect_no_leftovers() {
    REQUIRE(fs->sync());
    REQUIRE(fs->sync());
    const auto names = store.list("composites/0");
    REQUIRE(names);
    for (const std::string& object : *names) {
      INFO(object);
      const CompositeId id{std::stoull(object.substr(object.rfind('/') + 1))};
      const auto row = fs->table().get(Key::null_name(id));
      REQUIRE(row);
      CHECK(row->has_value());
    }
    const auto problems = find_inconsistencies(*fs);
    REQUIRE(problems);
    CHECK(*problems == std::vector<std::string>{});
  }
  void expect_files() {
    for (int i = 0; i < kFiles; ++i) {
      const auto found = fs->lookup(kRootInode, name(i));
      REQUIRE(found);
      std::string bytes(found->size, '\0');
      REQUIRE(fs->read(found->ino, 0, as_writable_bytes(bytes)));
      CHECK((bytes == content(i)));
    }
  }

  const Caller root = Caller::privileged();
  FaultyStore store;
  std::unique_ptr<FileSystem> fs;
  std::optional<Reorganiser> reorganiser;
};

}  // namespace

TEST_CASE("a consolidation that meets ENOSPC at any step leaves no composite behind that no row names") {
  int failures = 0;
  for (std::uint64_t n = 1; n <= 40; ++n) {
    INFO("operation " << n);
    Failing s;
    s.make_files();
    s.store.fail_operation(n, ENOSPC, FaultyStore::Persistence::once);
    failures += s.reorganiser->consolidate_now() ? 0 : 1;
    s.store.fail_operation(0, 0, FaultyStore::Persistence::once);
    if (!s.fs->sync()) continue;  // the table met it: nothing more is written until the next open
    s.expect_no_leftovers();
    s.expect_files();
    REQUIRE(s.reorganiser->consolidate_now());
    s.expect_no_leftovers();
    s.expect_files();
  }
  CHECK(failures > 0);
}

TEST_CASE("an import's load that meets ENOSPC at any step leaves no composite behind that no row names") {
  int failures = 0;
  for (std::uint64_t n = 1; n <= 15; ++n) {
    INFO("operation " << n);
    Failing s;
    s.store.fail_operation(n, ENOSPC, FaultyStore::Persistence::once);
    failures += s.fs->load(s.new_files()) ? 0 : 1;
    s.store.fail_operation(0, 0, FaultyStore::Persistence::once);
    if (!s.fs->sync()) continue;
    s.expect_no_leftovers();
  }
  CHECK(failures > 0);
}

}  // namespace cffs::test
