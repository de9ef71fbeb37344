// What any user of a mount can make the daemon hold is bounded: long attributes and targets stay in their rows, and what files
// without a name hold has a budget, above which it stays in the store. Memory is counted by the allocator, not timed.
#include <malloc.h>

#include <catch2/catch.hpp>

#include "core/fs/file_system.h"
#include "core/inspect/consistency.h"
#include "core/object/faulty_store.h"
#include "core/object/posix_store.h"
#include "core/reorganise/reorganiser.h"
#include "core/reorganise/store_paths.h"
#include "core/table/table.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/unit/temporary_directory.h"

namespace cffs::test {
namespace {

constexpr std::uint64_t kKiB = 1024, kMiB = 1024 * kKiB;
// What the table takes for itself: blocks, rows not yet in files, a compaction under way.
constexpr std::uint64_t kTable = 8 * kMiB;

// Bytes that the process has allocated.
std::uint64_t held() {
  const struct mallinfo2 now = ::mallinfo2();
  return now.uordblks + now.hblkhd;
}

FileSystemOptions lean() {
  FileSystemOptions options = quiet();
  options.cache_bytes = 1 * kMiB;
  options.write_buffer_bytes = 64 * kKiB;
  return options;
}

std::string name(int i) { return "file" + std::to_string(i); }
std::string long_text(int i, std::size_t bytes) {
  std::string text = std::to_string(i);
  text.resize(bytes, static_cast<char>('a' + i % 26));
  return text;
}

struct HeldStore {
  TemporaryDirectory directory;
  std::unique_ptr<PosixStore> medium = std::move(*PosixStore::open_directory(directory.path));
  std::unique_ptr<FileSystem> fs;

