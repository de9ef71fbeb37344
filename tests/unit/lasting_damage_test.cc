// Damage that stays costs what is in it: what reads a store on, or moves its files, goes on past it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "core/fs/recovery.h"
#include "core/inspect/consistency.h"
#include "core/inspect/statistics.h"
#include "core/object/memory_store.h"
#include "core/reorganise/regrouping.h"
#include "core/reorganise/reorganiser.h"
#include "core/repair/repair.h"
#include "core/repair/salvage.h"
#include "core/table/table.h"
#include "grouping/policy.h"
#include "tests/bad_sectors.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/unit/object_bytes.h"
#include "tests/unit/rot.h"
#include "tests/unit/scrubbed.h"

namespace cffs::test {
namespace {

constexpr std::uint64_t kBadBlock = 4096;

StoreFormat lasting_format() {
  StoreFormat format;
  format.inline_max = 512;
  format.composite_file_max = 16384;
  return format;
}

struct LastingDamage {
  MemoryStore store;
  std::unique_ptr<FileSystem> fs;

  explicit LastingDamage(const StoreFormat& format = lasting_format()) {
    REQUIRE(FileSystem::format(store, repeatable(format), SystemClock()));
    open(store);
  }
  void open(ObjectStore& as) {
    fs.reset();
    auto opened = FileSystem::open(as, all_in_rows());
    INFO((opened ? "" : opened.error().message()));
    REQUIRE(opened);
    fs = std::move(*opened);
  }
  InodeId make(InodeId in, const std::string& name, const std::string& content) {
    const auto file = fs->mknod(in, name, S_IFREG | 0640, 0, kRoot);
    REQUIRE(file);
    REQUIRE(fs->write(file->ino, 0, as_bytes(content), kRoot));
    return file->ino;
  }
  InodeId folder(const std::string& name) { return fs->mkdir(kRootInode, name, 0755, kRoot)->ino; }
  Home home(InodeId in, const std::string& name, InodeId ino) {
    const auto file = fs->rehousing().find({in, name}, ino);
    REQUIRE(file);
    REQUIRE(*file);
    return (*file)->inode.home;
  }
  std::string content(InodeId in, const std::string& name) {
    const auto file = fs->lookup(in, name);
    REQUIRE(file);
    std::string bytes(file->size, '\0');
    const auto n = fs->read(file->ino, 0, as_writable_bytes(bytes));
    REQUIRE(n);
    return bytes;
  }
};

// A file in its place that nobody can open.
class ShutObject final : public PassingStore {
 public:
  ShutObject(ObjectStore& below, std::string name) : PassingStore(below), name_(std::move(name)) {}
  Result<std::shared_ptr<Object>> open(std::string_view name) override {
    if (name == name_) return fail(EIO, name_);
    return below_.open(name);
  }

