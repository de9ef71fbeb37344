// Where files lie: of a tree, of a path, of a group.
#include <catch2/catch.hpp>

#include "core/batch/group_members.h"
#include "tests/unit/batched_store.h"

namespace cffs::test {

TEST_CASE("the files below a directory, by path and as they lie") {
  BatchedStore s;
  const InodeId deeper = s.fs->mkdir(s.directory, "e", 0755, kRoot)->ino;
  REQUIRE(s.fs->link(s.fs->lookup(s.directory, "m5")->ino, deeper, "again"));
  REQUIRE(s.fs->symlink(deeper, "link", "../m6", kRoot));
  REQUIRE(s.fs->mknod(deeper, "fifo", S_IFIFO | 0644, 0, kRoot));
  s.contents["/d/e/again"] = s.contents["/d/m5"];
  const auto files = PlacedFiles::below(*s.fs, "/");
  REQUIRE(files);
  REQUIRE(files->size() == s.contents.size());
  std::uint64_t bytes = 0;
  s.paths.clear();
  s.places.clear();
  for (const std::uint32_t i : files->by_path()) {
    s.paths.push_back(files->path(i));
    s.places.push_back(files->place(i));
    CHECK(files->place(i).size == s.contents[files->path(i)].size());
    CHECK(files->path(i).ends_with("/" + std::string(files->name(i))));
    bytes += files->place(i).size;
  }
  CHECK(files->bytes() == bytes);
  CHECK(std::is_sorted(s.paths.begin(), s.paths.end()));
  s.expect_all_but({});

  const FilePlace* last = nullptr;
  for (const std::uint32_t i : files->as_they_lie()) {
    const FilePlace& place = files->place(i);
    if (last != nullptr && last->composite.value != 0 && last->composite == place.composite)
      CHECK(last->offset <= place.offset);
    if (last != nullptr && last->composite.value == 0) CHECK(place.composite.value == 0);
    last = &place;
  }

  const auto one = PlacedFiles::below(*s.fs, "d/m7");
  REQUIRE(one);
  REQUIRE(one->size() == 1);
  CHECK(one->path(0) == "/d/m7");
  CHECK(PlacedFiles::below(*s.fs, "/d/none").error().errno_value == ENOENT);
}

TEST_CASE("a place is that of the file to which the path leads, and the errors are the path's") {
  BatchedStore s;
  REQUIRE(s.fs->symlink(s.directory, "link", "m6", kRoot));
  REQUIRE(s.fs->symlink(kRootInode, "same", "d", kRoot));
  REQUIRE(s.fs->symlink(s.directory, "loop", "loop", kRoot));
  REQUIRE(s.fs->mknod(s.directory, "fifo", S_IFIFO | 0644, 0, kRoot));
  PlaceFinder finder(*s.fs);
  const auto m6 = finder.find("/d/m6");
  REQUIRE(m6);
  for (const char* path : {"d/m6", "//d//m6", "/d/./m6", "/d/../d/m6", "/d/link", "/same/m6", "/same/link"}) {
    INFO(path);
    const auto place = finder.find(path);
    REQUIRE(place);
    CHECK(place->ino == m6->ino);
    CHECK(place->offset == m6->offset);
  }
  for (const auto& [path, errno_value] : std::map<std::string, int>{{"", EISDIR},
                                                                    {"/", EISDIR},
                                                                    {"/d", EISDIR},
                                                                    {"/d/.", EISDIR},
                                                                    {"/same", EISDIR},
                                                                    {"/d/none", ENOENT},
                                                                    {"/none/m6", ENOENT},
                                                                    {"/d/m6/below", ENOTDIR},
                                                                    {"/d/loop", ELOOP},
                                                                    {"/d/fifo", EINVAL}}) {
    INFO(path);
    const auto place = finder.find(path);
    REQUIRE_FALSE(place);
    CHECK(place.error().errno_value == errno_value);
  }
}

TEST_CASE("a group is those that lie together, the file among them, each by a name that leads to it") {
  BatchedStore s;
  s.look_at_all();
  const auto group = group_of(*s.fs, "/d/m20");
  REQUIRE(group);
  REQUIRE(group->size() > 10);
  std::uint64_t offset = 0;
  std::set<std::string> names;
  for (const GroupMember& m : *group) {
    INFO(m.path);
    REQUIRE(s.contents.count(m.path) == 1);
    CHECK(m.place.ino == s.place(m.path).ino);
    CHECK(m.place.composite == s.place("/d/m20").composite);
    CHECK(m.place.group_offset == s.place("/d/m20").group_offset);
    CHECK(m.place.offset > offset);
    offset = m.place.offset;
    names.insert(m.path);
  }
  CHECK(names.size() == group->size());
  CHECK(names.count("/d/m20") == 1);

  // Every member of the group names the same group; who left it is in it no more.
  CHECK(group_of(*s.fs, group->back().path)->size() == group->size());
  const std::string gone = group->front().path == "/d/m20" ? group->back().path : group->front().path;
  s.write(gone.substr(3), "elsewhere");
  CHECK(group_of(*s.fs, "/d/m20")->size() == group->size() - 1);

  // Two groups of one composite, by whichever of them one asks.
  const FilePlace second = s.place("/s/n2");
  std::set<std::string> beside;
  for (std::size_t i = 0; i < s.paths.size(); ++i) {
    if (s.places[i].composite == second.composite && s.places[i].group_offset != second.group_offset)
      beside.insert(s.paths[i]);
  }
  REQUIRE(beside.size() > 1);
  CHECK(group_of(*s.fs, "/s/n2")->size() == 5);
  for (const std::string& path : beside) {
    INFO(path);
    const auto its = group_of(*s.fs, path);
    for (const GroupMember& m : *its) CHECK(m.path.starts_with("/d/"));
  }

  const auto alone = group_of(*s.fs, "d/large");
  REQUIRE(alone);
  REQUIRE(alone->size() == 1);
  CHECK(alone->front().path == "/d/large");
  CHECK(group_of(*s.fs, "/d/none").error().errno_value == ENOENT);
  CHECK(group_of(*s.fs, "/d").error().errno_value == EISDIR);
}

}  // namespace cffs::test
