// A store without its table: what composites and blobs tell comes back, the newest that is whole, and what does not is named.
#include "core/repair/salvage.h"

#include <catch2/catch.hpp>

#include "core/composite/composite_store.h"
#include "core/inspect/consistency.h"
#include "core/object/faulty_store.h"
#include "core/object/memory_store.h"
#include "core/object/posix_store.h"
#include "core/reorganise/cataloguing.h"
#include "core/reorganise/reorganiser.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/unit/object_bytes.h"
#include "tests/unit/rot.h"
#include "tests/unit/temporary_directory.h"

namespace cffs::test {
namespace {

struct Lost {
  MemoryStore store, fresh;
  std::unique_ptr<FileSystem> fs;
  InodeId directory;

  Lost() {
    StoreFormat format;
    format.inline_max = 512;
    format.composite_file_max = 16384;
    format.composite_max = 65536;
    REQUIRE(FileSystem::format(store, format, SystemClock()));
    REQUIRE(FileSystem::format(fresh, format, SystemClock()));
    fs = std::move(*FileSystem::open(store, quiet()));
    directory = fs->mkdir(kRootInode, "directory", 0755, kRoot)->ino;
  }
  InodeId make(InodeId in, const std::string& name, const std::string& content) {
    auto file = fs->lookup(in, name);
    if (!file) file = fs->mknod(in, name, S_IFREG | 0640, 0, kRoot);
    REQUIRE(fs->write(file->ino, 0, as_bytes(content), kRoot));
    return file->ino;
  }
  void settle() { REQUIRE(Reorganiser(*fs).consolidate_now()); }
  Extent extent(InodeId in, const std::string& name) {
    const auto file = fs->rehousing().find({in, name}, fs->lookup(in, name)->ino);
    return (*file)->inode.extent;
  }

