// Sealed blobs: quiet large files have checksums, every change voids them first, and what differs from them is not handed out.
#include "core/reorganise/sealing.h"

#include <catch2/catch.hpp>
#include <random>

#include "core/inspect/consistency.h"
#include "core/inspect/scrub.h"
#include "core/inspect/statistics.h"
#include "core/object/faulty_store.h"
#include "core/reorganise/reorganiser.h"
#include "core/repair/repair.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/unit/object_bytes.h"
#include "tests/unit/rot.h"

namespace cffs::test {
namespace {

StoreFormat small_members(bool checksums = true) {
  StoreFormat format;
  format.inline_max = 512;
  format.composite_file_max = 16384;
  format.composite_max = 65536;
  format.blob_checksums = checksums;
  return format;
}

std::string noise(std::size_t bytes, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::string content(bytes, '\0');
  for (char& c : content) c = static_cast<char>(random());
  return content;
}

// Whichever store lies below, one with a large file in it.
struct Sealed {
  ObjectStore& store;
  std::unique_ptr<FileSystem> fs;
  InodeId file;
  std::string content;

  explicit Sealed(ObjectStore& below, const StoreFormat& format = small_members(),
                  std::size_t bytes = 3'000'001)
      : store(below), content(noise(bytes)) {
    REQUIRE(FileSystem::format(store, repeatable(format), SystemClock()));
    open();
    file = fs->mknod(kRootInode, "large", S_IFREG | 0644, 0, kRoot)->ino;
    REQUIRE(fs->write(file, 0, as_bytes(content), kRoot));
    seal();
  }
  void open() {
    fs.reset();
    auto opened = FileSystem::open(store, quiet());
    REQUIRE(opened);
    fs = std::move(*opened);
    if (const auto found = fs->lookup(kRootInode, "large")) file = found->ino;
  }
  void seal() { REQUIRE(Reorganiser(*fs).consolidate_now()); }
  std::uint64_t sealed() const { return collect_statistics(*fs)->sealed_blobs; }
  std::uint64_t sum_rows() const {
    std::uint64_t rows = 0;
    REQUIRE(fs->table().scan_tag(KeyTag::block_sums, [&](Key, std::string_view) { return ++rows > 0; }));
    return rows;
  }
  std::string blob() const { return BlobStore::object_name(file); }
  Result<std::string> read(std::uint64_t offset, std::size_t bytes) const {
    std::string out(bytes, '\0');
    CFFS_TRY(const std::size_t n, fs->read(file, offset, as_writable_bytes(out)));
    out.resize(n);
    return out;
  }
  // In every way a file can be read: whole, in pieces that begin and end anywhere, byte by byte around block borders.
  void check_content() const {
    REQUIRE(*read(0, content.size() + 10) == content);
    std::mt19937_64 random(7);
    for (int i = 0; i < 100; ++i) {
      const std::size_t at = random() % (content.size() + 1);
      const std::size_t bytes = random() % 20'000;
      REQUIRE(*read(at, bytes) == content.substr(at, bytes));
    }
  }
  std::vector<std::string> findings() const { return *find_inconsistencies(*fs); }
};

}  // namespace

TEST_CASE("a quiet large file is sealed, and reads as it did") {
  MemoryStore store;
  Sealed sealed(store);
  CHECK(sealed.sealed() == 1);
  CHECK(sealed.sum_rows() == 3);
  sealed.check_content();
  CHECK(sealed.findings().empty());
  sealed.open();
  CHECK(sealed.sealed() == 1);
  sealed.check_content();
}

TEST_CASE("a store formatted without blob checksums makes none") {
  MemoryStore store;
  Sealed plain(store, small_members(false));
  CHECK(plain.sealed() == 0);
  CHECK(plain.sum_rows() == 0);
  flip_bit(store, plain.blob(), 77);
  CHECK(plain.read(0, 100));
}

TEST_CASE("a flipped bit in a sealed blob is EIO for its block alone, and a finding") {
  MemoryStore store;
  Sealed sealed(store);
  const std::uint64_t at = GENERATE(0, 4095, 4096, 1'048'576, 1'048'575, 2'999'000, 3'000'000);
  flip_bit(store, sealed.blob(), at);
  const std::uint64_t block = at / 4096 * 4096;
  CHECK(sealed.read(at, 1).error().errno_value == EIO);
  CHECK(sealed.read(block, 1).error().errno_value == EIO);
  if (block > 0) CHECK(*sealed.read(block - 100, 100) == sealed.content.substr(block - 100, 100));
  if (block + 4096 < sealed.content.size())
    CHECK(*sealed.read(block + 4096, 50) == sealed.content.substr(block + 4096, 50));
  const auto found = sealed.findings();
  REQUIRE(found.size() == 1);
  CHECK(found[0].find("'large': the blob of inode ") != std::string::npos);
  CHECK(found[0].find("in bytes " + std::to_string(block) + " to ") != std::string::npos);
}

TEST_CASE("any change voids the sums, and quiet makes them anew") {
  MemoryStore store;
  Sealed sealed(store);
  std::string& content = sealed.content;
  FileSystem& fs = *sealed.fs;
  SECTION("a write inside") {
    REQUIRE(fs.write(sealed.file, 5000, as_bytes("changed"), kRoot));
    content.replace(5000, 7, "changed");
  }
  SECTION("a write at the end") {
    REQUIRE(fs.write(sealed.file, content.size(), as_bytes("more"), kRoot));
    content += "more";
  }
  SECTION("a write beyond the end") {
    REQUIRE(fs.write(sealed.file, content.size() + 5'000'000, as_bytes("far"), kRoot));
    content.append(5'000'000, '\0');
    content += "far";
  }
  SECTION("a truncate that shortens") {
    AttributeChange change;
    change.size = 1'500'000;
    REQUIRE(fs.setattr(sealed.file, change, kRoot));
    content.resize(1'500'000);
  }
  SECTION("a truncate that extends") {
    AttributeChange change;
    change.size = 9'000'000;
    REQUIRE(fs.setattr(sealed.file, change, kRoot));
    content.resize(9'000'000);
  }
  SECTION("a punched hole") {
    REQUIRE(fs.allocate(sealed.file, 4096, 1'000'000, AllocateMode::punch_hole, true, kRoot));
    std::fill_n(content.begin() + 4096, 1'000'000, '\0');
  }
  SECTION("a zeroed range") {
    REQUIRE(fs.allocate(sealed.file, 100, 10'000, AllocateMode::zero_range, false, kRoot));
    std::fill_n(content.begin() + 100, 10'000, '\0');
  }
  CHECK(sealed.sealed() == 0);
  CHECK(sealed.sum_rows() == 0);
  sealed.check_content();
  sealed.seal();
  CHECK(sealed.sealed() == 1);
  sealed.check_content();
  CHECK(sealed.findings().empty());
}

TEST_CASE("what takes a sealed blob's name, or its home, takes the sums") {
  MemoryStore store;
  Sealed sealed(store);
  SECTION("unlink, with a reader") {
    REQUIRE(sealed.fs->unlink(kRootInode, "large"));
    sealed.check_content();
    sealed.fs->forget(sealed.file, 1);
  }
  SECTION("another file takes its name") {
    REQUIRE(sealed.fs->mknod(kRootInode, "other", S_IFREG | 0644, 0, kRoot));
    REQUIRE(sealed.fs->rename(kRootInode, "other", kRootInode, "large", RenameMode::replace, kRoot));
    sealed.check_content();
  }
  SECTION("it becomes small and a member") {
    AttributeChange change;
    change.size = 9000;
    REQUIRE(sealed.fs->setattr(sealed.file, change, kRoot));
    sealed.seal();
    CHECK(collect_statistics(*sealed.fs)->member_files == 1);
  }
  CHECK(sealed.sealed() == 0);
  CHECK(sealed.sum_rows() == 0);
  REQUIRE(sealed.fs->sync());
  CHECK(sealed.findings().empty());
}

TEST_CASE("a sparse file has sums where it has data, and rot in its holes is seen") {
  MemoryStore store;
  Sealed sealed(store, small_members(), 100'000);
  REQUIRE(sealed.fs->write(sealed.file, 500'000'000, as_bytes("far away"), kRoot));
  sealed.seal();
  CHECK(sealed.sealed() == 1);
  CHECK(sealed.sum_rows() == 2);
  CHECK(*sealed.read(499'999'990, 100) == std::string(10, '\0') + "far away");
  REQUIRE((*store.open(sealed.blob()))->write_at(250'000'000, as_bytes("rot")));
  CHECK(*sealed.read(249'990'000, 100) == std::string(100, '\0'));
  CHECK(sealed.read(250'000'000, 3).error().errno_value == EIO);
}

TEST_CASE("a sealed blob that is short or gone is damage, also after a power cut: nothing lends it a size") {
  MemoryStore store;
  auto sealed = std::make_unique<Sealed>(store);
  const std::string name = sealed->blob();
  // Killed: the store is not closed.
  auto copy = copy_of(store);
  sealed->fs.reset();
  SECTION("short") { REQUIRE((*copy->open(name))->truncate(1'000'000)); }
  SECTION("missing") { REQUIRE(copy->remove(name)); }
  auto opened = FileSystem::open(*copy, quiet());
  REQUIRE(opened);
  const auto found = (*opened)->lookup(kRootInode, "large");
  REQUIRE(found);
  CHECK(found->size == 3'000'001);
  std::string out(10, '\0');
  CHECK((*opened)->read(found->ino, 2'000'000, as_writable_bytes(out)).error().errno_value == EIO);
  CHECK_FALSE(find_inconsistencies(**opened)->empty());
}

TEST_CASE("sums that are lost are said to be, and repair does without them") {
  MemoryStore store;
  Sealed sealed(store);
  Batch batch;
  batch.erase(Key::tagged(KeyTag::block_sums, sealed.file.value, 1));
  REQUIRE(sealed.fs->table().write(batch));
  CHECK(sealed.read(1'048'576, 10).error().errno_value == EIO);
  CHECK_FALSE(sealed.findings().empty());
  REQUIRE(sealed.fs->close());
  sealed.fs.reset();
  const auto mended = repair_store(store, quiet());
  REQUIRE(mended);
  REQUIRE(mended->size() == 1);
  CHECK((*mended)[0].find("had lost checksums") != std::string::npos);
  sealed.open();
  CHECK(sealed.sealed() == 0);
  sealed.check_content();
  CHECK(sealed.findings().empty());
  CHECK(repair_store(store, quiet()).error().errno_value == EBUSY);
}

// Whatever the power cut leaves of overwrites of a sealed blob, with the log or without: no torn write is taken for rot.
TEST_CASE("a torn overwrite is never taken for rot") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    FaultyStore store;
    Sealed sealed(store, small_members(), 60'000);
    REQUIRE(sealed.fs->sync());
    REQUIRE(sealed.sealed() == 1);
    for (std::uint64_t i = random() % 4; i < 4; ++i) {
      const std::uint64_t at = random() % 70'000;
      switch (random() % 4) {
        case 0: {
          AttributeChange change;
          change.size = at;
          REQUIRE(sealed.fs->setattr(sealed.file, change, kRoot));
          break;
        }
        case 1:
          REQUIRE(sealed.fs->allocate(sealed.file, at, 9000, AllocateMode::zero_range, false, kRoot));
          break;
        default:
          REQUIRE(sealed.fs->write(sealed.file, at, as_bytes(noise(random() % 9000 + 1, seed)), kRoot));
      }
      if (random() % 3 == 0) sealed.seal();
    }
    const auto survivor = store.power_cut(seed, [](std::string_view) { return true; });
    auto opened = FileSystem::open(*survivor, quiet());
    REQUIRE(opened);
    const auto found = (*opened)->lookup(kRootInode, "large");
    REQUIRE(found);
    std::string out(found->size, '\0');
    REQUIRE((*opened)->read(found->ino, 0, as_writable_bytes(out)));
    REQUIRE(find_inconsistencies(**opened)->empty());
  }
}

// A power cut may forget that the name went; what is there again is the file that had it, whole.
TEST_CASE("a sealed file whose name went while it was open is not changed before that is durable") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    FaultyStore store;
    Sealed sealed(store, small_members(), 60'000);
    REQUIRE(sealed.fs->sync());
    REQUIRE(sealed.sealed() == 1);
    if (seed % 2 == 0) {
      REQUIRE(sealed.fs->unlink(kRootInode, "large"));
    } else {
      REQUIRE(sealed.fs->mknod(kRootInode, "other", S_IFREG | 0644, 0, kRoot));
      REQUIRE(sealed.fs->rename(kRootInode, "other", kRootInode, "large", RenameMode::replace, kRoot));
    }
    if (seed % 3 == 0) {
      AttributeChange shorter;
      shorter.size = 100;
      REQUIRE(sealed.fs->setattr(sealed.file, shorter, kRoot));
    } else {
      REQUIRE(sealed.fs->write(sealed.file, 1000, as_bytes(noise(50'000, seed)), kRoot));
    }
    const auto survivor = store.power_cut(seed, [](std::string_view) { return true; });
    auto opened = FileSystem::open(*survivor, quiet());
    REQUIRE(opened);
    CHECK(find_inconsistencies(**opened)->empty());
    if (const auto found = (*opened)->lookup(kRootInode, "large"); found && found->size > 0) {
      std::string out(found->size, '\0');
      REQUIRE((*opened)->read(found->ino, 0, as_writable_bytes(out)));
      CHECK(out == sealed.content);
    }
  }
}

TEST_CASE("a sealing that was cut short leaves nothing behind once the store is opened again") {
  MemoryStore store;
  Sealed sealed(store, small_members(), 2'500'000);
  REQUIRE(sealed.fs->write(sealed.file, 0, as_bytes("x"), kRoot));
  BlobSums sums(sealed.fs->table());
  REQUIRE(sums.write(sealed.file, **store.open(sealed.blob()), 2'500'000, [] { return true; }));
  CHECK(sealed.sum_rows() == 3);
  const auto killed = copy_of(store);
  auto opened = FileSystem::open(*killed, quiet());
  REQUIRE(opened);
  std::uint64_t rows = 0;
  REQUIRE((*opened)->table().scan_tag(KeyTag::block_sums, [&](Key, std::string_view) { return ++rows > 0; }));
  CHECK(rows == 0);
  CHECK(find_inconsistencies(**opened)->empty());
}

TEST_CASE("a file that changes while it is sealed is sealed later") {
  MemoryStore store;
  Sealed sealed(store, small_members(), 2'500'000);
  REQUIRE(sealed.fs->write(sealed.file, 0, as_bytes("x"), kRoot));
  sealed.content[0] = 'x';
  const auto file = *sealed.fs->rehousing().find({kRootInode, "large"}, sealed.file);
  int asked = 0;
  const auto done = sealed.fs->rehousing().seal(*file, [&] {
    if (++asked == 2) {
      REQUIRE(sealed.fs->write(sealed.file, 10, as_bytes("y"), kRoot));
      sealed.content[10] = 'y';
    }
    return true;
  });
  REQUIRE(done);
  CHECK_FALSE(*done);
  CHECK(sealed.sum_rows() == 0);
  sealed.check_content();
  sealed.seal();
  CHECK(sealed.sealed() == 1);
  sealed.check_content();
}

// Whoever seals may wait long between its look at the file and its turn: for others who seal, or for a medium that it reads all of
// the file from, as a scrub does.
TEST_CASE("who comes late to seal a file leaves the checksums that it has got meanwhile") {
  MemoryStore store;
  Sealed sealed(store, small_members(), 100'000);
  FileSystem& fs = *sealed.fs;
  const bool referred = GENERATE(true, false);
  const std::string how = GENERATE("stays", "is renamed", "is linked", "changes places");
  CAPTURE(referred, how);
  REQUIRE(fs.write(sealed.file, 0, as_bytes("x"), kRoot));
  sealed.content[0] = 'x';
  const auto late = *fs.rehousing().find({kRootInode, "large"}, sealed.file);
  REQUIRE(late);
  sealed.seal();
  std::string name = "large";
  if (how == "is renamed" || how == "changes places") name = "renamed";
  if (how == "is linked") name = "linked";
  if (how == "is linked") {
    REQUIRE(fs.link(sealed.file, kRootInode, name));
    REQUIRE(fs.unlink(kRootInode, "large"));
    fs.forget(sealed.file, 1);
  } else if (how == "changes places") {
    REQUIRE(fs.mknod(kRootInode, name, S_IFREG | 0644, 0, kRoot));
    REQUIRE(fs.rename(kRootInode, "large", kRootInode, name, RenameMode::exchange, kRoot));
  } else if (name != "large") {
    REQUIRE(fs.rename(kRootInode, "large", kRootInode, name, RenameMode::replace, kRoot));
  }
  if (!referred) fs.forget(sealed.file, 1);
  REQUIRE(fs.rehousing().seal(*late, [] { return true; }));
  if (!referred) REQUIRE(fs.lookup(kRootInode, name));
  CHECK(sealed.sealed() == 1);
  CHECK(sealed.sum_rows() == 1);
  sealed.check_content();
  CHECK(sealed.findings().empty());
}

TEST_CASE("a file that is renamed before it is sealed is sealed by its new name, or later") {
  MemoryStore store;
  Sealed sealed(store, small_members(), 100'000);
  FileSystem& fs = *sealed.fs;
  const bool referred = GENERATE(true, false);
  CAPTURE(referred);
  REQUIRE(fs.write(sealed.file, 0, as_bytes("x"), kRoot));
  sealed.content[0] = 'x';
  const auto late = *fs.rehousing().find({kRootInode, "large"}, sealed.file);
  REQUIRE(fs.rename(kRootInode, "large", kRootInode, "renamed", RenameMode::replace, kRoot));
  if (!referred) fs.forget(sealed.file, 1);
  const auto done = fs.rehousing().seal(*late, [] { return true; });
  REQUIRE(done);
  CHECK(*done == referred);
  CHECK(sealed.sealed() == (referred ? 1 : 0));
  if (!referred) REQUIRE(fs.lookup(kRootInode, "renamed"));
  sealed.seal();
  CHECK(sealed.sealed() == 1);
  CHECK(sealed.sum_rows() == 1);
  sealed.check_content();
  CHECK(sealed.findings().empty());
}

// The third operation on the blob fails, when its bytes are zeros already.
TEST_CASE("a range that was zeroed by a call that failed is known to who seals") {
  FaultyStore store;
  Sealed sealed(store, small_members(), 100'000);
  FileSystem& fs = *sealed.fs;
  REQUIRE(fs.write(sealed.file, 0, as_bytes("x"), kRoot));
  sealed.content[0] = 'x';
  const auto file = *fs.rehousing().find({kRootInode, "large"}, sealed.file);
  int asked = 0;
  const auto done = fs.rehousing().seal(*file, [&] {
    if (++asked == 2) {
      store.fail_operation(3, EIO, FaultyStore::Persistence::once);
      REQUIRE_FALSE(fs.allocate(sealed.file, 0, 10'000, AllocateMode::zero_range, false, kRoot));
      std::fill_n(sealed.content.begin(), 10'000, '\0');
    }
    return true;
  });
  REQUIRE(done);
  CHECK_FALSE(*done);
  sealed.check_content();
  sealed.seal();
  CHECK(sealed.sealed() == 1);
  sealed.check_content();
  CHECK(sealed.findings().empty());
}

TEST_CASE("a reorganiser that ends before it has sealed leaves the rest to the next user") {
  MemoryStore store;
  Sealed sealed(store, small_members(), 100'000);
  REQUIRE(sealed.fs->write(sealed.file, 0, as_bytes("x"), kRoot));
  sealed.content[0] = 'x';
  {
    Sealing sealing(*sealed.fs);
    sealing.note(**sealed.fs->rehousing().find({kRootInode, "large"}, sealed.file));
    REQUIRE(sealing.run(0, [] { return true; }));  // not quiet by then
    CHECK_FALSE(sealing.empty());
    REQUIRE(sealing.leave());
  }
  REQUIRE(sealed.fs->close());
  sealed.open();
  CHECK(sealed.sealed() == 0);
  sealed.seal();
  CHECK(sealed.sealed() == 1);
  sealed.check_content();
}

TEST_CASE(
    "a quiet file is sealed by itself only once it was committed: sealing asks the medium for nothing") {
  FaultyStore store;
  Sealed sealed(store, small_members(), 100'000);
  REQUIRE(sealed.fs->sync());
  REQUIRE(sealed.fs->write(sealed.file, 0, as_bytes("x"), kRoot));
  sealed.content[0] = 'x';
  Sealing sealing(*sealed.fs);
  sealing.note(**sealed.fs->rehousing().find({kRootInode, "large"}, sealed.file));
  const std::int64_t after_the_write = sealed.fs->clock().now_ns() + 1;
  store.fail_sync(1, EIO);
  REQUIRE(sealing.run(after_the_write, [] { return true; }));
  CHECK(store.fail_sync(0, 0));  // none was tried
  CHECK_FALSE(sealing.empty());
  REQUIRE(sealed.fs->sync());
  store.fail_sync(1, EIO);
  REQUIRE(sealing.run(after_the_write, [] { return true; }));
  CHECK(store.fail_sync(0, 0));
  CHECK(sealing.empty());
  CHECK(sealed.sealed() == 1);
  sealed.check_content();
}

TEST_CASE("a full medium costs checksums, not the store") {
  FaultyStore store;
  Sealed sealed(store, small_members(), 100'000);
  REQUIRE(sealed.fs->write(sealed.file, 0, as_bytes("x"), kRoot));
  sealed.content[0] = 'x';
  for (std::uint64_t n = 1; n < 12; ++n) {
    store.fail_operation(n, ENOSPC, FaultyStore::Persistence::once);
    (void)Reorganiser(*sealed.fs).consolidate_now();
    store.fail_operation(0, 0, FaultyStore::Persistence::once);
    // As after any write of the table that fails: until it is opened again.
    if (sealed.fs->table().failed()) sealed.open();
    sealed.check_content();
    const char byte = static_cast<char>('a' + n);
    REQUIRE(sealed.fs->write(sealed.file, 10, as_bytes(std::string(1, byte)), kRoot));
    sealed.content[10] = byte;
  }
  ScrubOptions options;  // finds what an end without close made the reorganiser forget
  options.quiet_ms = -1000;
  REQUIRE(Scrub(*sealed.fs, options).run());
  CHECK(sealed.sealed() == 1);
  sealed.check_content();
  CHECK(sealed.findings().empty());
}

TEST_CASE("a sealed blob that was cut short keeps neither a repair nor who asks for its data busy",
          "[repair]") {
  MemoryStore store;
  auto sealed = std::make_unique<Sealed>(store);
  const std::string name = sealed->blob();
  REQUIRE(sealed->fs->close());
  sealed->fs.reset();
  const auto end = std::uint64_t{GENERATE(0u, 1u, 255'629u, 262'144u, 1'000'000u, 3'000'000u)};
  INFO(end);
  REQUIRE((*store.open(name))->truncate(end));
  REQUIRE(repair_store(store, quiet()));
  sealed->open();
  CHECK_FALSE(find_inconsistencies(*sealed->fs)->empty());
  for (const std::uint64_t at : std::vector<std::uint64_t>{end, end + 1, 2'999'999}) {
    if (at >= 3'000'001) continue;
    const auto data = sealed->fs->next_data(sealed->file, at);
    REQUIRE((!data || *data >= at));
    const auto hole = sealed->fs->next_hole(sealed->file, at);
    REQUIRE((!hole || *hole >= at));
  }
}

}  // namespace cffs::test
