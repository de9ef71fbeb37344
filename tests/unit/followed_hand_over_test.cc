// Files of a group that are given to a cache above a store that somebody else writes to: each node gets the content that it has for good.
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/follow/followed_file_system.h"
#include "core/fs/new_file.h"
#include "core/object/memory_store.h"
#include "tests/manual_clock.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"

namespace cffs::test {
namespace {

constexpr int kFilesOfEach = 20;
constexpr std::int64_t kKept = 10'000;  // ms

std::string first_content(int file) { return std::string(3'000, static_cast<char>('a' + file)); }
std::string name_of(int file) { return "f" + std::to_string(100 + file); }

// A directory of small files in one group, somebody who follows, and somebody who writes.
struct FollowedGroup {
  FollowedGroup() {
    REQUIRE(FileSystem::format(objects, repeatable(), *clock));
    {
      const auto maker = std::move(*FileSystem::open(objects, options()));
      const auto made = maker->mkdir(kRootInode, "d", 0755, kRoot);
      REQUIRE(made);
      std::vector<NewFile> group;
      for (int i = 0; i < kFilesOfEach; ++i) {
        NewFile file;
        file.parent = made->ino;
        file.name = name_of(i);
        file.inode.mode = S_IFREG | 0644;
        file.content = first_content(i);
        group.push_back(std::move(file));
      }
      std::vector<std::vector<NewFile>> groups;
      groups.push_back(std::move(group));
      REQUIRE(maker->load(std::move(groups)));
      maker->forget(made->ino, 1);
      REQUIRE(maker->close());
    }
    followed = *FollowedFileSystem::open(objects, options(), {});
    followed->on_likely_group([this](ReaderId, InodeId node) { likely.push_back(node); });
    writer = std::move(*FileSystem::open(objects, options()));
    list();
  }
  ~FollowedGroup() { followed->on_likely_group({}); }

  FileSystemOptions options() const {
    FileSystemOptions o;
    o.background = false;
    o.clock = clock;
    o.keep_ms = kKept;
    return o;
  }
  void list() {
    const auto found = followed->lookup(kRootInode, "d");
    REQUIRE(found);
    directory = found->ino;
    REQUIRE(followed->readdir(directory, 0, true, [&](const DirectoryEntry& entry) {
      if (entry.name.front() != '.')
        files[std::stoi(std::string(entry.name.substr(1))) - 100] = entry.attributes.ino;
      return true;
    }));
  }
  std::string read(InodeId node) {
    std::string out(10'000, '\0');
    const auto n = followed->read(node, 0, as_writable_bytes(out), 9);
    if (!n) return "error " + std::to_string(n.error().errno_value);
    out.resize(*n);
    return out;
  }
  // The writer's doing, shown to who follows.
  void change(int file, char letter) {
    const auto there = writer->lookup(kRootInode, "d");
    REQUIRE(there);
    const auto found = writer->lookup(there->ino, name_of(file));
    REQUIRE(found);
    REQUIRE(writer->write(found->ino, 0, as_bytes(std::string(3'000, letter)), kRoot));
    writer->forget(found->ino, 1);
    writer->forget(there->ino, 1);
    move_on();
  }
  void move_on() {
    clock->pass_ms(1000);
    REQUIRE(writer->sync());
    const auto moved = followed->move_on();
    REQUIRE(moved);
    REQUIRE(*moved);
  }
  std::map<InodeId, std::string> given_beside(int file) {
    std::map<InodeId, std::string> given;
    const auto done = followed->hand_over_group(9, files.at(file), [&](InodeId node, ConstBytes content) {
      given[node] = {reinterpret_cast<const char*>(content.data()), content.size()};
      return Taken::yes;
    });
    REQUIRE(done);
    return given;
  }

  MemoryStore objects;
  const std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  std::unique_ptr<FollowedFileSystem> followed;
  std::unique_ptr<FileSystem> writer;
  std::vector<InodeId> likely;
  InodeId directory;
  std::map<int, InodeId> files;
};

}  // namespace

TEST_CASE("who follows is given the rest of a group that he goes through", "[hand_over]") {
  FollowedGroup s;
  for (int i = 0; i < kFilesOfEach / 2; ++i) CHECK(s.read(s.files.at(i)) == first_content(i));
  REQUIRE_FALSE(s.likely.empty());
  const auto given = s.given_beside(0);
  CHECK(given.size() >= 8);
  for (int i = 0; i < kFilesOfEach; ++i) {
    const auto found = given.find(s.files.at(i));
    if (found != given.end()) CHECK(found->second == first_content(i));
  }
}

TEST_CASE("after a move a changed file is given to its new node alone", "[hand_over]") {
  FollowedGroup s;
  s.change(3, 'X');
  const InodeId before = s.files.at(3);
  // Not listed since: the file is known by its old node alone, and what the rest has now has to be asked for first.
  CHECK_FALSE(s.given_beside(0).contains(before));
  s.list();
  const InodeId now = s.files.at(3);
  REQUIRE(now != before);
  const auto given = s.given_beside(0);
  CHECK_FALSE(given.contains(before));
  CHECK(given.size() >= 10);
  for (const auto& [node, content] : given) CHECK(content == s.read(node));
}

// Its number must not become another content's before the cache has what was given.
TEST_CASE("a node that is forgotten while its file is given is not another content's meanwhile",
          "[hand_over]") {
  FollowedGroup s;
  int asked = 0;
  REQUIRE(s.followed->hand_over_group(9, s.files.at(0), [&](InodeId node, ConstBytes content) {
    ++asked;
    int file = 0;
    while (s.files.at(file) != node) ++file;
    s.change(file, 'Y');
    s.followed->forget(node, 1);
    const auto found = s.followed->lookup(s.directory, name_of(file));
    REQUIRE(found);
    CHECK(found->ino != node);
    CHECK(s.read(found->ino) == std::string(3'000, 'Y'));
    CHECK(std::string(reinterpret_cast<const char*>(content.data()), content.size()) == first_content(file));
    s.followed->forget(found->ino, 1);
    return Taken::yes;
  }));
  CHECK(asked == 1);  // the state of before gives nothing more
  // And then it is nobody's.
  const auto found = s.followed->lookup(s.directory, name_of(1));
  REQUIRE(found);
}

TEST_CASE("nobody is called when nobody asks any more", "[hand_over]") {
  FollowedGroup s;
  s.followed->on_likely_group({});
  s.change(5, 'Z');
  s.list();
  for (int i = 0; i < kFilesOfEach; ++i) (void)s.read(s.files.at(i));
  CHECK(s.likely.empty());
}

TEST_CASE("the next state's groups are told of, too", "[hand_over]") {
  FollowedGroup s;
  s.change(kFilesOfEach - 1, 'V');
  s.list();
  s.likely.clear();
  for (int i = 0; i < kFilesOfEach; ++i) (void)s.read(s.files.at(i));
  REQUIRE_FALSE(s.likely.empty());
  for (const auto& [node, content] : s.given_beside(0)) CHECK(content == s.read(node));
}

TEST_CASE("who looks a name up that a listing has no room for goes on in the same state", "[hand_over]") {
  FollowedGroup s;
  s.change(3, 'X');  // nobody has asked the new state for the files
  std::vector<InodeId> asked;
  REQUIRE(s.followed->readdir(s.directory, 0, true, [&](const DirectoryEntry& entry) {
    if (entry.name.front() == '.') return true;
    const auto found = s.followed->lookup(s.directory, entry.name);
    REQUIRE(found);
    asked.push_back(KnownNodes::number_of(found->ino));
    return false;
  }));
  REQUIRE(asked.size() == 1);
  CHECK(s.followed->state()->getattr(asked.front()));
}

}  // namespace cffs::test
