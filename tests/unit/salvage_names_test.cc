// A store without its table, with its catalogue: everything is back as it was when that was made, and what is newer goes where it can.
#include <catch2/catch.hpp>

#include "core/blob/blob_store.h"
#include "core/composite/composite_store.h"
#include "core/inspect/consistency.h"
#include "core/object/memory_store.h"
#include "core/reorganise/cataloguing.h"
#include "core/reorganise/reorganiser.h"
#include "core/repair/salvage.h"
#include "core/table/catalogue.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/manual_clock.h"
#include "tests/unit/object_bytes.h"
#include "tests/unit/rot.h"
#include "tests/unit/tree_lines.h"

namespace cffs::test {
namespace {

using Lines = std::vector<std::string>;

// Everything that a tree can have, consolidated and catalogued.
struct LostNames {
  MemoryStore store, fresh;
  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  std::unique_ptr<FileSystem> fs, back;
  InodeId outer, inner, large, member;

  LostNames() {
    StoreFormat format;
    format.inline_max = 512;
    format.composite_file_max = 16384;
    format.composite_max = 65536;
    REQUIRE(FileSystem::format(store, repeatable(format), *clock));
    REQUIRE(FileSystem::format(fresh, repeatable(), *clock));
    fs = open(store);
    fill();
    tick();
  }

  std::unique_ptr<FileSystem> open(ObjectStore& objects) {
    FileSystemOptions options = quiet();
    options.clock = clock;
    return std::move(*FileSystem::open(objects, options));
  }
  void tick() { clock->pass_ms(1000); }

  InodeId make(InodeId in, const std::string& name, const std::string& content, mode_t mode = 0640) {
    tick();
    const auto file = fs->mknod(in, name, S_IFREG | mode, 0, kRoot);
    REQUIRE(file);
    if (!content.empty()) REQUIRE(fs->write(file->ino, 0, as_bytes(content), kRoot));
    return file->ino;
  }
  void write(InodeId file, const std::string& content) {
    tick();
    REQUIRE(fs->write(file, 0, as_bytes(content), kRoot));
  }
  InodeId make_directory(InodeId in, const std::string& name) {
    tick();
    return fs->mkdir(in, name, 0750, kRoot)->ino;
  }
  void dress(InodeId ino, uid_t uid, mode_t mode) {
    AttributeChange owner;
    owner.uid = uid;
    owner.gid = uid + 1;
    REQUIRE(fs->setattr(ino, owner, kRoot));
    REQUIRE(fs->setxattr(ino, "user.colour", "colour of " + std::to_string(uid), XattrMode::any, kRoot));
    AttributeChange rest;
    rest.mode = mode;
    rest.mtime_ns = 1'000'000'000'000 + uid;
    rest.atime_ns = 2'000'000'000'000 + uid;
    REQUIRE(fs->setattr(ino, rest, kRoot));
  }