  explicit HeldStore(FileSystemOptions options = lean()) {
    REQUIRE(FileSystem::format(*medium, repeatable(), SystemClock()));
    open(std::move(options));
  }
  void open(FileSystemOptions options = lean()) {
    fs.reset();
    fs = std::move(*FileSystem::open(*medium, std::move(options)));
  }
  InodeId file(const std::string& name) {
    const auto made = fs->mknod(kRootInode, name, S_IFREG | 0644, 0, kRoot);
    REQUIRE(made);
    return made->ino;
  }
  InodeId look(const std::string& name) {
    const auto found = fs->lookup(kRootInode, name);
    REQUIRE(found);
    return found->ino;
  }
  void set(InodeId ino, const std::string& attribute, const std::string& value) {
    REQUIRE(fs->setxattr(ino, attribute, value, XattrMode::any, kRoot));
  }
  std::string get(InodeId ino, const std::string& attribute) {
    const auto value = fs->getxattr(ino, attribute);
    return value ? *value : std::string("(none)");
  }
  std::string content(InodeId ino) {
    std::string found(1 * kMiB, '\0');
    const auto n = fs->read(ino, 0, as_writable_bytes(found));
    REQUIRE(n);
    found.resize(*n);
    return found;
  }
  void expect_sound() {
    const auto findings = find_inconsistencies(*fs);
    REQUIRE(findings);
    for (const std::string& finding : *findings) CHECK(finding == "");
  }
  std::size_t objects(const char* folder) { return medium->list(folder)->size(); }
  std::size_t nameless_rows() {
    std::size_t n = 0;
    REQUIRE(fs->table().scan_tag(KeyTag::pending_removal, [&](Key, std::string_view) { return ++n, true; }));
    return n;
  }
  std::size_t chunks() {
    std::size_t n = 0;
    REQUIRE(fs->table().scan_tag(KeyTag::file_data, [&](Key, std::string_view) { return ++n, true; }));
    return n;
  }
};

}  // namespace

TEST_CASE("a node holds no long attributes, and no long target", "[memory]") {
  HeldStore store;
  constexpr int kFiles = 600;
  const std::uint64_t before = held();
  for (int i = 0; i < kFiles; ++i) {
    const InodeId ino = store.file(name(i));
    store.set(ino, "user.one", long_text(i, 60 * kKiB));
    store.set(ino, "user.two", long_text(i, 40 * kKiB));
    REQUIRE(store.fs->symlink(kRootInode, "link" + std::to_string(i), long_text(i, 4000), kRoot));
  }
  const std::uint64_t of_nodes = held() - before;
  INFO(of_nodes << " bytes for " << 2 * kFiles << " nodes");
  CHECK(of_nodes < kTable + 2 * kFiles * 1500);
  // And after a lookup that makes the node anew.
  store.open();
  const std::uint64_t opened = held();
  for (int i = 0; i < kFiles; ++i) {
    const InodeId ino = store.look(name(i));
    CHECK(store.get(ino, "user.one") == long_text(i, 60 * kKiB));
    const InodeId link = store.look("link" + std::to_string(i));
    CHECK(store.fs->readlink(link).value() == long_text(i, 4000));
    CHECK(store.fs->getattr(link)->size == 4000);
  }
  INFO(held() - opened << " bytes");
  CHECK(held() - opened < kTable + 2 * kFiles * 1500);
}

TEST_CASE("an inode that the kernel remembers costs less than a KiB", "[memory]") {
  HeldStore store;
  constexpr int kFiles = 20'000;
  const std::uint64_t before = held();
  for (int i = 0; i < kFiles; ++i) (void)store.file(name(i));
  INFO(held() - before << " bytes for " << kFiles << " nodes");
  CHECK(held() - before < kTable + kFiles * kKiB);
  for (int i = 0; i < kFiles; ++i) store.fs->forget(store.look(name(i)), 2);
  INFO(held() - before << " bytes when they are forgotten");
  CHECK(held() - before < kTable);
}

TEST_CASE("long attributes go with the file, whatever is done to it", "[memory]") {
  HeldStore store;
  const std::string value = long_text(7, 50 * kKiB), acl_free = "user.long";
  const InodeId ino = store.file("a");
  store.set(ino, "user.long", value);
  store.set(ino, "security.capability", "sixteen bytes or");
  const auto expect = [&](InodeId of, const std::string& capability) {
    CHECK(store.get(of, "user.long") == value);
    CHECK(store.get(of, "security.capability") == capability);
  };
  expect(ino, "sixteen bytes or");

  SECTION("chmod") {
    AttributeChange change;
    change.mode = 0600;
    REQUIRE(store.fs->setattr(ino, change, kRoot));
  }
  SECTION("chmod keeps the list in step") {
    // owner rw, user 7 rw, group r, mask rw, others none
    const std::string acl(
        "\2\0\0\0\1\0\6\0\xff\xff\xff\xff\2\0\6\0\7\0\0\0\4\0\4\0\xff\xff\xff\xff\x10\0\6\0\xff\xff\xff\xff"
        "\x20\0\0\0"
        "\xff\xff\xff\xff",
        44);
    store.set(ino, "system.posix_acl_access", acl);
    AttributeChange change;
    change.mode = 0604;
    REQUIRE(store.fs->setattr(ino, change, kRoot));
    std::string wanted = acl;
    wanted[30] = 0;
    wanted[38] = 4;
    CHECK(store.get(ino, "system.posix_acl_access") == wanted);
  }
  SECTION("rename and a second name") {
    REQUIRE(store.fs->rename(kRootInode, "a", kRootInode, "b", RenameMode::replace, kRoot));
    expect(ino, "sixteen bytes or");
    REQUIRE(store.fs->link(ino, kRootInode, "c"));
    expect(ino, "sixteen bytes or");
    REQUIRE(store.fs->rename(kRootInode, "c", kRootInode, "d", RenameMode::replace, kRoot));
    REQUIRE(store.fs->unlink(kRootInode, "b"));
    REQUIRE(store.fs->rename(kRootInode, "d", kRootInode, "a", RenameMode::replace, kRoot));
  }
  SECTION("exchange") {
    const InodeId other = store.file("other");
    store.set(other, "user.long", long_text(3, 30 * kKiB));
    REQUIRE(store.fs->rename(kRootInode, "a", kRootInode, "other", RenameMode::exchange, kRoot));
    CHECK(store.get(other, "user.long") == long_text(3, 30 * kKiB));
    REQUIRE(store.fs->rename(kRootInode, "other", kRootInode, "a", RenameMode::exchange, kRoot));
  }
  SECTION("another attribute comes and goes") {
    store.set(ino, "user.more", "x");
    REQUIRE(store.fs->listxattr(ino)->size() == 3);
    REQUIRE(store.fs->removexattr(ino, "user.more"));
    CHECK(store.fs->removexattr(ino, "user.more").error().errno_value == ENODATA);
    CHECK(store.fs->setxattr(ino, "user.long", "", XattrMode::create, kRoot).error().errno_value == EEXIST);
  }
  SECTION("and stays without a name") {
    REQUIRE(store.fs->unlink(kRootInode, "a"));
    expect(ino, "sixteen bytes or");
    store.set(ino, "user.more", long_text(1, 20 * kKiB));
    expect(ino, "sixteen bytes or");
    CHECK(store.get(ino, "user.more") == long_text(1, 20 * kKiB));
    CHECK(store.nameless_rows() == 1);
    store.expect_sound();
    store.fs->forget(ino, 1);
    REQUIRE(store.fs->sync());
    CHECK(store.nameless_rows() == 0);
    return;
  }
  SECTION("a write takes the capability") {
    for (const std::size_t size : {std::size_t{100}, std::size_t{200'000}, std::size_t{50}}) {
      store.set(ino, "security.capability", "sixteen bytes or");
      const std::string data = long_text(2, size);
      REQUIRE(store.fs->write(ino, 0, as_bytes(data), kRoot));
      expect(ino, "(none)");
    }
    REQUIRE(store.fs->setxattr(ino, "security.capability", "another", XattrMode::create, kRoot));
    expect(ino, "another");
    AttributeChange change;
    change.size = 5;
    REQUIRE(store.fs->setattr(ino, change, kRoot));
    expect(ino, "(none)");
    store.set(ino, "security.capability", "sixteen bytes or");
  }
  SECTION("a move to a composite") {
    const std::string data = long_text(2, 3000);
    REQUIRE(store.fs->write(ino, 0, as_bytes(data), kRoot));
    store.set(ino, "security.capability", "sixteen bytes or");
    REQUIRE(Reorganiser(*store.fs).compact_now());
    REQUIRE(store.objects("composites") == 1);
    expect(ino, "sixteen bytes or");
  }
  expect(ino, "sixteen bytes or");
  store.expect_sound();
  store.open();
  expect(store.look("a"), "sixteen bytes or");
  store.expect_sound();
}

TEST_CASE("a directory that was removed keeps long attributes for who still has it", "[memory]") {
  HeldStore store;
  for (const bool renamed_over : {false, true}) {
    const auto made = store.fs->mkdir(kRootInode, "directory", 0755, kRoot);
    REQUIRE(made);
    store.set(made->ino, "user.long", long_text(1, 60 * kKiB));
    if (renamed_over) {
      REQUIRE(store.fs->mkdir(kRootInode, "another", 0755, kRoot));
      REQUIRE(store.fs->rename(kRootInode, "another", kRootInode, "directory", RenameMode::replace, kRoot));
    } else {
      REQUIRE(store.fs->rmdir(kRootInode, "directory"));
    }
    CHECK(store.get(made->ino, "user.long") == long_text(1, 60 * kKiB));
    CHECK(store.fs->getxattr(made->ino, "user.other").error().errno_value == ENODATA);
    CHECK(store.fs->listxattr(made->ino)->size() == 1);
    CHECK(store.nameless_rows() == 1);
    store.expect_sound();
    store.fs->forget(made->ino, 1);
    REQUIRE(store.fs->sync());
    CHECK(store.nameless_rows() == 0);
    store.expect_sound();
  }
}

TEST_CASE("a file without a name keeps long attributes from its birth to its name", "[memory]") {
  HeldStore store;
  const auto made = store.fs->make_unnamed(kRootInode, 0644, kRoot);
  REQUIRE(made);
  store.set(made->ino, "user.long", long_text(1, 60 * kKiB));
  CHECK(store.get(made->ino, "user.long") == long_text(1, 60 * kKiB));
  REQUIRE(store.fs->write(made->ino, 0, as_bytes(std::string("content")), kRoot));
  store.expect_sound();
  REQUIRE(store.fs->link(made->ino, kRootInode, "named"));
  CHECK(store.nameless_rows() == 0);
  CHECK(store.get(made->ino, "user.long") == long_text(1, 60 * kKiB));
  store.open();
  const InodeId ino = store.look("named");
  CHECK(store.get(ino, "user.long") == long_text(1, 60 * kKiB));
  CHECK(store.content(ino) == "content");
  store.expect_sound();
}

TEST_CASE("content of files without a name has a budget", "[memory]") {
  FileSystemOptions options = lean();
  options.nameless_bytes = 1 * kMiB;
  HeldStore store(options);
  constexpr int kFiles = 400;
  constexpr std::size_t kBytes = 60 * kKiB;
  const std::uint64_t before = held();
  std::vector<InodeId> files;
  const bool from_birth = GENERATE(false, true);
  for (int i = 0; i < kFiles; ++i) {
    if (from_birth) {
      files.push_back(store.fs->make_unnamed(kRootInode, 0600, kRoot)->ino);
      REQUIRE(store.fs->write(files.back(), 0, as_bytes(long_text(i, kBytes)), kRoot));
    } else {
      files.push_back(store.file(name(i)));
      REQUIRE(store.fs->write(files.back(), 0, as_bytes(long_text(i, kBytes)), kRoot));
      REQUIRE(store.fs->unlink(kRootInode, name(i)));
    }
  }
  INFO(held() - before << " bytes");
  CHECK(held() - before < kTable + options.nameless_bytes);
  store.expect_sound();
  for (int i = 0; i < kFiles; ++i)
    CHECK(store.content(files[static_cast<std::size_t>(i)]) == long_text(i, kBytes));
  // Changes of all kinds, with and without room in the budget.
  for (int i = 0; i < kFiles; i += 10) {
    const InodeId ino = files[static_cast<std::size_t>(i)];
    std::string wanted = long_text(i, kBytes);
    REQUIRE(store.fs->write(ino, 100, as_bytes(std::string("changed")), kRoot));
    wanted.replace(100, 7, "changed");
    CHECK(store.content(ino) == wanted);
    AttributeChange change;
    change.size = 200;
    REQUIRE(store.fs->setattr(ino, change, kRoot));
    CHECK(store.content(ino) == wanted.substr(0, 200));
    REQUIRE(store.fs->allocate(ino, 0, 100, AllocateMode::punch_hole, true, kRoot));
    CHECK(store.content(ino) == std::string(100, '\0') + wanted.substr(100, 100));
  }
  if (from_birth) {
    REQUIRE(store.fs->link(files.back(), kRootInode, "named"));
    CHECK(store.content(files.back()) == long_text(kFiles - 1, kBytes));
    store.fs->forget(files.back(), 1);
  }
  for (const InodeId ino : files) store.fs->forget(ino, 1);
  REQUIRE(store.fs->sync());
  INFO(held() - before << " bytes when they are forgotten");
  CHECK(held() - before < kTable);
  CHECK(store.nameless_rows() == 0);
  CHECK(store.objects("blobs") <= (from_birth ? 1u : 0u));
  CHECK(store.chunks() <= (from_birth ? 15u : 0u));
  store.expect_sound();
}

TEST_CASE("of files without a name nothing is left, however the daemon ends", "[memory]") {
  FaultyStore medium;
  std::unique_ptr<ObjectStore> after;
  REQUIRE(FileSystem::format(medium, repeatable(), SystemClock()));
  FileSystemOptions options = quiet();
  options.nameless_bytes = 10'000;
  auto fs = std::move(*FileSystem::open(medium, options));
  for (int i = 0; i < 20; ++i) {
    const auto made = fs->mknod(kRootInode, name(i), S_IFREG | 0600, 0, kRoot);
    REQUIRE(fs->write(made->ino, 0, as_bytes(long_text(i, 6000)), kRoot));
    REQUIRE(fs->setxattr(made->ino, "user.long", long_text(i, 3000), XattrMode::any, kRoot));
    if (i % 2 == 0) REQUIRE(fs->unlink(kRootInode, name(i)));
    const auto unnamed = fs->make_unnamed(kRootInode, 0600, kRoot);
    REQUIRE(fs->write(unnamed->ino, 0, as_bytes(long_text(i, 6000)), kRoot));
    REQUIRE(fs->setxattr(unnamed->ino, "user.long", long_text(i, 3000), XattrMode::any, kRoot));
  }
  const std::string end = GENERATE("closed", "killed", "power cut");
  CAPTURE(end);
  if (end == "closed") REQUIRE(fs->close());
  if (end == "power cut") {
    REQUIRE(fs->sync());
    after = medium.power_cut(1);
  }
  medium.fail_operation(1, EIO, FaultyStore::Persistence::from_then_on);
  fs.reset();
  medium.fail_operation(0, 0, FaultyStore::Persistence::once);
  ObjectStore& left = after ? *after : static_cast<ObjectStore&>(medium);
  fs = std::move(*FileSystem::open(left, options));
  const auto findings = find_inconsistencies(*fs);
  REQUIRE(findings);
  for (const std::string& finding : *findings) CHECK(finding == "");
  CHECK(left.list("blobs")->empty());
  std::size_t rows = 0, chunks = 0;
  REQUIRE(fs->table().scan_tag(KeyTag::pending_removal, [&](Key, std::string_view) { return ++rows, true; }));
  REQUIRE(fs->table().scan_tag(KeyTag::file_data, [&](Key, std::string_view) { return ++chunks, true; }));
  CHECK(rows == 0);
  CHECK(chunks == 20);
  for (int i = 1; i < 20; i += 2) {
    const auto found = fs->lookup(kRootInode, name(i));
    REQUIRE(found);
    CHECK(fs->getxattr(found->ino, "user.long").value() == long_text(i, 3000));
  }
}

TEST_CASE("a row that several files share holds no more attributes than a row may", "[memory]") {
  FileSystemOptions options = lean();
  options.name_hash = NameHash::unkeyed().narrowed(0);
  HeldStore store(options);
  int refused = 0, taken = 0;
  for (int i = 0; i < 20; ++i) {
    const InodeId ino = store.file(name(i));
    for (const char* attribute : {"user.a", "user.b"}) {
      const Status set = store.fs->setxattr(ino, attribute, long_text(i, 60 * kKiB), XattrMode::any, kRoot);
      ++(set ? taken : refused);
      if (!set) CHECK(set.error().errno_value == ENOSPC);
    }
  }
  CHECK(refused > 0);
  CHECK(taken >= 8);
  for (int i = 0; i < 4; ++i) CHECK(store.get(store.look(name(i)), "user.a") == long_text(i, 60 * kKiB));
  store.expect_sound();
}

TEST_CASE("paths that lead nowhere are not remembered, however long they are") {
  HeldStore s;
  std::string deep;
  for (int i = 0; i < 1990; ++i) deep += "/a";
  StorePaths paths(*s.fs);
  const std::uint64_t before = held();
  for (int i = 0; i < 300; ++i) {
    CHECK_FALSE(paths.find("b" + std::to_string(i) + deep + "/x.h"));
    CHECK_FALSE(paths.find_ignoring_case("b" + std::to_string(i) + deep + "/x.h"));
  }
  CHECK(held() < before + 1 * kMiB);
}

TEST_CASE("a file is found by any path that leads to it, as long as it leads there") {
  HeldStore s;
  InodeId at = kRootInode;
  std::string path, other_case;
  for (int level = 0; level < 300; ++level) {
    const auto made = s.fs->mkdir(at, "Dir", 0755, kRoot);
    REQUIRE(made);
    at = made->ino;
    path += "Dir/";
    other_case += "dIR/";
  }
  const auto file = s.fs->mknod(at, "File", S_IFREG | 0644, 0, kRoot);
  REQUIRE(file);
  StorePaths paths(*s.fs);
  for (int round = 0; round < 2; ++round) {
    CHECK(paths.find(path + "File") == file->ino.value);
    CHECK_FALSE(paths.find(other_case + "file"));
    CHECK(paths.find_ignoring_case(other_case + "file") == file->ino.value);
    CHECK(paths.list(path.substr(0, path.size() - 1), "le") ==
          std::vector<grouping::FileId>{file->ino.value});
    CHECK_FALSE(paths.find(path + "File/File"));
    CHECK_FALSE(paths.find("File"));
    CHECK_FALSE(paths.find(path + "Dir/File"));
    CHECK(paths.name_of(file->ino.value) == EntryName{at, "File"});
    CHECK(*paths.path_of(EntryName{at, "File"}) == path + "File");
    paths.forget_files();
    CHECK_FALSE(paths.name_of(file->ino.value));
  }
}

}  // namespace cffs::test
