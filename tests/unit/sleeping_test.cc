// Inodes that somebody refers to and nobody uses: what is left of them in memory, and that nobody can tell.
#include <catch2/catch.hpp>

#include "core/base/clock.h"
#include "core/fs/file_system.h"
#include "core/fs/rehousing.h"
#include "core/fs/staged_directories.h"
#include "core/inspect/consistency.h"
#include "core/object/faulty_store.h"
#include "core/reorganise/reorganiser.h"
#include "core/table/table.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/manual_clock.h"

namespace cffs::test {
namespace {

struct Sleepy {
  FaultyStore medium;
  const std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  std::unique_ptr<FileSystem> fs;
  std::vector<InodeId> crowd;

  Sleepy() {
    StoreFormat format;
    format.inline_max = 64;
    clock->pass_ms(1'000'000);
    REQUIRE(FileSystem::format(medium, repeatable(format), *clock));
    open();
  }
  void open() {
    fs.reset();
    FileSystemOptions options = quiet();
    options.awake_nodes = kSleepy;
    options.access_times = AccessTimes::strict;
    options.clock = clock;
    fs = std::move(*FileSystem::open(medium, options));
    crowd.clear();
    for (int i = 0; i < 200; ++i) {
      const std::string name = "crowd" + std::to_string(i);
      const auto there = fs->lookup(kRootInode, name);
      crowd.push_back(there ? there->ino : fs->mknod(kRootInode, name, S_IFREG | 0600, 0, kRoot)->ino);
    }
  }
  // All but the crowd is asleep afterwards.
  void lull() {
    REQUIRE(fs->sync());
    for (int turn = 0; turn < 3; ++turn) {
      for (const InodeId ino : crowd) REQUIRE(fs->getattr(ino));
    }
  }
  InodeId file(InodeId in, const std::string& name, const std::string& content = "content") {
    const InodeId ino = fs->mknod(in, name, S_IFREG | 0644, 0, kRoot)->ino;
    REQUIRE(fs->write(ino, 0, as_bytes(content), kRoot));
    return ino;
  }
  InodeId directory(InodeId in, const std::string& name) { return fs->mkdir(in, name, 0755, kRoot)->ino; }
  std::string content(InodeId ino) {
    std::string found(100'000, '\0');
    const auto n = fs->read(ino, 0, as_writable_bytes(found));
    if (!n) return n.error().message();
    found.resize(*n);
    return found;
  }
  // Only one row has the inode, and fsck finds nothing else either.
  void expect_sound() {
    const auto findings = find_inconsistencies(*fs);
    REQUIRE(findings);
    CHECK(*findings == std::vector<std::string>{});
  }
};

}  // namespace

TEST_CASE("a file is after its sleep what it was before", "[sleeping]") {
  Sleepy store;
  FileSystem& fs = *store.fs;
  const InodeId deep = store.directory(store.directory(store.directory(kRootInode, "a"), "b"), "c");
  const std::string large(70'000, 'l');
  const InodeId small = store.file(deep, "small"), blob = store.file(deep, "blob", large);
  const InodeId link = fs.symlink(deep, "link", std::string(3000, 't'), kRoot)->ino;
  REQUIRE(fs.setxattr(small, "user.long", std::string(5000, 'x'), XattrMode::any, kRoot));
  store.clock->pass_ms(1000);
  fs.accessed(small);
  const Attributes before = *fs.getattr(small);
  REQUIRE(fs.write(blob, 0, as_bytes(std::string("L")), kRoot));  // its row is behind for a while
  const Attributes of_blob = *fs.getattr(blob);
  store.lull();
  if (GENERATE(false, true)) {
    REQUIRE(Reorganiser(fs).consolidate_now());
    store.lull();
  }
  const Attributes after = *fs.getattr(small);
  CHECK(after.atime_ns == before.atime_ns);
  CHECK(after.mtime_ns == before.mtime_ns);
  CHECK(after.ctime_ns == before.ctime_ns);
  CHECK(after.size == before.size);
  CHECK(fs.getattr(blob)->mtime_ns == of_blob.mtime_ns);
  CHECK(store.content(small) == "content");
  CHECK(store.content(blob) == "L" + large.substr(1));
  CHECK(fs.readlink(link).value() == std::string(3000, 't'));
  CHECK(fs.getxattr(small, "user.long").value() == std::string(5000, 'x'));
  store.lull();
  REQUIRE(fs.write(small, 7, as_bytes(std::string(" more")), kRoot));
  store.lull();
  CHECK(store.content(small) == "content more");
  CHECK(fs.lookup(deep, ".")->ino == deep);
  CHECK(fs.lookup(deep, "..")->ino != deep);
  store.expect_sound();
}

TEST_CASE("waking a file wakes the directories above it", "[sleeping]") {
  Sleepy store;
  FileSystem& fs = *store.fs;
  std::vector<InodeId> path{kRootInode};
  for (int i = 0; i < 50; ++i) path.push_back(store.directory(path.back(), "down"));
  const InodeId file = store.file(path.back(), "file");
  store.lull();
  CHECK(store.content(file) == "content");
  for (std::size_t i = path.size() - 1; i > 0; --i) {
    CHECK(fs.lookup(path[i], "..")->ino == path[i - 1]);
    if (i % 7 == 0) store.lull();
  }
  // From the middle the upper half moves; who sleeps below follows.
  const InodeId other = store.directory(kRootInode, "other");
  store.lull();
  REQUIRE(fs.rename(path[24], "down", other, "here", RenameMode::replace, kRoot));
  store.lull();
  CHECK(fs.lookup(path[25], "..")->ino == other);
  CHECK(store.content(file) == "content");
  CHECK(fs.rename(kRootInode, "other", path[40], "x", RenameMode::replace, kRoot).error().errno_value ==
        EINVAL);
  store.expect_sound();
}

TEST_CASE("a listing shows nothing older than what was there when it met the name", "[sleeping]") {
  Sleepy store;
  FileSystem& fs = *store.fs;
  const InodeId in = store.directory(kRootInode, "in");
  std::vector<InodeId> files;
  for (int i = 0; i < 4; ++i) files.push_back(store.file(in, "file" + std::to_string(i)));
  REQUIRE(fs.link(files[3], in, "linked"));
  const bool referring = GENERATE(false, true);
  store.lull();
  store.clock->pass_ms(5000);
  int met = 0;
  const auto visit = [&](const DirectoryEntry& entry) {
    if (entry.name == "." || entry.name == "..") return true;
    if (met++ == 0) {  // the scan has begun; now all of them change, and go back to sleep
      for (const InodeId ino : files) fs.accessed(ino);
      store.lull();
    } else {
      CHECK(entry.attributes.atime_ns == fs.getattr(entry.attributes.ino)->atime_ns);
    }
    return true;
  };
  REQUIRE(fs.readdir(in, 0, referring, visit));
  CHECK(met == 5);
}

TEST_CASE("a directory that woke is not taken for quiet", "[sleeping]") {
  Sleepy store;
  constexpr std::int64_t kQuietMs = 2000;
  StagedDirectories& staged = store.fs->staged_directories();
  const InodeId in = store.directory(kRootInode, "in"), file = store.file(in, "file");
  store.lull();
  CHECK(staged.take(kQuietMs, false).empty());
  CHECK(store.content(file) == "content");  // wakes both
  CHECK(staged.take(kQuietMs, false).empty());
  store.clock->pass_ms(kQuietMs);
  CHECK(staged.take(kQuietMs, false) == std::vector<InodeId>{in});
}

TEST_CASE("a change that failed half way stays known to those who move data", "[sleeping]") {
  Sleepy store;
  FileSystem& fs = *store.fs;
  const bool is_write = GENERATE(true, false);
  CAPTURE(is_write);
  const InodeId blob = store.file(kRootInode, "blob", std::string(70'000, 'b'));
  store.lull();
  const auto look = [&] { return fs.rehousing().find({kRootInode, "blob"}, blob).value().value().inode; };
  const Inode before = look();
  store.medium.tear_failed_writes(true);
  store.medium.fail_operation(is_write ? 1 : 2, EIO, FaultyStore::Persistence::once);
  if (is_write) {
    REQUIRE_FALSE(fs.write(blob, 0, as_bytes(std::string(100, 'B')), kRoot));
  } else {  // room is found, then half of it becomes zeros
    REQUIRE_FALSE(fs.allocate(blob, 0, 100, AllocateMode::zero_range, false, kRoot));
  }
  CHECK(store.content(blob).starts_with(is_write ? std::string_view("BB") : std::string_view("\0\0", 2)));
  store.lull();
  CHECK(look().version > before.version);
  store.expect_sound();
}

TEST_CASE("a file whose name goes while it sleeps stays with who refers to it", "[sleeping]") {
  Sleepy store;
  FileSystem& fs = *store.fs;
  const std::string how = GENERATE("unlink", "rename over it", "directory");
  CAPTURE(how);
  const bool member = GENERATE(false, true);
  const InodeId in = store.directory(kRootInode, "in");
  const InodeId gone = how == "directory" ? store.directory(in, "gone") : store.file(in, "gone");
  const InodeId other = how == "directory" ? store.directory(in, "other") : store.file(in, "other", "other");
  store.lull();
  if (member) REQUIRE(Reorganiser(fs).consolidate_now());
  store.lull();
  if (how == "unlink") REQUIRE(fs.unlink(in, "gone"));
  if (how != "unlink") REQUIRE(fs.rename(in, "other", in, "gone", RenameMode::replace, kRoot));
  store.lull();
  CHECK(fs.getattr(gone)->nlink == 0);
  if (how != "directory") {
    CHECK(store.content(gone) == "content");
    REQUIRE(fs.write(gone, 0, as_bytes(std::string("C")), kRoot));
    store.lull();
    CHECK(store.content(gone) == "Content");
    CHECK(store.content(other) == "other");
  } else {
    CHECK(fs.mknod(gone, "new", S_IFREG, 0, kRoot).error().errno_value == ENOENT);
  }
  fs.forget(gone, 1);
  CHECK(fs.getattr(gone).error().errno_value == ESTALE);
  store.expect_sound();
}

TEST_CASE("names move while their files sleep", "[sleeping]") {
  Sleepy store;
  FileSystem& fs = *store.fs;
  const InodeId from = store.directory(kRootInode, "from"), to = store.directory(kRootInode, "to");
  const InodeId file = store.file(from, "file"), twice = store.file(from, "twice");
  const InodeId moved = store.directory(from, "moved"), below = store.file(moved, "below");
  store.lull();
  REQUIRE(fs.rename(from, "file", to, "file", RenameMode::replace, kRoot));
  REQUIRE(fs.rename(from, "moved", to, "moved", RenameMode::replace, kRoot));
  REQUIRE(fs.link(twice, to, "again"));
  store.lull();
  CHECK(store.content(file) == "content");
  CHECK(fs.lookup(to, "file")->ino == file);
  CHECK(fs.lookup(moved, "..")->ino == to);
  CHECK(store.content(below) == "content");
  REQUIRE(fs.unlink(from, "twice"));
  store.lull();
  CHECK(store.content(twice) == "content");
  CHECK(fs.getattr(twice)->nlink == 1);
  REQUIRE(fs.write(twice, 0, as_bytes(std::string("C")), kRoot));
  CHECK(fs.rename(to, "moved", moved, "x", RenameMode::replace, kRoot).error().errno_value == EINVAL);
  store.lull();
  CHECK(store.content(fs.lookup(to, "again")->ino) == "Content");
  REQUIRE(fs.unlink(to, "again"));
  store.lull();
  CHECK(store.content(twice) == "Content");
  store.expect_sound();
}

TEST_CASE("a directory that is forgotten before its children goes with the last of them", "[sleeping]") {
  Sleepy store;
  FileSystem& fs = *store.fs;
  const InodeId up = store.directory(kRootInode, "up"), in = store.directory(up, "in");
  const InodeId one = store.file(in, "one"), two = store.file(in, "two");
  REQUIRE(fs.link(two, kRootInode, "two"));
  fs.forget(two, 1);
  store.lull();
  fs.forget(up, 1);
  fs.forget(in, 1);
  store.lull();
  CHECK(store.content(one) == "content");  // which takes the directories
  store.lull();
  // Found by its other name it needs them no longer.
  CHECK(fs.lookup(kRootInode, "two")->ino == two);
  fs.forget(two, 1);
  fs.forget(one, 1);
  store.lull();
  CHECK(store.content(two) == "content");
  fs.forget(two, 1);
  for (int i = 0; i < 3; ++i) store.lull();
  for (const InodeId ino : {up, in, one, two}) CHECK(fs.getattr(ino).error().errno_value == ESTALE);
}

TEST_CASE("an inode that sleeps is not found in a second row", "[sleeping]") {
  Sleepy store;
  const InodeId in = store.directory(kRootInode, "in"), twin = store.directory(kRootInode, "twin");
  store.lull();
  Inode inode;
  inode.ino = in;
  inode.mode = S_IFDIR | 0755;
  Batch batch;
  const Key key = store.fs->rehousing().entry_key({twin, "again"});
  batch.put(key, encode_single_row("again", inode));
  REQUIRE(store.fs->table().write(batch));
  const auto found = store.fs->lookup(twin, "again");
  REQUIRE_FALSE(found);
  CHECK(found.error().message().find("has two rows") != std::string::npos);
  // One whose row is gone is damage, and said to be.
  store.lull();
  Batch erasure;
  erasure.erase(store.fs->rehousing().entry_key({kRootInode, "in"}));
  REQUIRE(store.fs->table().write(erasure));
  const auto lost = store.fs->getattr(in);
  REQUIRE_FALSE(lost);
  CHECK(lost.error().message().find("is not in the row where it was found") != std::string::npos);
}

}  // namespace cffs::test
