// Directories that were there before this mount: a listing from one end to the other counts their entries, so that rmdir need not
// look for any (core/fs/listed_entries.h). It may never count less than there are.
#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <thread>

#include "core/fs/file_system.h"
#include "core/fs/new_file.h"
#include "core/object/memory_store.h"
#include "core/table/row.h"
#include "core/table/table.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"

namespace cffs::test {
namespace {

// A directory of an earlier mount with files "0", "1", …; somebody refers to it.
struct Earlier {
  explicit Earlier(int files) {
    REQUIRE(FileSystem::format(objects, repeatable(), SystemClock()));
    {
      auto before = FileSystem::open(objects, quiet());
      REQUIRE(before);
      const auto made = (*before)->mkdir(kRootInode, "inside", 0755, kRoot);
      REQUIRE(made);
      for (int i = 0; i < files; ++i)
        REQUIRE((*before)->mknod(made->ino, std::to_string(i), S_IFREG | 0644, 0, kRoot));
      REQUIRE((*before)->close());
    }
    auto opened = FileSystem::open(objects, quiet());
    REQUIRE(opened);
    fs = std::move(*opened);
    const auto found = fs->lookup(kRootInode, "inside");
    REQUIRE(found);
    inside = found->ino;
  }

  // Lists it in calls of so many entries each, and does something before each call but the first.
  void list(
      int of_a_call, const std::function<void(int call)>& between = [](int) {}, std::uint64_t from = 0) {
    std::uint64_t cookie = from;
    for (int call = 0;; ++call) {
      if (call > 0) between(call);
      int left = of_a_call;
      bool all = true;
      REQUIRE(fs->readdir(inside, cookie, false, [&](const DirectoryEntry& entry) {
        if (left-- == 0) return all = false;
        cookie = entry.cookie;
        return true;
      }));
      if (all) return;
    }
  }
  void file(const std::string& name) { REQUIRE(fs->mknod(inside, name, S_IFREG | 0644, 0, kRoot)); }
  void remove(const std::string& name) { REQUIRE(fs->unlink(inside, name)); }
  // Whether rmdir would believe that there is nothing without a look: it does not see a row that comes behind its back.
  bool is_believed() {
    Row row;
    Inode inode;
    inode.ino = InodeId{1'000'000};
    inode.mode = S_IFREG | 0644;
    inode.nlink = 1;
    row.insert(Entry{"behind", inode.ino, S_IFREG, inode});
    Batch batch;
    batch.put_row(Key::entry(inside, 77), row);
    REQUIRE(fs->table().write(batch));
    const Status removed = fs->rmdir(kRootInode, "inside");
    if (!removed) REQUIRE(removed.error().errno_value == ENOTEMPTY);
    return bool(removed);
  }

