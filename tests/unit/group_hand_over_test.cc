// Files of a group that are given to a cache above before anybody asks: which, when, and what reading ahead makes of it.
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/composite/composite_store.h"
#include "core/composite/read_ahead.h"
#include "core/fs/file_system.h"
#include "core/fs/new_file.h"
#include "core/fs/rehousing.h"
#include "core/object/memory_store.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"

namespace cffs::test {
namespace {

constexpr int kDirectories = 6, kFilesOfOne = 20;

std::string content(int directory, int file) {
  return std::string(3'000 + static_cast<std::size_t>(100 * directory + file), static_cast<char>('a' + file));
}

// Directories of small files, imported, and opened by somebody who only reads.
struct LookedAt {
  LookedAt() {
    REQUIRE(FileSystem::format(objects, repeatable(), SystemClock()));
    {
      const auto writer = std::move(*FileSystem::open(objects, quiet()));
      std::vector<std::vector<NewFile>> groups;
      std::vector<InodeId> made;
      for (int d = 0; d < kDirectories; ++d) {
        const auto directory = writer->mkdir(kRootInode, "d" + std::to_string(d), 0755, kRoot);
        REQUIRE(directory);
        made.push_back(directory->ino);
        std::vector<NewFile> group;
        for (int i = 0; i < kFilesOfOne; ++i) {
          NewFile file;
          file.parent = directory->ino;
          file.name = "f" + std::to_string(100 + i);
          file.inode.mode = S_IFREG | 0644;
          file.content = content(d, i);
          group.push_back(std::move(file));
        }
        groups.push_back(std::move(group));
      }
      REQUIRE(writer->load(std::move(groups)));
      for (const InodeId ino : made) writer->forget(ino, 1);
      REQUIRE(writer->close());
    }
    open();
  }
  ~LookedAt() { fs->on_likely_group({}); }
  void open() {
    FileSystemOptions looking = quiet();
    looking.read_only = true;
    fs = std::move(*FileSystem::open(objects, looking));
    fs->on_likely_group([this](ReaderId reader, InodeId file) { likely.emplace_back(reader, file); });
  }
  // As the kernel does for a listing.
  void list(int directory) {
    const auto found = fs->lookup(kRootInode, "d" + std::to_string(directory));
    REQUIRE(found);
    directories[directory] = found->ino;
    REQUIRE(fs->readdir(found->ino, 0, true, [&](const DirectoryEntry& entry) {
      if (entry.name.front() != '.')
        files[{directory, std::stoi(std::string(entry.name.substr(1))) - 100}] = entry.attributes.ino;
      return true;
    }));
  }
  Extent extent_of(int directory, int file) {
    const EntryName at{directories.at(directory), "f" + std::to_string(100 + file)};
    const auto found = fs->rehousing().find(at, files.at({directory, file}));
    REQUIRE((found && *found));
    return (*found)->inode.extent;
  }
  // As the kernel does for who reads all of it: what it was given is not asked for.
  void read(int directory, int file) {
    const InodeId ino = files.at({directory, file});
    if (cache.contains(ino.value)) return;
    ++reads;
    std::string out(10'000, '\0');
    const auto n = fs->read(ino, 0, as_writable_bytes(out), 9);
    REQUIRE(n);
    out.resize(*n);
    CHECK(out == content(directory, file));
    for (const auto& [reader, of] : std::exchange(likely, {})) {
      REQUIRE(fs->hand_over_group(reader, of, [&](InodeId given, ConstBytes bytes) {
        CHECK(cache.emplace(given.value, std::string(as_text(bytes))).second);
        return Taken::yes;
      }));
    }
  }
  // What is handed over beside that file.
  std::set<std::uint64_t> beside(int directory, int file) {
    std::set<std::uint64_t> given;
    REQUIRE(fs->hand_over_group(9, files.at({directory, file}), [&](InodeId each, ConstBytes) {
      given.insert(each.value);
      return Taken::yes;
    }));
    return given;
  }
  static std::string_view as_text(ConstBytes bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  MemoryStore objects;
  std::unique_ptr<FileSystem> fs;
  std::vector<std::pair<ReaderId, InodeId>> likely;
  std::map<int, InodeId> directories;
  std::map<std::pair<int, int>, InodeId> files;
  std::map<std::uint64_t, std::string> cache;
  int reads = 0;
};

}  // namespace

TEST_CASE("who goes through listed directories comes for one file in eight, and gets all of them",
          "[hand_over]") {
  LookedAt s;
  for (int d = 0; d < kDirectories; ++d) {
    s.list(d);
    for (int i = 0; i < kFilesOfOne; ++i) s.read(d, i);
  }
  for (const auto& [where, ino] : s.files) {
    const auto given = s.cache.find(ino.value);
    if (given != s.cache.end()) CHECK(given->second == content(where.first, where.second));
  }
  // Two touches of the first groups, one of each later one; and those that were left out.
  CHECK(s.reads <= 4 + kDirectories * (1 + kFilesOfOne / 8 + 1));
  CHECK(s.reads >= kDirectories * (1 + kFilesOfOne / 9));
  CHECK(s.fs->read_ahead().handed_files == s.cache.size());
}

TEST_CASE("who wants one file of each directory is given little", "[hand_over]") {
  LookedAt s;
  for (int d = 0; d < kDirectories; ++d) {
    s.list(d);
    s.read(d, 7);
  }
  CHECK(s.cache.empty());
}

TEST_CASE("files that nobody has looked up are not handed over", "[hand_over]") {
  LookedAt s;
  s.list(0);
  const InodeId first = s.files.at({0, 0});
  for (int i = 5; i < kFilesOfOne; ++i) s.fs->forget(s.files.at({0, i}), 1);
  std::set<std::uint64_t> given;
  const auto files = s.fs->hand_over_group(9, first, [&](InodeId file, ConstBytes) {
    given.insert(file.value);
    return Taken::yes;
  });
  REQUIRE(*files == 3);  // of four, the last is left out
  for (const int i : {1, 2, 3}) CHECK(given.contains(s.files.at({0, i}).value));
}

TEST_CASE("what lies behind the file comes first", "[hand_over]") {
  LookedAt s;
  s.list(3);
  std::vector<std::uint64_t> given;
  REQUIRE(s.fs->hand_over_group(9, s.files.at({3, 6}), [&](InodeId file, ConstBytes) {
    given.push_back(file.value);
    return Taken::yes;
  }));
  REQUIRE(given.size() > 14);
  CHECK(given[0] == s.files.at({3, 7}).value);
  CHECK(given[1] == s.files.at({3, 8}).value);
  CHECK(given.back() == s.files.at({3, 5}).value);
}

TEST_CASE("a taker who has enough is given no more, and a second time nothing again", "[hand_over]") {
  LookedAt s;
  s.list(2);
  int asked = 0;
  const InodeId first = s.files.at({2, 0});
  REQUIRE(*s.fs->hand_over_group(
              9, first, [&](InodeId, ConstBytes) { return ++asked < 5 ? Taken::yes : Taken::no_more; }) == 4);
  CHECK(asked == 5);
  std::set<std::uint64_t> given;
  REQUIRE(s.fs->hand_over_group(9, first, [&](InodeId file, ConstBytes) {
    return given.insert(file.value).second ? Taken::yes : Taken::no_more;
  }));
  for (int i = 1; i < 5; ++i) CHECK_FALSE(given.contains(s.files.at({2, i}).value));
}

TEST_CASE("damage is not handed over: who reads the file is told", "[hand_over]") {
  LookedAt s;
  s.list(1);
  const Extent extent = s.extent_of(1, 3);
  REQUIRE(s.fs->close());
  const auto object = *s.objects.open(CompositeStore::object_name(extent.composite));
  REQUIRE(object->write_at(extent.offset + 50, as_bytes(std::string_view("?"))));
  s.files.clear();
  s.open();
  s.list(1);
  const std::set<std::uint64_t> given = s.beside(1, 0);
  CHECK(given.size() > 10);
  CHECK_FALSE(given.contains(s.files.at({1, 3}).value));
  std::string out(10'000, '\0');
  CHECK(s.fs->read(s.files.at({1, 3}), 0, as_writable_bytes(out)).error().kind == ErrorKind::corruption);
}

// The cache may lose it, and the medium rot meanwhile.
TEST_CASE("what was handed over is looked at by who reads it all the same", "[hand_over]") {
  LookedAt s;
  s.list(4);
  const std::set<std::uint64_t> given = s.beside(4, 0);
  REQUIRE(given.contains(s.files.at({4, 5}).value));
  const Extent extent = s.extent_of(4, 5);
  const auto object = *s.objects.open(CompositeStore::object_name(extent.composite));
  REQUIRE(object->write_at(extent.offset + 50, as_bytes(std::string_view("?"))));
  std::string out(10'000, '\0');
  const auto read = s.fs->read(s.files.at({4, 5}), 0, as_writable_bytes(out));
  REQUIRE_FALSE(read);
  CHECK(read.error().kind == ErrorKind::corruption);
}

TEST_CASE("what a cache could not take does not count", "[hand_over]") {
  LookedAt s;
  s.list(5);
  int asked = 0;
  const auto taken = s.fs->hand_over_group(
      9, s.files.at({5, 0}), [&](InodeId, ConstBytes) { return ++asked % 2 == 0 ? Taken::yes : Taken::no; });
  CHECK(*taken == static_cast<std::size_t>(asked / 2));
  CHECK(asked > 10);
  CHECK(s.fs->read_ahead().handed_files == static_cast<std::uint64_t>(asked / 2));
}

// Groups of 20 members, all in memory: what is handed over is not come to.
TEST_CASE("what is left out speaks for what was handed over, wanted or not", "[hand_over]") {
  constexpr std::uint64_t kMember = 16u << 10, kMembers = 20;
  ReadAhead ahead;
  ahead.hand_over(true);
  const auto touch = [&](std::uint64_t group, std::uint64_t member) {
    Extent e;
    e.composite = CompositeId{7};
    e.group_offset = group * kMembers * kMember;
    e.group_length = kMembers * kMember;
    e.offset = e.group_offset + member * kMember;
    e.length = kMember;
    const auto advice = ahead.touch(1, e, ReadAhead::Found::in_memory, 0);
    if (advice.hand_over) ahead.handed_over(1, e, 17 * kMember, 17);
    return advice.hand_over;
  };
  for (const std::uint64_t group : {0, 1}) {
    CHECK_FALSE(touch(group, 0));
    CHECK(touch(group, 1));
    touch(group, 19);
  }
  // Whoever comes for the witnesses goes on being given the rest, at the first touch.
  for (std::uint64_t group = 2; group < 40; ++group) {
    CHECK(touch(group, 0));
    touch(group, 8);
    touch(group, 16);
  }
  // Who does not is soon given no more.
  int given = 0;
  for (std::uint64_t group = 40; group < 80; ++group) given += touch(group, 0) ? 1 : 0;
  CHECK(given <= 8);
}

}  // namespace cffs::test
