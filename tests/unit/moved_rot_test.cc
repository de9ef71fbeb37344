// What has rotted, or cannot be read, stays where it is: nobody who moves files makes good data of it, and all else moves.
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "core/blob/blob_store.h"
#include "core/composite/composite_store.h"
#include "core/fs/new_file.h"
#include "core/inspect/consistency.h"
#include "core/object/memory_store.h"
#include "core/reorganise/regrouping.h"
#include "core/reorganise/reorganiser.h"
#include "tests/passing_store.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/unit/rot.h"
#include "tests/unit/row_inode.h"

namespace cffs::test {
namespace {

constexpr std::size_t kLarge = 3u << 20;

std::string lines(std::size_t bytes) {
  std::string text;
  for (int i = 0; text.size() < bytes; ++i) text += "line " + std::to_string(i) + "\n";
  text.resize(bytes);
  return text;
}

// Of which the objects that it is told cannot be opened.
struct RefusingStore final : PassingStore {
  using PassingStore::PassingStore;
  std::string refused;
  int reason = EIO;
  int refusals = 0;
  Result<std::shared_ptr<Object>> open(std::string_view name) override {
    if (name != refused) return PassingStore::open(name);
    ++refusals;
    return fail(reason, refused);
  }
};

struct RottingStore {
  explicit RottingStore(const Compression& how) {
    StoreFormat format;
    format.composite_file_max = 4u << 20;
    format.composite_max = 512u << 10;
    format.blob_checksums = true;
    format.compression = how;
    REQUIRE(FileSystem::format(medium, repeatable(format), SystemClock()));
    open();
  }
  void open() {
    if (fs) REQUIRE(fs->close());
    fs.reset();
    FileSystemOptions options = quiet();
    options.log = [this](const std::string& line) { said.push_back(line); };
    fs = std::move(*FileSystem::open(medium, options));
  }
  void make(const std::string& name, const std::string& content) {
    const auto made = fs->mknod(kRootInode, name, S_IFREG | 0644, 0, kRoot);
    REQUIRE(made);
    REQUIRE(fs->write(made->ino, 0, as_bytes(content), kRoot));
    fs->forget(made->ino, 1);
  }
  // nullopt: an error.
  std::optional<std::string> read(const std::string& name, std::uint64_t at, std::size_t bytes) {
    const auto file = fs->lookup(kRootInode, name);
    REQUIRE(file);
    std::string out(bytes, '\0');
    const auto n = fs->read(file->ino, at, as_writable_bytes(out));
    fs->forget(file->ino, 1);
    if (!n) return {};
    out.resize(*n);
    return out;
  }
  std::string blob(const std::string& name) { return BlobStore::object_name(row_inode(*fs, name).ino); }