  void fill() {
    outer = make_directory(kRootInode, "outer directory");
    inner = make_directory(outer, "inner");
    make_directory(inner, "empty directory");
    large = make(inner, "large", std::string(100'000, 'l'));
    REQUIRE(fs->write(large, 3'000'000, as_bytes("end"), kRoot));
    dress(large, 7, 04751);
    member = make(inner, "member", std::string(3000, 'm'));
    dress(member, 8, 0600);
    for (int i = 0; i < 20; ++i)
      make(outer, "f" + std::to_string(i), std::string(1000, static_cast<char>('a' + i)));
    make(outer, "empty", "");
    make(kRootInode, "tiny", "in the table");
    REQUIRE(fs->symlink(inner, "link", "../somewhere else", kRoot));
    REQUIRE(fs->mknod(inner, "fifo", S_IFIFO | 0622, 0, kRoot));
    REQUIRE(fs->mknod(inner, "device", S_IFCHR | 0666, 0x103, kRoot));
    const InodeId linked = make(outer, "one name", std::string(2000, 'n'));
    REQUIRE(fs->link(linked, inner, "another name"));
    REQUIRE(fs->link(linked, kRootInode, "a third"));
    const InodeId pipe = fs->mknod(outer, "pipe", S_IFIFO | 0600, 0, kRoot)->ino;
    REQUIRE(fs->link(pipe, inner, "the same pipe"));
    dress(inner, 9, 0711);
    dress(kRootInode, 10, 0755);
    settle();
    // Behind the records' backs:
    REQUIRE(fs->rename(outer, "f1", inner, "renamed", RenameMode::replace, kRoot));
    REQUIRE(fs->unlink(outer, "f2"));
    dress(fs->lookup(outer, "f3")->ino, 11, 0444);
    make(inner, "not settled yet", "waits");
    dress(inner, 9, 0711);
    dress(outer, 12, 0700);
  }
  void settle() {
    tick();
    REQUIRE(Reorganiser(*fs).consolidate_now());
    tick();
  }
  void catalogue() {
    tick();
    REQUIRE(fs->sync());
    REQUIRE(write_catalogue(*fs, [] { return true; }));
    tick();
  }
  Lines lines() { return TreeLines::of(*fs); }

  SalvageReport salvage() {
    REQUIRE(fs->close());
    fs.reset();
    lose_the_table(store);
    back = open(fresh);
    auto report = Salvage(store, *back, [](const std::string&) {}).run();
    REQUIRE(report);
    CHECK(*find_inconsistencies(*back) == Lines{});
    return *report;
  }
  bool has(const Lines& lines, const std::string& path) {
    return std::any_of(lines.begin(), lines.end(),
                       [&](const std::string& line) { return line.starts_with(path + " "); });
  }
  std::string content(const std::string& path) {
    InodeId at = kRootInode;
    for (std::size_t from = 0; from < path.size();) {
      const std::size_t end = std::min(path.find('/', from), path.size());
      const auto next = back->lookup(at, path.substr(from, end - from));
      INFO(path);
      REQUIRE(next);
      at = next->ino;
      from = end + 1;
    }
    std::string bytes(back->getattr(at)->size, '\0');
    REQUIRE(back->read(at, 0, as_writable_bytes(bytes)));
    return bytes;
  }
};

Lines without(Lines lines, const std::string& part) {
  std::erase_if(lines, [&](const std::string& line) { return line.find(part) != std::string::npos; });
  return lines;
}

}  // namespace

TEST_CASE("with a fresh catalogue the whole tree is back, and what had been removed is apart") {
  LostNames lost;
  lost.catalogue();
  const Lines before = lost.lines();
  const SalvageReport report = lost.salvage();
  CHECK(report.lost == Lines{});
  CHECK(report.uncertain == Lines{});
  CHECK(report.names_ns);
  CHECK(report.older == 0);
  CHECK(report.removed == 1);
  CHECK(lost.content("#removed/f2") == std::string(1000, 'c'));
  REQUIRE(lost.back->unlink(lost.back->lookup(kRootInode, "#removed")->ino, "f2"));
  REQUIRE(lost.back->rmdir(kRootInode, "#removed"));
  AttributeChange times;  // which the directory #removed has moved
  times.mtime_ns = 1'000'000'000'010;
  times.atime_ns = 2'000'000'000'010;
  REQUIRE(lost.back->setattr(kRootInode, times, kRoot));
  CHECK(TreeLines::of(*lost.back) == before);
}

TEST_CASE("what came after the catalogue goes where it can") {
  LostNames lost;
  lost.catalogue();
  lost.write(lost.member, std::string(3000, 'M'));              // a record tells
  lost.make(lost.inner, "new member", std::string(1500, 'N'));  // in a directory that is known
  const InodeId later = lost.make_directory(lost.outer, "later");
  lost.make(later, "lost place", std::string(1500, 'p'));
  const InodeId blob = lost.make(lost.outer, "new blob", std::string(50'000, 'B'));
  REQUIRE(lost.fs->rename(lost.outer, "f4", lost.inner, "moved", RenameMode::replace, kRoot));
  REQUIRE(lost.fs->unlink(lost.outer, "f5"));  // nobody tells
  lost.write(lost.large, std::string(200'000, 'L'));
  const InodeId grown = lost.fs->lookup(lost.outer, "f6")->ino;
  lost.write(grown, std::string(40'000, 'G'));
  lost.settle();
  const SalvageReport report = lost.salvage();
  const Lines after = TreeLines::of(*lost.back);
  CHECK(report.lost == Lines{});
  CHECK(lost.content("outer directory/inner/member") == std::string(3000, 'M'));
  CHECK(lost.content("outer directory/inner/new member") == std::string(1500, 'N'));
  CHECK(lost.content("#" + std::to_string(later.value) + "/lost place") == std::string(1500, 'p'));
  CHECK(lost.content("#blobs/" + std::to_string(blob.value)) == std::string(50'000, 'B'));
  CHECK(lost.has(after, "/outer directory/f4"));
  CHECK(lost.has(after, "/outer directory/f5"));
  CHECK(lost.content("outer directory/inner/large").substr(0, 200'000) == std::string(200'000, 'L'));
  CHECK(lost.content("outer directory/f6") == std::string(40'000, 'G'));
  CHECK(lost.content("outer directory/f6#" + std::to_string(grown.value)) == std::string(1000, 'g'));
  CHECK(report.uncertain.size() ==
        4);  // the directory, the blob; the one that has grown twice: its size, and its former content
}

TEST_CASE("a file that had no name before the catalogue, and got one behind it, had not been removed") {
  LostNames lost;
  const auto file = lost.fs->make_unnamed(lost.outer, S_IFREG | 0640, kRoot);
  REQUIRE(file);
  REQUIRE(lost.fs->write(file->ino, 0, as_bytes(std::string(1500, 't')), kRoot));
  lost.catalogue();
  REQUIRE(lost.fs->link(file->ino, lost.outer, "named later"));
  lost.fs->forget(file->ino, 1);
  lost.settle();
  CHECK(lost.salvage().removed == 1);  // f2 alone
  CHECK(lost.content("outer directory/named later") == std::string(1500, 't'));
}

TEST_CASE("what the catalogue names and no object has is told") {
  LostNames lost;
  const InodeId cut = lost.make(lost.inner, "cut", std::string(40'000, 'x'));
  const InodeId gone = lost.make(lost.inner, "gone", std::string(40'000, 'x'));
  const InodeId rotten = lost.make(lost.inner, "rotten", std::string(9000, 'r'));
  lost.settle();
  lost.catalogue();
  const auto row = lost.fs->rehousing().find({lost.inner, "rotten"}, rotten);
  const Extent extent = (*row)->inode.extent;
  REQUIRE((*lost.store.open(BlobStore::object_name(cut)))->truncate(20'000));
  REQUIRE(lost.store.remove(BlobStore::object_name(gone)));
  flip_bit(lost.store, CompositeStore::object_name(extent.composite), extent.offset + 5);
  const SalvageReport report = lost.salvage();
  const auto sentence = [&](InodeId ino, const std::string& name, const std::string& what) {
    return "inode " + std::to_string(ino.value) + " '" + name + "' of directory " +
           std::to_string(lost.inner.value) + ": " + what;
  };
  Lines told = report.lost;  // in the order of hashes
  std::sort(told.begin(), told.end());
  CHECK(told == Lines{sentence(gone, "gone", "its blob is missing"),
                      sentence(rotten, "rotten", "no record of it has its data")});
  CHECK(report.uncertain ==
        Lines{BlobStore::object_name(cut) + " has 20000 bytes; the catalogue said 40000"});
  CHECK(lost.content("outer directory/inner/cut") == std::string(20'000, 'x'));
}

TEST_CASE(
    "a member whose record is damaged is back where the catalogue knows its place and its data is whole") {
  LostNames lost;
  const InodeId rotten = lost.make(lost.inner, "rotten", std::string(9000, 'r'));
  lost.settle();
  lost.catalogue();
  const Lines before = lost.lines();
  const Extent extent = (*lost.fs->rehousing().find({lost.inner, "rotten"}, rotten))->inode.extent;
  flip_bit(lost.store, CompositeStore::object_name(extent.composite), extent.offset - 2);
  const SalvageReport report = lost.salvage();
  for (const std::string& sentence : report.lost) {
    INFO(sentence);
    CHECK(sentence.find("inode") == std::string::npos);
  }
  CHECK(lost.content("outer directory/inner/rotten") == std::string(9000, 'r'));
  CHECK(without(TreeLines::of(*lost.back), "#removed").size() == before.size());
}

TEST_CASE("without a catalogue, or with one that is all damage, it is as it was") {
  LostNames lost;
  const bool damaged = GENERATE(false, true);
  lost.catalogue();
  if (damaged) {
    const std::string bytes = bytes_of(lost.store, kCatalogueObject);
    replace(lost.store, kCatalogueObject, std::string(bytes.size(), 'x'));
  } else {
    REQUIRE(lost.store.remove(kCatalogueObject));
  }
  const SalvageReport report = lost.salvage();
  CHECK(report.lost.size() == (damaged ? 1 : 0));
  CHECK(report.removed == 0);
  const std::string inner = "#" + std::to_string(lost.inner.value);
  CHECK(lost.content(inner + "/member") == std::string(3000, 'm'));
  CHECK(lost.content("#blobs/" + std::to_string(lost.large.value)).size() == 3'000'003);
  CHECK(lost.content("#" + std::to_string(lost.outer.value) + "/f2") == std::string(1000, 'c'));
}

TEST_CASE("a catalogue with damage gives the names that it has left") {
  LostNames lost;
  for (int i = 0; i < 2000; ++i) lost.make(lost.outer, "empty file number " + std::to_string(i), "");
  lost.catalogue();
  const Lines before = lost.lines();
  flip_bit(lost.store, kCatalogueObject, 70'000);  // the second chunk
  const SalvageReport report = lost.salvage();
  CHECK(report.lost.size() >= 1);
  CHECK(report.lost.front().find("object catalogue: bytes ") == 0);
  CHECK(report.removed == 0);  // who knows
  const Lines after = TreeLines::of(*lost.back);
  const std::size_t had = before.size() - without(before, "empty file").size();
  const std::size_t has = after.size() - without(after, "empty file").size();
  CHECK(has > had / 3);
  CHECK(has < had);
}

TEST_CASE("directories in a circle, below a file or below nothing, and names that are there twice") {
  LostNames lost;
  const auto object = *lost.store.create(kCatalogueObject, ObjectStore::Create::truncate);
  CatalogueWriter writer(*object, {1, 2, 0});
  const auto add = [&](std::uint64_t parent, const std::string& name, std::uint64_t ino, mode_t mode) {
    Inode inode;
    inode.ino = InodeId{ino};
    inode.mode = mode;
    REQUIRE(writer.add_row(InodeId{parent}, encode_single_row(name, inode)));
  };
  add(5001, "a", 5000, S_IFDIR | 0755);
  add(5000, "b", 5001, S_IFDIR | 0755);
  add(5002, "itself", 5002, S_IFDIR | 0755);
  add(5004, "below a file", 5003, S_IFDIR | 0755);
  add(0, "file", 5004, S_IFREG | 0644);
  add(0, "file", 5005, S_IFREG | 0644);
  add(0, "file", 5006, S_IFIFO | 0644);
  add(0, "#5000", 5007, S_IFREG | 0644);
  add(6000, std::string(255, 'n'), 5008, S_IFDIR | 0755);
  add(6000, std::string(255, 'n'), 5009, S_IFDIR | 0755);
  for (std::uint64_t i = 7000; i < 9000; ++i) add(i + 1, "deep", i, S_IFDIR | 0755);
  REQUIRE(writer.finish());
  const SalvageReport report = lost.salvage();
  const Lines after = TreeLines::of(*lost.back);
  for (const char* path : {"/file", "/file#5005", "/file#5006"}) CHECK(lost.has(after, path));
  CHECK(report.uncertain.size() >= 5);
}

}  // namespace cffs::test