  MemoryStore objects;
  std::unique_ptr<FileSystem> fs;
  InodeId inside{};
};

}  // namespace

TEST_CASE("nobody looks for entries where all that a listing showed have gone", "[listed]") {
  for (const int of_a_call : {2, 3, 7, 100}) {
    INFO(of_a_call << " entries a call");
    Earlier s(7);
    s.list(of_a_call);
    for (int i = 0; i < 7; ++i) s.remove(std::to_string(i));
    CHECK(s.is_believed());
  }
}

TEST_CASE("what came and went since a listing began is counted", "[listed]") {
  Earlier s(7);
  s.list(3, [&](int call) {
    s.file("new " + std::to_string(call));
    s.file("gone " + std::to_string(call));
    s.remove("gone " + std::to_string(call));
  });
  s.file("after");
  for (int i = 0; i < 7; ++i) s.remove(std::to_string(i));
  std::vector<std::string> left;
  REQUIRE(s.fs->readdir(s.inside, 2, false, [&](const DirectoryEntry& entry) {
    left.emplace_back(entry.name);
    return true;
  }));
  REQUIRE(left.size() >= 3);
  for (const std::string& name : left) {
    CHECK(s.fs->rmdir(kRootInode, "inside").error().errno_value == ENOTEMPTY);
    s.remove(name);
  }
  CHECK(s.fs->rmdir(kRootInode, "inside"));
}

TEST_CASE("a listing that was not whole counts nothing", "[listed]") {
  const auto remove_all = [](Earlier& s) {
    for (int i = 0; i < 7; ++i) s.remove(std::to_string(i));
  };
  SECTION("it was not looked at") {
    Earlier s(7);
    remove_all(s);
    CHECK_FALSE(s.is_believed());
  }
  SECTION("it ended early") {
    Earlier s(7);
    int left = 4;
    REQUIRE(s.fs->readdir(s.inside, 0, false, [&](const DirectoryEntry&) { return left-- > 0; }));
    remove_all(s);
    CHECK_FALSE(s.is_believed());
  }
  SECTION("it began in the middle") {
    Earlier s(7);
    s.list(
        100, [](int) {}, 2);
    remove_all(s);
    CHECK_FALSE(s.is_believed());
  }
  SECTION("it went on elsewhere") {
    Earlier s(7);
    std::vector<std::uint64_t> cookies;
    REQUIRE(s.fs->readdir(s.inside, 0, false, [&](const DirectoryEntry& entry) {
      cookies.push_back(entry.cookie);
      return true;
    }));
    Earlier other(7);
    int left = 3;
    REQUIRE(other.fs->readdir(other.inside, 0, false, [&](const DirectoryEntry&) { return left-- > 0; }));
    other.list(
        100, [](int) {}, cookies[5]);
    remove_all(other);
    CHECK_FALSE(other.is_believed());
  }
  SECTION("its node went in between, and came again") {
    Earlier s(7);
    int left = 4;
    std::uint64_t cookie = 0;
    REQUIRE(s.fs->readdir(s.inside, 0, false, [&](const DirectoryEntry& entry) {
      if (left-- == 0) return false;
      cookie = entry.cookie;
      return true;
    }));
    s.fs->forget(s.inside, 1);
    const auto again = s.fs->lookup(kRootInode, "inside");
    REQUIRE(again);
    s.list(
        100, [](int) {}, cookie);
    remove_all(s);
    CHECK_FALSE(s.is_believed());
  }
  SECTION("a load came while it was listed") {
    Earlier s(7);
    s.list(3, [&](int call) {
      if (call != 1) return;
      NewFile file;
      file.parent = s.inside;
      file.name = "loaded";
      file.inode.mode = S_IFREG | 0644;
      file.inode.nlink = 1;
      std::vector<std::vector<NewFile>> groups(1);
      groups[0].push_back(std::move(file));
      REQUIRE(s.fs->load(std::move(groups)));
    });
    remove_all(s);
    CHECK(s.fs->rmdir(kRootInode, "inside").error().errno_value == ENOTEMPTY);
    s.remove("loaded");
    CHECK_FALSE(s.is_believed());
  }
}

TEST_CASE("listings beside each other, and beside who makes and removes, never miss an entry", "[listed]") {
  for (int round = 0; round < 30; ++round) {
    Earlier s(20);
    std::atomic<bool> over{false};
    std::vector<std::thread> listing;
    for (const int of_a_call : {3, 5, 50}) {
      listing.emplace_back([&s, &over, of_a_call] {
        while (!over) {
          std::uint64_t cookie = 0;
          for (bool all = false; !all;) {
            int left = of_a_call;
            all = true;
            (void)s.fs->readdir(s.inside, cookie, false, [&](const DirectoryEntry& entry) {
              if (left-- == 0) return all = false;
              cookie = entry.cookie;
              return true;
            });
          }
        }
      });
    }
    const auto churn = [&s](const std::string& who) {
      for (int i = 0; i < 50; ++i) {
        (void)s.fs->mknod(s.inside, who + std::to_string(i), S_IFREG | 0644, 0, kRoot);
        if (i > 0) (void)s.fs->unlink(s.inside, who + std::to_string(i - 1));
      }
    };
    std::thread one(churn, "a"), other(churn, "b");
    for (int i = 0; i < 20; ++i) (void)s.fs->unlink(s.inside, std::to_string(i));
    one.join();
    other.join();
    over = true;
    for (std::thread& thread : listing) thread.join();
    REQUIRE(s.fs->rmdir(kRootInode, "inside").error().errno_value == ENOTEMPTY);
    s.remove("a49");
    REQUIRE(s.fs->rmdir(kRootInode, "inside").error().errno_value == ENOTEMPTY);
    s.remove("b49");
    REQUIRE(s.fs->rmdir(kRootInode, "inside"));
  }
}

}  // namespace cffs::test