  MemoryStore objects;
  RefusingStore medium{objects};
  std::vector<std::string> said;
  std::unique_ptr<FileSystem> fs;
};

}  // namespace

TEST_CASE("a file with checksums that has rotted does not get another one where it would go") {
  RottingStore s({Codec::zstd, 3});
  const std::string text = lines(kLarge);
  s.make("large", text);
  REQUIRE(Reorganiser(*s.fs).consolidate_now());
  REQUIRE(row_inode(*s.fs, "large").sealed);
  const std::string blob = s.blob("large");
  flip_bit(s.objects, blob, 2'000'000);
  s.open();
  const auto regroup_all = [&] {
    {
      Reorganiser reorganiser(*s.fs);
      REQUIRE(regroup(reorganiser, *s.fs->policy(), {}));
    }
    s.open();
  };
  regroup_all();
  CHECK(row_inode(*s.fs, "large").home == Home::blob);
  CHECK_FALSE(s.read("large", 2'000'000, 10));
  CHECK(find_inconsistencies(*s.fs)->size() == 1);
  flip_bit(s.objects, blob, 2'000'000);
  s.open();
  regroup_all();
  CHECK(row_inode(*s.fs, "large").home == Home::composite);
  CHECK(s.read("large", 0, kLarge) == text);
}

// Parts of it are checked by their frames alone, and those would be of what has rotted.
TEST_CASE("a composite with a large member that has rotted is not packed") {
  RottingStore s(Compression{});
  const std::string text = lines(kLarge);
  std::vector<NewFile> files(1);
  files[0].parent = kRootInode;
  files[0].name = "large";
  files[0].inode.mode = S_IFREG | 0644;
  files[0].inode.nlink = 1;
  files[0].content = text;
  REQUIRE(s.fs->load({std::move(files)}));
  const Extent extent = row_inode(*s.fs, "large").extent;
  const std::string object = CompositeStore::object_name(extent.composite);
  const bool is_gone = GENERATE(false, true);
  flip_bit(s.objects, object, extent.offset + 1'000'000);
  if (is_gone) {
    s.make("small", lines(5000));
    REQUIRE(Reorganiser(*s.fs).compact_now());
    REQUIRE(s.fs->unlink(kRootInode, "large"));
  }
  s.open();
  Reorganiser reorganiser(*s.fs);
  RegroupOptions options;
  options.compression = Compression{Codec::zstd, 3};
  REQUIRE(change_storage(reorganiser, options));
  if (is_gone) return;
  for (std::uint64_t at = 0; at < kLarge; at += 64 << 10) {
    INFO(at);
    const auto part = s.read("large", at, 4096);
    CHECK((!part || *part == text.substr(at, 4096)));
  }
  CHECK(find_inconsistencies(*s.fs)->size() == 1);
}

TEST_CASE("a file that cannot be read keeps no other from moving") {
  RottingStore s(Compression{});
  for (int i = 0; i < 12; ++i) s.make("f" + std::to_string(i), lines(200'000));
  REQUIRE(s.fs->sync());
  s.medium.refused = s.blob("f5");
  s.medium.reason = GENERATE(EIO, EUCLEAN, EBADMSG, ENODATA);
  s.open();
  REQUIRE(Reorganiser(*s.fs).compact_now());
  for (int i = 0; i < 12; ++i) {
    const std::string name = "f" + std::to_string(i);
    INFO(name);
    CHECK(row_inode(*s.fs, name).home == (i == 5 ? Home::blob : Home::composite));
    if (i != 5) CHECK(s.read(name, 0, 300'000) == lines(200'000));
  }
  s.medium.refused.clear();
  CHECK(s.read("f5", 0, 300'000) == lines(200'000));
}

TEST_CASE(
    "a composite that cannot be read is compacted no more than once, and keeps no other from being packed") {
  RottingStore s(Compression{});
  for (int i = 0; i < 8; ++i) s.make("f" + std::to_string(i), lines(300'000));
  REQUIRE(Reorganiser(*s.fs).compact_now());
  const std::string object = CompositeStore::object_name(row_inode(*s.fs, "f0").extent.composite);
  SECTION("by compaction") {
    for (int i = 1; i < 8; ++i) REQUIRE(s.fs->unlink(kRootInode, "f" + std::to_string(i)));
    REQUIRE(s.fs->sync());
    s.open();
    s.medium.refused = object;
    Reorganiser reorganiser(*s.fs);
    (void)reorganiser.compact_now();
    s.said.clear();
    s.medium.refusals = 0;
    reorganiser.compact_noted();
    CHECK(s.medium.refusals == 0);
    CHECK(s.said.empty());
  }
  SECTION("by packing") {
    for (int i = 0; i < 40; ++i) s.make("g" + std::to_string(i), lines(300'000));
    REQUIRE(Reorganiser(*s.fs).compact_now());
    s.open();
    REQUIRE(s.objects.list("composites")->size() > 1);
    REQUIRE(s.objects.remove(object));
    {
      Reorganiser reorganiser(*s.fs);
      RegroupOptions options;
      options.compression = Compression{Codec::zstd, 3};
      REQUIRE(change_storage(reorganiser, options));
    }
    s.open();
    CHECK(s.read("g39", 0, 400'000) == lines(300'000));
  }
}

}  // namespace cffs::test
