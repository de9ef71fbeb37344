// What an import leaves out, what it finds in a store, and which archives names stand for.
#include "core/transfer/import_rules.h"

#include <unistd.h>

#include <catch2/catch.hpp>

#include "core/object/memory_store.h"
#include "core/transfer/archive_form.h"
#include "core/transfer/existing_files.h"
#include "core/transfer/import_target.h"
#include "core/transfer/store_destination.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"

namespace cffs::test {

TEST_CASE("patterns leave out what rsync's would", "[transfer]") {
  struct Case {
    const char* pattern;
    const char* path;
    bool is_directory, matches;
  };
  for (const Case& c : std::initializer_list<Case>{{"*.o", "a/b/x.o", false, true},
                                                   {"*.o", "x.o.c", false, false},
                                                   {"x", "a/x", true, true},
                                                   {"x", "a/xy", true, false},
                                                   {".git/", "a/.git", true, true},
                                                   {".git/", "a/.git", false, false},
                                                   {"/tmp", "tmp", true, true},
                                                   {"/tmp", "a/tmp", true, false},
                                                   {"build/out", "a/build/out", false, true},
                                                   {"build/out", "build/out", false, true},
                                                   {"build/out", "abuild/out", false, false},
                                                   {"build/*", "build/a", false, true},
                                                   {"/build/*", "build/a/b", false, false},
                                                   {"/build/**", "build/a/b", false, true},
                                                   {"a?c", "abc", false, true},
                                                   {"a?c", "x/a/c", false, false},
                                                   {"[ab]", "b", false, true},
                                                   {"", "b", false, false}}) {
    INFO(c.pattern << " " << c.path);
    CHECK(Excludes({c.pattern}).match(c.path, c.is_directory) == c.matches);
  }
  CHECK(Excludes({"a", "b"}).match("b", false));
  CHECK_FALSE(Excludes().match("b", false));
}

TEST_CASE("names stand for archives, for directories, or for what is not written", "[transfer]") {
  using Format = ArchiveForm::Format;
  using Filter = ArchiveForm::Filter;
  const auto form = [](const std::string& name) { return archive_form(name).value().value(); };
  CHECK(form("-").format == Format::tar);
  CHECK(form("a.tar").filter == Filter::none);
  CHECK(form("a.tar.gz").filter == Filter::gzip);
  CHECK(form("a.tgz").filter == Filter::gzip);
  CHECK(form("a.tar.bz2").filter == Filter::bzip2);
  CHECK(form("a.cpio.zst").format == Format::cpio);
  CHECK(form("a.cpio.zst").filter == Filter::zstd);
  CHECK(form("a.zip").format == Format::zip);
  for (const char* const directory : {"a", "a.d", "a.gz/", "a.zip/", "zip", "tar"}) {
    INFO(directory);
    const auto none = archive_form(directory);
    REQUIRE(none);
    CHECK_FALSE(*none);
  }
  for (const char* const other : {"a.7z", "a.rar", "a.tar.lz4", "a.iso", "a.gz", "a.zst"}) {
    INFO(other);
    const auto refused = archive_form(other);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == ErrorKind::usage);
  }
}

TEST_CASE("a tree of any depth is taken away, and nothing else", "[transfer]") {
  MemoryStore store;
  REQUIRE(FileSystem::format(store, repeatable(), SystemClock()));
  const auto fs = std::move(*FileSystem::open(store, quiet()));
  const auto make = [&](InodeId parent, const std::string& name) {
    const auto made = fs->mknod(parent, name, S_IFREG | 0644, 0, kRoot);
    REQUIRE(made);
    fs->forget(made->ino, 1);
  };
  make(kRootInode, "stays");
  constexpr int kDeep = 30'000;
  InodeId at = kRootInode;
  for (int i = 0; i < kDeep; ++i) {
    const auto made = fs->mkdir(at, "d", 0755, kRoot);
    REQUIRE(made);
    if (at != kRootInode) fs->forget(at, 1);
    at = made->ino;
    if (i % 1000 == 0) make(at, "file");
  }
  fs->forget(at, 1);
  StoreDestination to(*fs);
  ExistingFiles existing(to, false);
  CHECK(existing.remove(kRootInode, "d").value() == kDeep + kDeep / 1000);
  const auto left = to.names(kRootInode);
  REQUIRE(left);
  REQUIRE(left->size() == 1);
  CHECK(left->front() == std::pair<std::string, bool>("stays", false));
  CHECK(existing.remove(kRootInode, "d").error().errno_value == ENOENT);
  REQUIRE(fs->close());
}

TEST_CASE("what is kept keeps every directory that it lies in", "[transfer]") {
  MemoryStore store;
  REQUIRE(FileSystem::format(store, repeatable(), SystemClock()));
  const auto fs = std::move(*FileSystem::open(store, quiet()));
  InodeId at = kRootInode;
  for (const char* const name : {"a", "b", "c"}) {
    at = fs->mkdir(at, name, 0755, kRoot)->ino;
    for (const char* const file : {"gone", "kept"}) REQUIRE(fs->mknod(at, file, S_IFREG | 0644, 0, kRoot));
  }
  StoreDestination to(*fs);
  ExistingFiles existing(to, false);
  const auto keep = [](std::string_view path, bool) { return path == "top/b/c/kept"; };
  CHECK(existing.remove(kRootInode, "a", keep, "top").value() == 5);
  CHECK(to.names(at).value() == std::vector{std::pair(std::string("kept"), false)});
  CHECK(existing.remove(kRootInode, "a").value() == 4);
  REQUIRE(fs->close());
}