  // The table goes; what comes back, in a file system of its own.
  std::unique_ptr<FileSystem> back;
  SalvageReport salvage() {
    REQUIRE(fs->close());
    fs.reset();
    lose_the_table(store);
    back = std::move(*FileSystem::open(fresh, quiet()));
    auto report = Salvage(store, *back, [](const std::string&) {}).run();
    REQUIRE(report);
    REQUIRE(find_inconsistencies(*back)->empty());
    return *report;
  }
  std::string content(const std::string& in, const std::string& name) {
    const InodeId parent = in.empty() ? kRootInode : back->lookup(kRootInode, in)->ino;
    const auto file = back->lookup(parent, name);
    REQUIRE(file);
    std::string bytes(file->size, '\0');
    REQUIRE(back->read(file->ino, 0, as_writable_bytes(bytes)));
    return bytes;
  }
  std::string number(InodeId ino) const { return "#" + std::to_string(ino.value); }
};

}  // namespace

TEST_CASE("names, attributes and data of members come back, and the data of large files") {
  Lost lost;
  lost.make(kRootInode, "top", std::string(5000, 't'));
  const InodeId below = lost.make(lost.directory, "below", std::string(3000, 'b'));
  AttributeChange change;
  change.uid = 12;
  change.gid = 34;
  REQUIRE(lost.fs->setattr(below, change, kRoot));
  AttributeChange times;
  times.mode = 04751;
  times.mtime_ns = 1'000'000'000'000;
  REQUIRE(lost.fs->setattr(below, times, kRoot));
  REQUIRE(lost.fs->setxattr(below, "user.colour", "blue", XattrMode::any, kRoot));
  const InodeId large = lost.make(kRootInode, "large", std::string(100'000, 'l'));
  REQUIRE(lost.fs->write(large, 5'000'000, as_bytes("end"), kRoot));
  lost.settle();
  lost.make(kRootInode, "inline", "in the table");
  const SalvageReport report = lost.salvage();
  CHECK(report.lost.empty());
  CHECK(report.files == 3);
  CHECK(lost.content("", "top") == std::string(5000, 't'));
  const std::string directory = lost.number(lost.directory);
  CHECK(lost.content(directory, "below") == std::string(3000, 'b'));
  const auto file = lost.back->lookup(lost.back->lookup(kRootInode, directory)->ino, "below");
  CHECK(file->mode == (S_IFREG | 04751));
  CHECK(file->uid == 12);
  CHECK(file->gid == 34);
  CHECK(file->mtime_ns == 1'000'000'000'000);
  CHECK(*lost.back->getxattr(file->ino, "user.colour") == "blue");
  const std::string blob = lost.content("#blobs", std::to_string(large.value));
  CHECK(blob.size() == 5'000'003);
  CHECK(blob.substr(0, 100'000) == std::string(100'000, 'l'));
  CHECK(blob.substr(5'000'000) == "end");
}

TEST_CASE("a large file that ends with a hole comes back as long as it was") {
  const TemporaryDirectory place;
  const auto store = std::move(*PosixStore::open_directory(place.path));
  REQUIRE(FileSystem::format(*store, repeatable(), SystemClock()));
  InodeId large;
  {
    const auto fs = std::move(*FileSystem::open(*store, quiet()));
    large = fs->mknod(kRootInode, "large", S_IFREG | 0640, 0, kRoot)->ino;
    REQUIRE(fs->write(large, 0, as_bytes(std::string(100'000, 'l')), kRoot));
    AttributeChange longer;
    longer.size = 9'000'000;
    REQUIRE(fs->setattr(large, longer, kRoot));
    REQUIRE(fs->close());
  }
  lose_the_table(*store);
  MemoryStore fresh;
  REQUIRE(FileSystem::format(fresh, repeatable(), SystemClock()));
  const auto back = std::move(*FileSystem::open(fresh, quiet()));
  REQUIRE(Salvage(*store, *back, [](const std::string&) {}).run());
  const auto file = back->lookup(back->lookup(kRootInode, "#blobs")->ino, std::to_string(large.value));
  REQUIRE(file);
  CHECK(file->size == 9'000'000);
}

TEST_CASE("the newest whole record of a file counts") {
  Lost lost;
  lost.make(kRootInode, "file", std::string(5000, '1'));
  lost.make(kRootInode, "other", std::string(5000, 'o'));
  lost.settle();
  lost.make(kRootInode, "file", std::string(5000, '2'));
  lost.settle();
  const Extent extent = lost.extent(kRootInode, "file");
  SECTION("the last one") {
    lost.salvage();
    CHECK(lost.content("", "file") == std::string(5000, '2'));
  }
  SECTION("or the one before, where its data is damaged") {
    flip_bit(lost.store, CompositeStore::object_name(extent.composite), extent.offset + 10);
    const SalvageReport report = lost.salvage();
    CHECK(report.older == 1);
    CHECK(lost.content("", "file") == std::string(5000, '1'));
  }
  SECTION("or its record") {
    flip_bit(lost.store, CompositeStore::object_name(extent.composite), extent.offset - 20);
    const SalvageReport report = lost.salvage();
    CHECK(report.lost.size() == 1);
    CHECK(lost.content("", "file") == std::string(5000, '1'));
  }
}

TEST_CASE("damage costs what it hit: records behind it are found again") {
  Lost lost;
  for (int i = 0; i < 10; ++i)
    lost.make(kRootInode, "file" + std::to_string(i), std::string(3000, static_cast<char>('a' + i)));
  lost.settle();
  const Extent extent = lost.extent(kRootInode, "file4");
  const std::string object = CompositeStore::object_name(extent.composite);
  SECTION("a header of a record") { flip_bit(lost.store, object, extent.offset - 60); }
  SECTION("its data") { flip_bit(lost.store, object, extent.offset); }
  const SalvageReport report = lost.salvage();
  CHECK(report.lost.size() == 1);
  CHECK(report.files == 9);
  CHECK(lost.content("", "file5") == std::string(3000, 'f'));
  CHECK(lost.content("", "file9") == std::string(3000, 'j'));
  CHECK_FALSE(lost.back->lookup(kRootInode, "file4"));
}

TEST_CASE("two files that had one name both come back") {
  Lost lost;
  lost.make(kRootInode, "name", std::string(3000, '1'));
  lost.settle();
  REQUIRE(lost.fs->rename(kRootInode, "name", kRootInode, "moved", RenameMode::replace, kRoot));
  const InodeId second = lost.make(kRootInode, "name", std::string(3000, '2'));
  lost.settle();
  const SalvageReport report = lost.salvage();
  CHECK(report.files == 2);
  CHECK(lost.content("", "name") == std::string(3000, '1'));
  CHECK(lost.content("", "name" + lost.number(second)) == std::string(3000, '2'));
}

// What cannot be read for want of a descriptor is no loss: who asks again has it.
TEST_CASE("a salvage that is short of a descriptor says so, and calls nothing lost") {
  Lost lost;
  for (int i = 0; i < 5; ++i) lost.make(lost.directory, "file" + std::to_string(i), std::string(3000, 'f'));
  lost.make(kRootInode, "large", std::string(100'000, 'l'));
  lost.settle();
  REQUIRE(write_catalogue(*lost.fs, [] { return true; }));
  const SalvageReport report = lost.salvage();
  REQUIRE(report.lost.empty());
  std::uint64_t n = 1;
  for (bool over = false; !over; ++n) {
    INFO("operation " << n);
    FaultyStore from(copy_of(lost.store));
    from.count_reads(true);
    from.fail_operation(n, EMFILE, FaultyStore::Persistence::once);
    MemoryStore fresh;
    REQUIRE(FileSystem::format(fresh, StoreFormat(), SystemClock()));
    const auto back = std::move(*FileSystem::open(fresh, quiet()));
    const auto again = Salvage(from, *back, [](const std::string&) {}).run();
    over = from.operations() < n;
    if (!again) CHECK(again.error().errno_value == EMFILE);
    if (again) CHECK(again->lost.empty());
    if (again) CHECK(again->files == report.files);
  }
  REQUIRE(n > 20);
}

}  // namespace cffs::test
