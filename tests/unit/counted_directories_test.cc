// Directories whose entries were counted since they were made: rmdir believes the count where it says that there are none, so
// nothing may come in without being counted.
#include <catch2/catch.hpp>

#include <functional>

#include "core/fs/file_system.h"
#include "core/fs/new_file.h"
#include "core/object/memory_store.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"

namespace cffs::test {
namespace {

// Two directories that somebody refers to all the time, so that their nodes are the ones that counted.
struct Counted {
  Counted() {
    REQUIRE(FileSystem::format(objects, repeatable(), SystemClock()));
    auto opened = FileSystem::open(objects, quiet());
    REQUIRE(opened);
    fs = std::move(*opened);
    inside = made(fs->mkdir(kRootInode, "inside", 0755, kRoot));
    beside = made(fs->mkdir(kRootInode, "beside", 0755, kRoot));
  }
  static InodeId made(const Result<Attributes>& entry) {
    REQUIRE(entry);
    return entry->ino;
  }
  InodeId file(InodeId in, const std::string& name) {
    return made(fs->mknod(in, name, S_IFREG | 0644, 0, kRoot));
  }
  Status move(InodeId from, const std::string& name, InodeId to, const std::string& as,
              RenameMode mode = RenameMode::replace) {
    return fs->rename(from, name, to, as, mode, kRoot);
  }
  int leaves() {
    const Status removed = fs->rmdir(kRootInode, "inside");
    return removed ? 0 : removed.error().errno_value;
  }

  MemoryStore objects;
  std::unique_ptr<FileSystem> fs;
  InodeId inside{}, beside{};
};

struct Way {
  std::string name;
  std::function<void(Counted&)> come;  // one entry, "x", into a directory that is empty
};

std::vector<Way> ways_in() {
  return {
      {"mknod", [](Counted& s) { s.file(s.inside, "x"); }},
      {"mkdir", [](Counted& s) { s.made(s.fs->mkdir(s.inside, "x", 0755, kRoot)); }},
      {"symlink", [](Counted& s) { s.made(s.fs->symlink(s.inside, "x", "there", kRoot)); }},
      {"link", [](Counted& s) { s.made(s.fs->link(s.file(s.beside, "y"), s.inside, "x")); }},
      {"link of what had no name",
       [](Counted& s) {
         s.made(s.fs->link(s.made(s.fs->make_unnamed(s.inside, 0644, kRoot)), s.inside, "x"));
       }},
      {"rename from elsewhere",
       [](Counted& s) {
         s.file(s.beside, "y");
         REQUIRE(s.move(s.beside, "y", s.inside, "x"));
       }},
      {"rename of a directory",
       [](Counted& s) {
         s.made(s.fs->mkdir(s.beside, "y", 0755, kRoot));
         REQUIRE(s.move(s.beside, "y", s.inside, "x"));
       }},
      {"whiteout",
       [](Counted& s) {
         s.file(s.inside, "x");
         REQUIRE(s.move(s.inside, "x", s.beside, "y", RenameMode::whiteout));
       }},
      {"exchange",
       [](Counted& s) {
         s.file(s.inside, "x");
         s.file(s.beside, "y");
         REQUIRE(s.move(s.inside, "x", s.beside, "y", RenameMode::exchange));
       }},
      {"rename over another one",
       [](Counted& s) {
         s.file(s.inside, "x");
         s.file(s.beside, "y");
         REQUIRE(s.move(s.beside, "y", s.inside, "x"));
       }},
      {"rename over another one of the same directory",
       [](Counted& s) {
         s.file(s.inside, "x");
         s.file(s.inside, "y");
         REQUIRE(s.move(s.inside, "y", s.inside, "x"));
       }},
      {"rename within",
       [](Counted& s) {
         s.file(s.inside, "y");
         REQUIRE(s.move(s.inside, "y", s.inside, "x"));
       }},
      {"import",
       [](Counted& s) {
         NewFile file;
         file.parent = s.inside;
         file.name = "x";
         file.inode.mode = S_IFREG | 0644;
         file.inode.nlink = 1;
         file.content = "content";
         std::vector<std::vector<NewFile>> groups(1);
         groups[0].push_back(std::move(file));
         REQUIRE(s.fs->load(std::move(groups)));
       }},
  };
}

}  // namespace

TEST_CASE("a directory with an entry stays, whichever way it came, and goes when that one has gone") {
  for (const Way& way : ways_in()) {
    for (const std::string out : {"removed", "renamed", "exchanged, then removed", "one of two"}) {
      INFO(way.name << ", " << out);
      Counted s;
      way.come(s);
      REQUIRE(s.leaves() == ENOTEMPTY);
      if (out == "one of two") {
        s.file(s.inside, "second");
        REQUIRE(s.fs->unlink(s.inside, "second"));
        REQUIRE(s.leaves() == ENOTEMPTY);
      }
      if (out == "exchanged, then removed") {
        s.file(s.beside, "other");
        REQUIRE(s.move(s.inside, "x", s.beside, "other", RenameMode::exchange));
        REQUIRE(s.leaves() == ENOTEMPTY);
      }
      if (out == "renamed") {
        REQUIRE(s.move(s.inside, "x", s.beside, "elsewhere"));
      } else {
        const auto entry = s.fs->lookup(s.inside, "x");
        REQUIRE(entry);
        REQUIRE((S_ISDIR(entry->mode) ? s.fs->rmdir(s.inside, "x") : s.fs->unlink(s.inside, "x")));
      }
      REQUIRE(s.leaves() == 0);
    }
  }
}

TEST_CASE("attempts that fail leave a directory that can be removed") {
  Counted s;
  s.file(s.inside, "x");
  REQUIRE(!s.fs->mknod(s.inside, "x", S_IFREG | 0644, 0, kRoot));
  REQUIRE(!s.fs->mkdir(s.inside, "x", 0755, kRoot));
  REQUIRE(!s.fs->link(s.file(s.beside, "y"), s.inside, "x"));
  REQUIRE(!s.move(s.beside, "y", s.inside, "x", RenameMode::no_replace));
  REQUIRE(!s.fs->unlink(s.inside, "nothing"));
  REQUIRE(s.leaves() == ENOTEMPTY);
  REQUIRE(s.fs->unlink(s.inside, "x"));
  REQUIRE(s.leaves() == 0);
}

TEST_CASE("a directory is replaced by another one where it is empty, and only there") {
  Counted s;
  s.made(s.fs->mkdir(kRootInode, "new", 0755, kRoot));
  s.file(s.inside, "x");
  const Status refused = s.move(kRootInode, "new", kRootInode, "inside");
  REQUIRE(!refused);
  REQUIRE(refused.error().errno_value == ENOTEMPTY);
  REQUIRE(s.fs->unlink(s.inside, "x"));
  REQUIRE(s.move(kRootInode, "new", kRootInode, "inside"));
}

}  // namespace cffs::test