TEST_CASE("who gives no files away has them himself, without set-id bits", "[transfer]") {
  constexpr uid_t kStranger = 4711;
  constexpr gid_t kStrangers = 4712;
  MemoryStore store;
  REQUIRE(FileSystem::format(store, repeatable(), SystemClock()));
  const auto fs = std::move(*FileSystem::open(store, quiet()));
  const auto wanted = [&](mode_t mode) {
    Inode inode;
    inode.mode = mode;
    inode.uid = kStranger;
    inode.gid = kStrangers;
    return inode;
  };
  const auto come = [&](StoreDestination& to, const std::string& name) {
    REQUIRE(to.make_file(kRootInode, name + "-large", wanted(S_IFREG | 06755),
                         [](const WriteAt&) { return Status(); }));
    Inode small = wanted(S_IFREG | 06755);
    small.size = 1;
    NewFile file;
    file.parent = kRootInode;
    file.name = name + "-small";
    file.inode = small;
    file.content = "x";
    std::vector<NewFile> files;
    files.push_back(std::move(file));
    REQUIRE(to.load(std::move(files)));
    const auto made = to.make_directory(kRootInode, name + "-directory", wanted(S_IFDIR | 02755));
    REQUIRE(made);
    to.settle_directory(*made, wanted(S_IFDIR | 02755));
    REQUIRE(to.make_node(kRootInode, name + "-pipe", wanted(S_IFIFO | 0640)));
  };
  const auto check = [&](const std::string& name, uid_t uid, gid_t gid, mode_t mode) {
    INFO(name);
    const auto found = fs->lookup(kRootInode, name);
    REQUIRE(found);
    fs->forget(found->ino, 1);
    CHECK(found->uid == uid);
    CHECK(found->gid == gid);
    CHECK((found->mode & 07777) == mode);
  };
  {
    StoreDestination keeps(*fs);
    CHECK(keeps.keeps_owners());
    come(keeps, "roots");
    StoreDestination gives_none(*fs, false);
    CHECK_FALSE(gives_none.keeps_owners());
    come(gives_none, "own");
  }
  for (const char* const what : {"large", "small"}) {
    check(std::string("roots-") + what, kStranger, kStrangers, 06755);
    check(std::string("own-") + what, ::geteuid(), ::getegid(), 0755);
  }
  check("roots-directory", kStranger, kStrangers, 02755);
  check("own-directory", ::geteuid(), ::getegid(), 02755);
  check("own-pipe", ::geteuid(), ::getegid(), 0640);
  REQUIRE(fs->close());
}

TEST_CASE("what is there is the same by size and time, or by content", "[transfer]") {
  MemoryStore store;
  REQUIRE(FileSystem::format(store, repeatable(), SystemClock()));
  const auto fs = std::move(*FileSystem::open(store, quiet()));
  using What = ExistingFiles::What;
  const auto made = fs->mknod(kRootInode, "file", S_IFREG | 0644, 0, kRoot);
  REQUIRE(fs->write(made->ino, 0, as_bytes(std::string("text")), kRoot));
  AttributeChange change;
  change.mtime_ns = 5'000'000'007;
  const auto attributes = fs->setattr(made->ino, change, kRoot);
  REQUIRE(attributes);
  fs->forget(made->ino, 1);
  Inode wanted;
  wanted.mode = S_IFREG | 0644;
  wanted.uid = attributes->uid;
  wanted.gid = attributes->gid;
  wanted.size = 4;
  wanted.mtime_ns = 5'000'000'007;
  StoreDestination to(*fs);
  ExistingFiles by_time(to, false), by_content(to, true);
  const auto look = [&](ExistingFiles& existing, bool same) {
    return existing.look(kRootInode, "file", wanted, [&](const ReadAt&) { return same; }).value();
  };
  CHECK(look(by_time, false).what == What::same);
  CHECK_FALSE(look(by_time, false).attributes_differ);
  CHECK(look(by_content, false).what == What::differs);
  CHECK(look(by_content, true).what == What::same);
  wanted.mode = S_IFREG | 0600;
  CHECK(look(by_time, false).attributes_differ);
  wanted.mtime_ns += 1;
  CHECK(look(by_time, false).what == What::differs);
  CHECK(look(by_content, true).what == What::same);
  wanted.size = 5;
  CHECK(look(by_content, true).what == What::differs);
  wanted.mode = S_IFLNK | 0777;
  CHECK(look(by_time, true).what == What::differs);
  REQUIRE(fs->mkdir(kRootInode, "directory", 0755, kRoot));
  CHECK(by_time.look(kRootInode, "directory", wanted, {})->what == What::directory);
  CHECK(by_time.look(kRootInode, "nothing", wanted, {})->what == What::nothing);
  by_time.is_new(kRootInode);
  CHECK(look(by_time, true).what == What::nothing);
}

TEST_CASE("what could not be read is not taken for gone by who deletes", "[transfer]") {
  MemoryStore store;
  REQUIRE(FileSystem::format(store, repeatable(), SystemClock()));
  const auto fs = std::move(*FileSystem::open(store, quiet()));
  for (const std::string name : {"read", "not read"}) {
    const auto made = fs->mknod(kRootInode, name, S_IFREG | 0644, 0, kRoot);
    REQUIRE(made);
    fs->forget(made->ino, 1);
  }
  ImportRules rules;
  rules.update = rules.erase = true;
  const bool fails = GENERATE(true, false);
  ImportTarget target(*fs, 1, {}, std::move(rules));
  if (fails) target.failed("a directory of the source that cannot be listed");
  target.only(kRootInode, "", {"read"});
  REQUIRE(fs->lookup(kRootInode, "read"));
  REQUIRE(fs->lookup(kRootInode, "not read").has_value() == fails);
}

}  // namespace cffs::test