 private:
  const std::string name_;
};

SalvageReport salvage_past_damage(ObjectStore& from, FileSystem& to) {
  auto report = Salvage(from, to, [](const std::string&) {}).run();
  REQUIRE(report);
  return *report;
}

}  // namespace

TEST_CASE("a bad sector costs a salvage the member that lies there, not its composite") {
  LastingDamage damaged;
  constexpr int kFiles = 40;
  for (int i = 0; i < kFiles; ++i)
    damaged.make(kRootInode, "file" + std::to_string(i),
                 std::string(10'000, static_cast<char>('a' + i % 26)));
  REQUIRE(Reorganiser(*damaged.fs).consolidate_now());
  REQUIRE(damaged.fs->close());
  const auto composites = *damaged.store.list("composites");
  REQUIRE(composites.size() == 1);
  lose_the_table(damaged.store);
  BadSectors bad(damaged.store, composites[0], 25 * kBadBlock);
  LastingDamage back;
  const SalvageReport report = salvage_past_damage(bad, *back.fs);
  CHECK(report.files >= kFiles - 2);
}

TEST_CASE("a bad sector costs a salvage 4 KiB of a large file") {
  LastingDamage damaged;
  constexpr std::uint64_t kSpan = 1 << 20;
  std::string content(2 * kSpan + GENERATE(0, 1000), 'x');
  const InodeId ino = damaged.make(kRootInode, "large", content);
  REQUIRE(damaged.fs->close());
  const std::string object = BlobStore::object_name(ino);
  lose_the_table(damaged.store);
  // Where the content goes on behind them, the last bytes are a block that is not whole.
  const std::uint64_t bad_at = content.size() > 2 * kSpan ? 2 * kSpan : 100 * kBadBlock;
  BadSectors bad(damaged.store, object, bad_at + 17);
  LastingDamage back;
  const SalvageReport report = salvage_past_damage(bad, *back.fs);
  REQUIRE(report.lost.size() == 1);
  CHECK(report.lost[0].find("byte " + std::to_string(bad_at) + " ") != std::string::npos);
  const std::size_t zeros = std::min<std::size_t>(kBadBlock, content.size() - bad_at);
  content.replace(bad_at, zeros, zeros, '\0');
  const auto blobs = back.fs->lookup(kRootInode, "#blobs");
  REQUIRE(blobs);
  CHECK(back.content(blobs->ino, std::to_string(ino.value)) == content);
}

TEST_CASE("a salvage says of how many blocks it could not read", "[repair]") {
  LastingDamage damaged;
  const InodeId ino = damaged.make(kRootInode, "large", std::string(1 << 20, 'x'));
  REQUIRE(damaged.fs->close());
  const std::string object = BlobStore::object_name(ino);
  lose_the_table(damaged.store);
  BadSectors bad(damaged.store, object, 10 * kBadBlock);
  for (const std::uint64_t block : {20, 21}) bad.refuse(object, block * kBadBlock + 1);
  LastingDamage back;
  const SalvageReport report = salvage_past_damage(bad, *back.fs);
  REQUIRE(report.lost.size() == 1);
  CHECK(report.lost[0].find("at byte 40960, and in 2 blocks of 4 KiB behind it, cannot be read") !=
        std::string::npos);
}

TEST_CASE("a repair ends where a large file that lost checksums cannot be read") {
  LastingDamage damaged;
  constexpr std::uint64_t kSpan = 1 << 20;
  const InodeId ino = damaged.make(kRootInode, "large", std::string(3 * kSpan, 'x'));
  REQUIRE(Reorganiser(*damaged.fs).consolidate_now());
  REQUIRE(collect_statistics(*damaged.fs)->sealed_blobs == 1);
  Batch batch;
  batch.erase(Key::tagged(KeyTag::block_sums, ino.value, 1));
  REQUIRE(damaged.fs->table().write(batch));
  REQUIRE(damaged.fs->close());
  damaged.fs.reset();
  BadSectors bad(damaged.store, BlobStore::object_name(ino), kSpan + kSpan / 2);
  const auto repaired = repair_store(bad, quiet());
  INFO((repaired ? "" : repaired.error().message()));
  REQUIRE(repaired);
  damaged.open(bad);
  CHECK(collect_statistics(*damaged.fs)->sealed_blobs == 0);
  std::string first(1000, '\0');
  CHECK(*damaged.fs->read(damaged.fs->lookup(kRootInode, "large")->ino, 0, as_writable_bytes(first)) == 1000);
  damaged.fs.reset();
}

TEST_CASE("a store that was not closed opens although one large file of it cannot be opened") {
  LastingDamage damaged;
  const InodeId ino = damaged.make(kRootInode, "shut", std::string(100'000, 's'));
  damaged.make(kRootInode, "large", std::string(100'000, 'l'));
  damaged.make(kRootInode, "small", "small");
  const bool is_sealed = GENERATE(false, true);  // its checksums are still its own then
  if (is_sealed) REQUIRE(Reorganiser(*damaged.fs).consolidate_now());
  REQUIRE(damaged.fs->sync());
  CHECK(collect_statistics(*damaged.fs)->sealed_blobs == (is_sealed ? 2 : 0));
  const auto killed = copy_of(damaged.store);
  ShutObject shut(*killed, BlobStore::object_name(ino));
  damaged.open(shut);
  CHECK(damaged.content(kRootInode, "large") == std::string(100'000, 'l'));
  CHECK(damaged.content(kRootInode, "small") == "small");
  const auto there = damaged.fs->lookup(kRootInode, "shut");
  REQUIRE(there);
  CHECK(there->size == 100'000);
  std::string byte(1, '\0');
  CHECK(!damaged.fs->read(there->ino, 0, as_writable_bytes(byte)));
  REQUIRE(damaged.fs->close());
  damaged.open(*killed);  // whoever mends the medium has it back
  CHECK(damaged.content(kRootInode, "shut") == std::string(100'000, 's'));
  CHECK(collect_statistics(*damaged.fs)->sealed_blobs == (is_sealed ? 2 : 0));
  CHECK(find_inconsistencies(*damaged.fs)->empty());
  damaged.fs.reset();
}

TEST_CASE("a scrub and a check look at what is behind a block of the table that has rotted") {
  LastingDamage damaged;
  const InodeId crowded = damaged.folder("crowded"), last = damaged.folder("last");
  for (int i = 0; i < 3000; ++i) damaged.make(crowded, "a file whose name is long " + std::to_string(i), "");
  const InodeId large = damaged.make(last, "large", std::string(100'000, 'l'));
  const InodeId gone = damaged.make(last, "gone", std::string(100'000, 'g'));
  REQUIRE(Reorganiser(*damaged.fs).consolidate_now());
  REQUIRE(damaged.fs->sync());
  damaged.fs->table().compact();
  REQUIRE(damaged.fs->close());
  damaged.fs.reset();
  flip_in_table(damaged.store, 0.3);
  flip_bit(damaged.store, BlobStore::object_name(large), 50'000);
  REQUIRE(damaged.store.remove(BlobStore::object_name(gone)));
  damaged.open(damaged.store);
  const auto names = [](const std::vector<std::string>& said, InodeId ino) {
    const std::string number = "inode " + std::to_string(ino.value);
    return std::any_of(said.begin(), said.end(), [&](const std::string& sentence) {
      return sentence.find(number) != std::string::npos;
    });
  };
  CHECK(names(scrubbed(*damaged.fs), large));
  const auto found = find_inconsistencies(*damaged.fs);
  REQUIRE(found);
  CHECK(names(*found, large));
  CHECK(std::count(found->begin(), found->end(), "object " + BlobStore::object_name(gone) + " is missing") ==
        1);
}

// LevelDB shows what is below a block that it cannot read, and nobody can look there by key.
TEST_CASE("a scrub goes on past rows that show again since newer ones have rotted") {
  LastingDamage damaged;
  const InodeId moved = damaged.folder("moved"), last = damaged.folder("last");
  for (int i = 0; i < 300; ++i)
    damaged.make(moved, "a file whose name is long " + std::to_string(i), std::string(600, 'm'));
  damaged.fs->table().compact();
  const auto files_of_table = [&] {
    std::vector<std::string> files;
    const auto names = *damaged.store.list("table");
    std::copy_if(names.begin(), names.end(), std::back_inserter(files),
                 [](const std::string& name) { return name.ends_with(".ldb"); });
    return files;
  };
  const auto before = files_of_table();
  const InodeId large = damaged.make(last, "large", std::string(100'000, 'l'));
  REQUIRE(Reorganiser(*damaged.fs).consolidate_now());
  REQUIRE(damaged.fs->sync());
  damaged.fs->table().shorten_log(0);
  REQUIRE(damaged.fs->close());
  damaged.fs.reset();
  const auto after = files_of_table();
  REQUIRE(after.size() == before.size() + 1);
  const auto newest = std::find_if(after.begin(), after.end(), [&](const std::string& name) {
    return std::find(before.begin(), before.end(), name) == before.end();
  });
  REQUIRE(newest != after.end());
  flip_bit(damaged.store, *newest, bytes_of(damaged.store, *newest).size() / 4);
  flip_bit(damaged.store, BlobStore::object_name(large), 50'000);
  const bool is_rotten = GENERATE(false, true);  // members, too, whose files are looked for
  int rotten = 0;
  if (is_rotten) {
    const auto composites = *damaged.store.list("composites");
    REQUIRE(composites.size() == 1);
    const std::string bytes = bytes_of(damaged.store, composites.front());
    const std::string content(600, 'm');
    for (std::size_t at = bytes.find(content); at < bytes.size(); at = bytes.find(content, at + 1)) {
      flip_bit(damaged.store, composites.front(), at + 300);
      ++rotten;
    }
    CHECK(rotten == 300);
  }
  damaged.open(damaged.store);
  const auto said = scrubbed(*damaged.fs);
  const auto names = [&said](const std::string& what) {
    return std::any_of(said.begin(), said.end(),
                       [&](const std::string& sentence) { return sentence.find(what) != std::string::npos; });
  };
  CHECK(names(*newest));
  CHECK(names("inode " + std::to_string(large.value)));
  const auto are_of_members = std::count_if(said.begin(), said.end(), [](const std::string& sentence) {
    return sentence.find("composites/") != std::string::npos;
  });
  CHECK(are_of_members == rotten);  // also where nobody can tell whose they are
}

TEST_CASE("files are grouped although rows beside them have rotted") {
  LastingDamage damaged;
  const InodeId first = damaged.folder("first"), second = damaged.folder("second");
  const InodeId beside = damaged.make(first, "beside", std::string(5000, 'b'));
  const InodeId other = damaged.make(second, "other", std::string(5000, 'o'));
  Batch batch;
  batch.put(Key::entry(first, 5), "no row");
  REQUIRE(damaged.fs->table().write(batch));
  CHECK(Reorganiser(*damaged.fs).consolidate_now());
  CHECK(damaged.home(second, "other", other) == Home::composite);
  CHECK(damaged.home(first, "beside", beside) == Home::composite);
}

TEST_CASE("files are grouped although a block of rows of another directory has rotted") {
  LastingDamage damaged;
  const InodeId crowded = damaged.folder("crowded"), last = damaged.folder("last");
  for (int i = 0; i < 3000; ++i) damaged.make(crowded, "a file whose name is long " + std::to_string(i), "x");
  const InodeId other = damaged.make(last, "other", std::string(5000, 'o'));
  REQUIRE(damaged.fs->sync());
  damaged.fs->table().compact();
  REQUIRE(damaged.fs->close());
  damaged.fs.reset();
  flip_in_table(damaged.store, 0.2);
  damaged.open(damaged.store);
  CHECK(Reorganiser(*damaged.fs).consolidate_now());
  CHECK(damaged.home(last, "other", other) == Home::composite);
}

TEST_CASE("what documents embed is grouped although a block of rows of another directory has rotted") {
  LastingDamage damaged;
  const InodeId crowded = damaged.folder("crowded"), last = damaged.folder("last");
  std::string page = "<img src=other.png>";
  for (int i = 0; i < 2000; ++i) {
    const std::string name = "a picture whose name is long " + std::to_string(i) + ".png";
    damaged.make(crowded, name, "x");
    if (i % 8 == 0) page += "<img src='../crowded/" + name + "'>";  // some of each block
  }
  const InodeId document = damaged.make(last, "page.html", page);
  const InodeId other = damaged.make(last, "other.png", std::string(5000, 'o'));
  damaged.fs->set_policy(grouping::make_policy("reference"));
  REQUIRE(Reorganiser(*damaged.fs).consolidate_now());
  // Where directories lie is asked for the document alone; of the other file's group the members are.
  const bool of_document = GENERATE(false, true);
  const std::string content = of_document ? page : std::string(6000, 'n');
  REQUIRE(damaged.fs->write(of_document ? document : other, 0, as_bytes(content), kRoot));
  REQUIRE(damaged.fs->sync());
  damaged.fs->table().compact();
  REQUIRE(damaged.fs->close());
  damaged.fs.reset();
  flip_in_table(damaged.store, 0.2);
  damaged.open(damaged.store);
  damaged.fs->set_policy(grouping::make_policy("reference"));
  const InodeId changed = of_document ? document : other;
  const std::string name = of_document ? "page.html" : "other.png";
  REQUIRE(damaged.home(last, name, changed) != Home::composite);
  Reorganiser reorganiser(*damaged.fs);
  CHECK(reorganiser.consolidate_now());
  CHECK(damaged.home(last, name, changed) == Home::composite);
  REQUIRE(damaged.fs->lookup(kRootInode, "last"));
  CHECK(damaged.content(last, name) == content);
  REQUIRE(!damaged.fs->table().scan_entries([](Key, const Row&) { return true; }));  // it is still there
}

TEST_CASE("a store is compacted, regrouped and packed although a block of rows has rotted") {
  LastingDamage damaged;
  const InodeId crowded = damaged.folder("crowded"), last = damaged.folder("last");
  for (int i = 0; i < 3000; ++i) damaged.make(crowded, "a file whose name is long " + std::to_string(i), "");
  constexpr int kFiles = 20;
  std::vector<InodeId> files;
  for (int i = 0; i < kFiles; ++i)
    files.push_back(damaged.make(last, std::to_string(i), std::string(5000, 'o')));
  REQUIRE(Reorganiser(*damaged.fs).consolidate_now());
  const auto where = damaged.fs->rehousing().find({last, "0"}, files[0]);
  const CompositeId before = (*where)->inode.extent.composite;
  for (int i = 1; i < kFiles; ++i) REQUIRE(damaged.fs->unlink(last, std::to_string(i)));
  REQUIRE(damaged.fs->sync());
  damaged.fs->table().compact();
  REQUIRE(damaged.fs->close());
  damaged.fs.reset();
  flip_in_table(damaged.store, 0.3);
  damaged.open(damaged.store);
  {
    Reorganiser reorganiser(*damaged.fs);
    CHECK(reorganiser.compact_now());
    const auto now = damaged.fs->rehousing().find({last, "0"}, files[0]);
    REQUIRE(now);
    REQUIRE(*now);
    CHECK((*now)->inode.extent.composite != before);
    RegroupOptions options;
    options.compression = Compression{Codec::zstd, 3};
    CHECK(regroup(reorganiser, *grouping::make_policy("directory"), options));
    CHECK(regroup(reorganiser, *grouping::make_policy("none"), {}));
    CHECK(damaged.home(last, "0", files[0]) != Home::composite);
  }
  REQUIRE(damaged.fs->lookup(kRootInode, "last"));
  CHECK(damaged.content(last, "0") == std::string(5000, 'o'));
  REQUIRE(!damaged.fs->table().scan_entries([](Key, const Row&) { return true; }));
}

}  // namespace cffs::test
