// Members of a packed store that are as large as a file may be there: made of what is worth it, read in parts, never all in memory.
#include "core/composite/large_member.h"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <random>

#include "core/blob/blob_store.h"
#include "core/composite/composite_store.h"
#include "core/fs/file_system.h"
#include "core/fs/new_file.h"
#include "core/fs/rehousing.h"
#include "core/inspect/consistency.h"
#include "core/packed/packer.h"
#include "core/reorganise/regrouping.h"
#include "core/reorganise/reorganiser.h"
#include "core/table/table.h"
#include "core/transfer/directory_import.h"
#include "core/transfer/import_target.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/unit/cold_store.h"
#include "tests/unit/rot.h"
#include "tests/unit/row_inode.h"
#include "tests/unit/scrubbed.h"

namespace cffs::test {
namespace {

std::string lines(std::uint64_t bytes) {
  std::string text;
  text.reserve(bytes + 32);
  for (std::uint64_t i = 0; text.size() < bytes; ++i) text += "line " + std::to_string(i * i) + "\n";
  text.resize(bytes);
  return text;
}

std::string noise(std::uint64_t bytes) {
  std::mt19937_64 random(3);
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

struct LargeStore {
  explicit LargeStore(const Compression& how = {Codec::zstd, 1}) {
    REQUIRE(FileSystem::format(objects, repeatable(usual_format(how)), SystemClock()));
    open();
  }
  void open() {
    if (fs) REQUIRE(fs->close());
    fs.reset();
    fs = std::move(*FileSystem::open(objects, quiet()));
    objects.make_cold();
  }
  void bring(const std::string& name, const std::string& content) {
    NewFile file;
    file.parent = kRootInode;
    file.name = name;
    file.inode.mode = S_IFREG | 0644;
    file.inode.nlink = 1;
    file.content = content;
    REQUIRE(fs->load({{std::move(file)}}));
  }
  Inode inode(const std::string& name) { return row_inode(*fs, name); }
  // nullopt: an error.
  std::optional<std::string> read(const std::string& name, std::uint64_t offset, std::uint64_t bytes) {
    const auto file = fs->lookup(kRootInode, name);
    REQUIRE(file);
    std::string out(bytes, '\0');
    const auto n = fs->read(file->ino, offset, as_writable_bytes(out));
    fs->forget(file->ino, 1);
    if (!n) return {};
    out.resize(*n);
    return out;
  }

  ColdStore objects;
  std::unique_ptr<FileSystem> fs;
};

constexpr std::uint64_t kFrame = 128u << 10;  // more than any has

}  // namespace

TEST_CASE("a part of a large member costs the frames that have it; who goes on is read ahead", "[packed]") {
  LargeStore s;
  const std::string text = lines(40u << 20);
  s.bring("large", text);
  REQUIRE(s.inode("large").home == Home::composite);
  s.open();
  const std::uint64_t middle = text.size() / 2 + 777;
  REQUIRE(s.read("large", middle, 4096) == text.substr(middle, 4096));
  REQUIRE(s.objects.asked <= 3 * kFrame);
  // From there on: what he comes to was fetched before, but never more than the next few MiB.
  std::uint64_t at = middle + 4096, most_ahead = 0;
  for (int i = 0; i < 40; ++i, at += kFrame) {
    REQUIRE(s.read("large", at, kFrame) == text.substr(at, kFrame));
    const std::uint64_t packed_so_far = (at + kFrame - middle) / 3;
    if (s.objects.asked > packed_so_far) most_ahead = std::max(most_ahead, s.objects.asked - packed_so_far);
  }
  REQUIRE(most_ahead > kFrame);
  REQUIRE(most_ahead < (13u << 20));
  const std::uint64_t last = text.size() - 100;
  REQUIRE(s.read("large", last, 4096) == text.substr(last));
}

TEST_CASE("a large member in another's place is not read as its own", "[packed]") {
  LargeStore s;
  const std::string text = lines(9u << 20), other(text.rbegin(), text.rend());
  s.bring("large", text);
  s.bring("other", other);
  const auto object_of = [&](const char* name) {
    return CompositeStore::object_name(s.inode(name).extent.composite);
  };
  const std::string first = object_of("large"), second = object_of("other");
  REQUIRE(first != second);
  REQUIRE(s.objects.rename(first, "aside"));
  REQUIRE(s.objects.rename(second, first));
  REQUIRE(s.objects.rename("aside", second));
  s.open();
  for (const std::uint64_t at : {std::uint64_t{0}, std::uint64_t{5} << 20}) {
    CHECK_FALSE(s.read("large", at, 4096));
    CHECK_FALSE(s.read("other", at, 4096));
  }
}

TEST_CASE("a damaged frame of a large member costs its bytes and no others; the file is named", "[packed]") {
  LargeStore s;
  const std::string text = lines(33u << 20);
  s.bring("large", text);
  const std::string object = CompositeStore::object_name(s.inode("large").extent.composite);
  const std::uint64_t bytes = (*s.objects.open(object))->info()->size;
  REQUIRE(bytes < text.size() / 2);
  flip_bit(s.objects, object, bytes / 2);
  s.open();
  std::uint64_t lost = 0;
  for (std::uint64_t at = 0; at < text.size(); at += 4096) {
    const auto part = s.read("large", at, 4096);
    if (part)
      REQUIRE(*part == text.substr(at, 4096));
    else
      ++lost;
  }
  REQUIRE(lost > 0);
  REQUIRE(lost <= 2 * kFrame / 4096);
  REQUIRE(find_inconsistencies(*s.fs)->size() == 1);
  const std::vector<std::string> said = scrubbed(*s.fs);
  REQUIRE(said.size() == 1);
  REQUIRE(said.front().find("large (inode") != std::string::npos);
  // To write there would lose what cannot be read.
  const auto file = s.fs->lookup(kRootInode, "large");
  REQUIRE_FALSE(s.fs->write(file->ino, 5, as_bytes("x"), kRoot));
  s.fs->forget(file->ino, 1);
  REQUIRE(s.inode("large").home == Home::composite);
}

TEST_CASE("a large member that is written to is a blob with all that it had", "[packed]") {
  LargeStore s;
  std::string text = lines(33u << 20);
  s.bring("large", text);
  const auto file = s.fs->lookup(kRootInode, "large");
  SECTION("in its middle") {
    text.replace(text.size() / 2, 5, "LINE ");
    REQUIRE(s.fs->write(file->ino, text.size() / 2, as_bytes("LINE "), kRoot));
  }
  SECTION("at its end") {
    text += "more";
    REQUIRE(s.fs->write(file->ino, text.size() - 4, as_bytes("more"), kRoot));
  }
  SECTION("cut off") {
    text.resize(1'234'567);
    AttributeChange change;
    change.size = text.size();
    REQUIRE(s.fs->setattr(file->ino, change, kRoot));
  }
  s.fs->forget(file->ino, 1);
  REQUIRE(s.inode("large").home == Home::blob);
  s.open();
  REQUIRE(s.read("large", 0, text.size() + 1) == text);
  REQUIRE(*find_inconsistencies(*s.fs) == std::vector<std::string>{});
  REQUIRE(s.objects.list("composites")->empty());
}

TEST_CASE("a large member is cut off without room for all that it had", "[packed]") {
  LargeStore s;
  const std::string text = lines(33u << 20);
  s.bring("large", text);
  const auto file = s.fs->lookup(kRootInode, "large");
  AttributeChange change;
  change.size = 2'000'001;
  s.objects.written = 0;
  REQUIRE(s.fs->setattr(file->ino, change, kRoot));
  REQUIRE(s.objects.written <= 2'000'001);
  change.size = 1'000;
  REQUIRE(s.fs->setattr(file->ino, change, kRoot));
  s.fs->forget(file->ino, 1);
  REQUIRE(s.read("large", 0, 3'000'000) == text.substr(0, 1'000));
}

TEST_CASE("a large member that is cut to a few bytes has those in the table", "[packed]") {
  LargeStore s;
  const std::string text = lines(2u << 20);
  s.bring("large", text);
  const auto file = s.fs->lookup(kRootInode, "large");
  AttributeChange change;
  change.size = 4'000;
  REQUIRE(s.fs->setattr(file->ino, change, kRoot));
  s.fs->forget(file->ino, 1);
  REQUIRE(s.inode("large").home == Home::inline_);
  s.open();
  REQUIRE(s.read("large", 0, 5'000) == text.substr(0, 4'000));
  REQUIRE(s.objects.list("composites")->empty());
}

TEST_CASE("what is above 32 MiB is a member where that saves a quarter, and has no holes to lose",
          "[packed]") {
  const std::filesystem::path tree =
      std::filesystem::temp_directory_path() / ("cffs-large." + std::to_string(::getpid()));
  std::filesystem::create_directory(tree);
  const auto put = [&](const char* name, const std::string& content) {
    std::ofstream(tree / name) << content;
  };
  put("text", lines(33u << 20));
  put("noise", noise(33u << 20));
  put("small-noise", noise(2u << 20));
  put("sparse", "x");
  std::filesystem::resize_file(tree / "sparse", 40u << 20);
  put("beyond", lines((128u << 20) + 1));
  const auto check = [&](LargeStore& s, Home text) {
    REQUIRE(s.inode("text").home == text);
    REQUIRE(s.inode("noise").home == Home::blob);
    REQUIRE(s.inode("beyond").home == Home::blob);
    REQUIRE(s.inode("small-noise").home == Home::composite);
  };
  {
    LargeStore s;
    {
      ImportTarget target(*s.fs, 2, nullptr);
      REQUIRE(import_directory(tree, target));
      const auto report = target.finish();
      REQUIRE((report && report->failed == 0));
    }
    check(s, Home::composite);
    REQUIRE(s.inode("sparse").home == Home::blob);
    Reorganiser reorganiser(*s.fs);
    REQUIRE(regroup(reorganiser, *s.fs->policy(), {}));
    check(s, Home::composite);
    // What programs wrote is looked at by a regrouping that somebody asked for.
    for (const char* name : {"text", "noise"}) {
      const auto file = s.fs->lookup(kRootInode, name);
      REQUIRE(s.fs->write(file->ino, 0, as_bytes("LINE"), kRoot));
      s.fs->forget(file->ino, 1);
    }
    check(s, Home::blob);
    REQUIRE(regroup(reorganiser, *s.fs->policy(), {}));
    check(s, Home::composite);
    REQUIRE(s.read("text", 0, 9) == "LINE" + lines(9).substr(4));
    // Plain, all of it would be read for each part: it stays packed.
    RegroupOptions options;
    options.compression = Compression{};
    REQUIRE(change_storage(reorganiser, options));
    check(s, Home::composite);
    const auto object = s.objects.open(CompositeStore::object_name(s.inode("text").extent.composite));
    REQUIRE((*object)->info()->size < (20u << 20));
    REQUIRE(*find_inconsistencies(*s.fs) == std::vector<std::string>{});
  }
  std::filesystem::remove_all(tree);
}

TEST_CASE("who changes a file that is not in memory reads its bytes, not its neighbours'") {
  ColdStore objects;
  REQUIRE(FileSystem::format(objects, repeatable(), SystemClock()));
  auto fs = std::move(*FileSystem::open(objects, quiet()));
  constexpr int kDirectories = 10, kFiles = 40;
  const auto directory = [&](int d) { return "d" + std::to_string(d); };
  for (int d = 0; d < kDirectories; ++d) {
    const auto made = fs->mkdir(kRootInode, directory(d), 0755, kRoot);
    for (int i = 0; i < kFiles; ++i) {
      const auto file = fs->mknod(made->ino, "f" + std::to_string(i), S_IFREG | 0644, 0, kRoot);
      REQUIRE(fs->write(file->ino, 0, as_bytes(lines(9000)), kRoot));
      fs->forget(file->ino, 1);
    }
    fs->forget(made->ino, 1);
  }
  REQUIRE(Reorganiser(*fs).compact_now());
  REQUIRE(fs->close());
  fs = std::move(*FileSystem::open(objects, quiet()));
  objects.make_cold();
  for (int d = 0; d < kDirectories; ++d) {
    const auto in = fs->lookup(kRootInode, directory(d));
    const auto file = fs->lookup(in->ino, "f17");
    REQUIRE(fs->write(file->ino, 9000, as_bytes("more"), kRoot));
    fs->forget(file->ino, 1);
    fs->forget(in->ino, 1);
  }
  REQUIRE(objects.asked > 0);
  REQUIRE(objects.asked <= kDirectories * 5 * 4096);
}

}  // namespace cffs::test
