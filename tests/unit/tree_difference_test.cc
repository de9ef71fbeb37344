// What two trees are said to differ in: stores against each other and against directories.
#include "core/browse/tree_difference.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "core/object/memory_store.h"
#include "core/transfer/directory_import.h"
#include "core/transfer/export.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/unit/temporary_directory.h"

namespace cffs::test {
namespace {

struct ComparedStore {
  MemoryStore objects;
  std::unique_ptr<FileSystem> fs;
  explicit ComparedStore(const std::string& from) {
    REQUIRE(FileSystem::format(objects, repeatable(), SystemClock()));
    fs = std::move(*FileSystem::open(objects, quiet()));
    ImportTarget target(*fs, 1, nullptr);
    REQUIRE(import_directory(from, target));
    REQUIRE(target.finish().value().failed == 0);
  }
  std::unique_ptr<ComparedTree> tree(const std::string& path = "") {
    auto made = compared_store_tree(*fs, path, path);
    REQUIRE(made);
    return std::move(*made);
  }
  InodeId at(const std::string& path) { return resolve(*fs, path)->ino; }
};

std::unique_ptr<ComparedTree> directory_tree(const std::string& path) {
  auto made = compared_directory(path);
  REQUIRE(made);
  return std::move(*made);
}

// "C a/b; > new; " of what differs, "! path; " of what could not be told.
std::string between(ComparedTree& a, ComparedTree& b, DifferenceOptions options = {}) {
  std::string text;
  options.found = [&](const Difference& d) { text += d.kinds + " " + d.path + "; "; };
  options.trouble = [&](const std::string& path, const Error&) { text += "! " + path + "; "; };
  const auto count = compare_trees(a, b, options);
  REQUIRE(count);
  return text;
}

void write_text(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

// A tree with one of everything that a user may make.
void fill(const std::string& top) {
  std::filesystem::create_directories(top + "/d/e");
  std::filesystem::create_directories(top + "/empty");
  write_text(top + "/d/small", "small");
  write_text(top + "/d/e/deep", "deep");
  write_text(top + "/large", std::string(3'000'000, 'l'));
  std::filesystem::create_symlink("d/small", top + "/link");
  REQUIRE(::mkfifo((top + "/pipe").c_str(), 0600) == 0);
  write_text(top + "/z", "z");
}

}  // namespace

TEST_CASE("a store is the same as what it was made from") {
  const TemporaryDirectory made;
  fill(made.path);
  ComparedStore store(made.path);
  CHECK(between(*store.tree(), *directory_tree(made.path)).empty());
  CHECK(between(*directory_tree(made.path), *store.tree()).empty());
  CHECK(between(*store.tree(), *store.tree()).empty());
  CHECK(between(*store.tree("d"), *directory_tree(made.path + "/d")).empty());
  CHECK(between(*store.tree("d/small"), *directory_tree(made.path + "/d/small")).empty());
  CHECK(between(*store.tree("link"), *directory_tree(made.path + "/link")).empty());
  CHECK(between(*store.tree("link"), *directory_tree(made.path + "/z")) == "C ; ");
  DifferenceOptions times;
  times.times = true;
  CHECK(between(*store.tree(), *directory_tree(made.path), times).empty());
}

TEST_CASE("what a store notes of killed transfers is no difference") {
  const TemporaryDirectory made;
  fill(made.path);
  ComparedStore store(made.path);
  REQUIRE(store.fs->setxattr(kRootInode, "user.cffs.transfers", "7 12 15\n", XattrMode::any,
                             Caller::privileged()));
  CHECK(between(*store.tree(), *directory_tree(made.path)).empty());
  CHECK(between(*directory_tree(made.path), *store.tree()).empty());
}

TEST_CASE("every kind of difference has its letter") {
  const TemporaryDirectory made;
  const std::string top = made.path;
  fill(top);
  ComparedStore store(top);
  const auto differs = [&](DifferenceOptions options = {}) {
    const std::string one = between(*store.tree(), *directory_tree(top), options);
    std::string other = between(*directory_tree(top), *store.tree(), options);
    for (char& c : other) c = c == '<' ? '>' : c == '>' ? '<' : c;
    CHECK(one == other);
    return one;
  };
  SECTION("content of the same size, in its last byte") {
    const int fd = ::open((top + "/large").c_str(), O_WRONLY);
    REQUIRE(::pwrite(fd, "x", 1, 2'999'999) == 1);
    ::close(fd);
    CHECK(differs() == "C large; ");
    DifferenceOptions options;
    options.contents = false;
    CHECK(differs(options).empty());
  }
  SECTION("size") {
    write_text(top + "/d/small", "smaller");
    CHECK(differs() == "C d/small; ");
  }
  SECTION("permissions, several at once, and in order of names") {
    ::chmod((top + "/z").c_str(), 0600);
    ::chmod((top + "/d/e").c_str(), 0700);
    write_text(top + "/z", "y");
    CHECK(differs() == "P d/e; CP z; ");
    DifferenceOptions options;
    options.permissions = false;
    CHECK(differs(options) == "C z; ");
  }
  SECTION("the start's own") {
    ::chmod(top.c_str(), 0500);
    CHECK(differs() == "P ; ");
  }
  SECTION("names, of a directory the top alone") {
    std::filesystem::remove_all(top + "/d");
    write_text(top + "/new", "");
    write_text(top + "/zz", "");
    std::filesystem::create_directories(top + "/more/below");
    CHECK(differs() == "< d; > more; > new; > zz; ");
  }
  SECTION("type: nothing else is said of it") {
    std::filesystem::remove_all(top + "/d");
    write_text(top + "/d", "a file");
    CHECK(differs() == "T d; ");
  }
  SECTION("the target of a link, not what it leads to") {
    std::filesystem::remove(top + "/link");
    std::filesystem::create_symlink("z", top + "/link");
    CHECK(differs() == "L link; ");
  }
  SECTION("extended attributes: one more, another value") {
    if (::setxattr((top + "/z").c_str(), "user.new", "1", 1, 0) != 0) return;
    CHECK(differs() == "X z; ");
    REQUIRE(store.fs->setxattr(store.at("z"), "user.new", "2", XattrMode::any, kRoot));
    CHECK(differs() == "X z; ");
    REQUIRE(store.fs->setxattr(store.at("z"), "user.new", "1", XattrMode::any, kRoot));
    CHECK(differs().empty());
    REQUIRE(store.fs->setxattr(store.at("d"), "user.other", "1", XattrMode::any, kRoot));
    DifferenceOptions options;
    options.xattrs = false;
    CHECK(differs(options).empty());
    CHECK(differs() == "X d; ");
  }
  SECTION("owners") {
    AttributeChange change;
    change.gid = 4711;
    REQUIRE(store.fs->setattr(store.at("pipe"), change, kRoot));
    CHECK(differs() == "O pipe; ");
    DifferenceOptions options;
    options.owners = false;
    CHECK(differs(options).empty());
  }
  SECTION("times, where they are asked for, to the second where one has no more") {
    const timespec later[2] = {{0, UTIME_OMIT}, {1'000'000'000, 0}};
    REQUIRE(::utimensat(AT_FDCWD, (top + "/z").c_str(), later, 0) == 0);
    CHECK(differs().empty());
    DifferenceOptions options;
    options.times = true;
    CHECK(differs(options) == "M z; ");
    AttributeChange change;
    change.mtime_ns = 1'000'000'000'999'999'999;
    REQUIRE(store.fs->setattr(store.at("z"), change, kRoot));
    CHECK(differs(options).empty());
    change.mtime_ns = 999'999'999'999'999'999;
    REQUIRE(store.fs->setattr(store.at("z"), change, kRoot));
    CHECK(differs(options) == "M z; ");
  }
  if (::geteuid() == 0) {
    SECTION("device numbers") {
      REQUIRE(store.fs->mknod(kRootInode, "dev", S_IFCHR | 0600, makedev(1, 3), kRoot));
      REQUIRE(::mknod((top + "/dev").c_str(), S_IFCHR | 0600, makedev(1, 5)) == 0);
      REQUIRE(::chmod((top + "/dev").c_str(), 0600) == 0);
      DifferenceOptions options;
      options.owners = false;
      CHECK(differs(options) == "N dev; ");
    }
  }
}

TEST_CASE("what cannot be read is told of, and the rest is compared") {
  const TemporaryDirectory made;
  const std::string top = made.path;
  fill(top);
  ComparedStore store(top);
  write_text(top + "/z", "y");
  auto tree = directory_tree(top);
  auto other = store.tree();
  std::string text;
  DifferenceOptions options;
  // Gone after it was listed.
  options.found = [&](const Difference& d) { text += d.kinds + " " + d.path + "; "; };
  options.go_on = [&] {
    std::filesystem::remove(top + "/large");
    return true;
  };
  options.trouble = [&](const std::string& path, const Error& error) {
    text += "! " + path + " " + std::to_string(error.errno_value) + "; ";
  };
  const auto count = compare_trees(*tree, *other, options);
  REQUIRE(count);
  CHECK(text == "! large " + std::to_string(ENOENT) + "; C z; ");
  CHECK(count->troubles == 1);
  CHECK(count->differences == 1);
  options.go_on = [] { return false; };
  CHECK(compare_trees(*directory_tree(top), *store.tree(), options).error().errno_value == EINTR);
  CHECK_FALSE(compared_directory(top + "/gone"));
  CHECK_FALSE(compared_store_tree(*store.fs, "gone", "gone"));
}

TEST_CASE("trees deeper than a process may have files open are compared") {
  const TemporaryDirectory made;
  constexpr int kLevels = 300;
  int at = ::open(made.path.c_str(), O_RDONLY | O_DIRECTORY);
  for (int i = 0; i < kLevels; ++i) {
    REQUIRE(::mkdirat(at, "d", 0755) == 0);
    const int next = ::openat(at, "d", O_RDONLY | O_DIRECTORY);
    ::close(at);
    at = next;
  }
  ::close(at);
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit few{200, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  const std::string text = between(*directory_tree(made.path), *directory_tree(made.path));
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(text.empty());
}

}  // namespace cffs::test
