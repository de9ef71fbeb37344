// Import and export at their edges: what could not be exported is not counted, and trees and archives that somebody made to do
// harm end with a sentence.
#include <fcntl.h>
#include <malloc.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "core/fs/file_system.h"
#include "core/object/file_descriptor.h"
#include "core/object/memory_store.h"
#include "core/transfer/archive_import.h"
#include "core/transfer/directory_destination.h"
#include "core/transfer/directory_import.h"
#include "core/transfer/export.h"
#include "core/transfer/import_target.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/unit/failing_writeback.h"
#include "tests/unit/object_bytes.h"
#include "tests/unit/temporary_directory.h"

namespace cffs::test {
namespace {

struct TransferStore {
  MemoryStore store;
  std::unique_ptr<FileSystem> fs;
  TransferStore() {
    REQUIRE(FileSystem::format(store, repeatable(), SystemClock()));
    fs = std::move(*FileSystem::open(store, quiet()));
  }
  void file(const std::string& name, std::size_t bytes) {
    const auto made = fs->mknod(kRootInode, name, S_IFREG | 0644, 0, kRoot);
    REQUIRE(fs->write(made->ino, 0, as_bytes(std::string(bytes, 'x')), kRoot));
    fs->forget(made->ino, 1);
  }
  std::string content(const std::string& name) {
    const auto found = fs->lookup(kRootInode, name);
    REQUIRE(found);
    std::string bytes(found->size, '\0');
    REQUIRE(fs->read(found->ino, 0, as_writable_bytes(bytes)) == bytes.size());
    fs->forget(found->ino, 1);
    return bytes;
  }
  ImportReport import(const std::string& from, Status& done) {
    ImportTarget target(*fs, 2, nullptr);
    struct stat st;
    REQUIRE(::stat(from.c_str(), &st) == 0);
    done = S_ISDIR(st.st_mode) ? import_directory(from, target) : import_archive(from, target);
    return target.finish().value();
  }
};

// Names of one letter, each in the one before, with a file at the bottom.
void make_deep(const std::string& top, int levels) {
  FileDescriptor at(::open(top.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; i < levels; ++i) {
    REQUIRE(::mkdirat(at.get(), "d", 0755) == 0);
    at = FileDescriptor(::openat(at.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(at);
  }
  const FileDescriptor file(::openat(at.get(), "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  REQUIRE(::write(file.get(), "deep", 4) == 4);
}
void remove_deep(const std::string& top) {
  FileDescriptor at(::open(top.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (;;) {
    FileDescriptor below(::openat(at.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!below) break;
    at = std::move(below);
  }
  (void)::unlinkat(at.get(), "file", 0);
  for (;;) {
    FileDescriptor up(::openat(at.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (::unlinkat(up.get(), "d", AT_REMOVEDIR) != 0) return;
    at = std::move(up);
  }
}

int depth_of(FileSystem& fs) {
  InodeId at = kRootInode;
  for (int depth = 0;; ++depth) {
    const auto below = fs.lookup(at, "d");
    if (!below) {
      const auto file = fs.lookup(at, "file");
      REQUIRE(file);
      CHECK(file->size == 4);
      return depth;
    }
    at = below->ino;
  }
}

std::string octal(std::uint64_t value, std::size_t digits) {
  std::string text(digits, '0');
  for (std::size_t i = digits; i-- > 0; value /= 8) text[i] = static_cast<char>('0' + value % 8);
  return text;
}

// A header of a tar archive, ustar's.
std::string header(const std::string& name, char type, std::uint64_t size, const std::string& link = {},
                   std::uint64_t mode = 0644) {
  std::string block(512, '\0');
  name.copy(block.data(), 100);
  octal(mode, 7).copy(block.data() + 100, 7);
  octal(0, 7).copy(block.data() + 108, 7);
  octal(0, 7).copy(block.data() + 116, 7);
  octal(size, 11).copy(block.data() + 124, 11);
  octal(0, 11).copy(block.data() + 136, 11);
  block.replace(148, 8, 8, ' ');
  block[156] = type;
  link.copy(block.data() + 157, 100);
  std::string("ustar\00000", 8).copy(block.data() + 257, 8);
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  octal(sum, 6).copy(block.data() + 148, 6);
  block[154] = '\0';
  return block;
}
std::string padded(std::string bytes) {
  bytes.resize((bytes.size() + 511) / 512 * 512);
  return bytes;
}
std::string pax(const std::string& key, const std::string& value) {
  std::size_t length = key.size() + value.size() + 3;
  length += std::to_string(length + std::to_string(length).size()).size();
  const std::string record = std::to_string(length) + " " + key + "=" + value + "\n";
  return header("pax", 'x', record.size()) + padded(record);
}
// A member of a cpio archive, newc's.
std::string newc(const std::string& name, unsigned number, unsigned links, const std::string& data,
                 unsigned mode = S_IFREG | 0644) {
  std::string text = "070701";
  const auto add = [&](std::size_t value) {
    char digits[9];
    std::snprintf(digits, sizeof digits, "%08zx", value);
    text += digits;
  };
  for (const std::size_t value :
       {std::size_t{number}, std::size_t{mode}, std::size_t{0}, std::size_t{0}, std::size_t{links},
        std::size_t{0}, data.size(), std::size_t{0}, std::size_t{0}, std::size_t{0}, std::size_t{0},
        name.size() + 1, std::size_t{0}})
    add(value);
  const auto pad = [&] { text.resize((text.size() + 3) / 4 * 4); };
  text += name + std::string(1, '\0');
  pad();
  text += data;
  pad();
  return text;
}
void write_transferred(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::uint64_t bytes_held() {
  const struct mallinfo2 now = ::mallinfo2();
  return now.uordblks + now.hblkhd;
}

}  // namespace

TEST_CASE("an export counts what is there, and says what is not", "[transfer]") {
  TransferStore store;
  for (int i = 0; i < 30; ++i) store.file("f" + std::to_string(i), 100);
  REQUIRE(store.fs->mkdir(kRootInode, "d", 0755, kRoot));
  const TemporaryDirectory target;
  SECTION("to a directory where some names are taken") {
    for (int i = 0; i < 25; ++i) write_transferred(target.path + "/f" + std::to_string(i), "another's");
    const auto report = export_directory(*store.fs, "", target.path);
    REQUIRE(report);
    CHECK(report->files == 5);
    CHECK(report->bytes == 500);
    CHECK(report->directories == 1);  // below the one that is exported
    CHECK(report->failed == 25);
    CHECK(report->problems.size() == 20);
  }
  SECTION("of files that are damaged") {
    store.file("large", 3'000'000);
    const auto names = store.store.list("blobs");
    REQUIRE(names->size() == 1);
    REQUIRE((*store.store.open(names->front()))->truncate(1000));
    for (const bool archive : {false, true}) {
      const auto report = archive ? export_archive(*store.fs, "", target.path + "/a.tar", {})
                                  : export_directory(*store.fs, "", target.path + "/out");
      REQUIRE(report);
      CHECK(report->files == 30);
      CHECK(report->bytes == 3000);
      CHECK(report->failed == 1);
      CHECK(report->problems.size() == 1);
    }
    TransferStore again;  // the archive is whole
    Status done;
    CHECK(again.import(target.path + "/a.tar", done).files == 31);
    CHECK(done);
  }
}

TEST_CASE("an export that is not known to be durable has failed, and the archive before it stays",
          "[transfer]") {
  TransferStore store;
  store.file("file", 100);
  const TemporaryDirectory target;
  const std::string archive = target.path + "/a.tar";
  write_transferred(archive, "before");
  failing_fsync = EIO;
  CHECK_FALSE(export_archive(*store.fs, "", archive, {}));
  REQUIRE(std::filesystem::file_size(archive) == 6);
  REQUIRE(export_archive(*store.fs, "", archive, {}));
  CHECK(std::filesystem::file_size(archive) > 6);
  const auto to = std::move(*DirectoryDestination::at(target.path, false));
  for (std::atomic<int>* const failing : {&failing_syncfs, &failing_fsync}) {
    *failing = EIO;
    CHECK_FALSE(to->sync());
    REQUIRE(to->sync());
  }
}

// A name is never seen before what it names: a power cut would show it so. (A kernel that says that it could not write stands for one
// that had no time to.)
TEST_CASE("what replaces a file, or ends with a hole, is on the medium before it has its name",
          "[transfer]") {
  TransferStore store;
  store.file("file", 1'000'000);
  const TemporaryDirectory target;
  const auto size_there = [&](const std::string& name) {
    std::error_code none;
    const auto size = std::filesystem::file_size(target.path + "/" + name, none);
    return none ? -1 : static_cast<std::int64_t>(size);
  };
  REQUIRE(export_directory(*store.fs, "", target.path));
  const auto file = store.fs->lookup(kRootInode, "file");
  REQUIRE(store.fs->write(file->ino, 1'000'000, as_bytes(std::string("more")), kRoot));
  ImportRules update;
  update.update = true;
  failing_writeback = EIO;
  const auto failed = export_directory(*store.fs, "", target.path, update);
  CHECK(failing_writeback == 0);
  CHECK((!failed || failed->failed > 0));
  CHECK(size_there("file") == 1'000'000);
  REQUIRE(export_directory(*store.fs, "", target.path, update));
  CHECK(size_there("file") == 1'000'004);

  const auto to = std::move(*DirectoryDestination::at(target.path, false));
  Inode sparse;
  sparse.mode = S_IFREG | 0644;
  sparse.size = 1000;
  const auto text = [](const WriteAt& write) { return write(0, "text"); };
  failing_writeback = EIO;
  CHECK_FALSE(to->make_file(kRootInode, "sparse", sparse, text));
  CHECK(failing_writeback == 0);
  CHECK(size_there("sparse") == -1);
  REQUIRE(to->make_file(kRootInode, "sparse", sparse, text));
  CHECK(size_there("sparse") == 1000);
}

TEST_CASE("what lies where a tree goes is no way out of it, nor somebody else's any less", "[transfer]") {
  const TemporaryDirectory target, elsewhere;
  write_transferred(elsewhere.path + "/file", "another's");
  write_transferred(target.path + "/taken", "somebody's");
  REQUIRE(::symlink((elsewhere.path + "/file").c_str(), (target.path + "/link").c_str()) == 0);
  REQUIRE(::mkfifo((target.path + "/pipe").c_str(), 0644) == 0);
  const auto to = std::move(*DirectoryDestination::at(target.path, false));
  CHECK(to->open(kRootInode, "link").error().errno_value == ELOOP);
  CHECK(to->open(kRootInode, "pipe"));  // nobody writes to it, and nobody waits
  Inode pipe;
  pipe.mode = S_IFIFO | 0644;
  CHECK(to->make_node(kRootInode, "taken", pipe).error().errno_value == EEXIST);
  CHECK(to->look(kRootInode, "taken")->size == 10);
  CHECK(to->names(kRootInode)->size() == 3 + 1);  // and the list of those that have no name yet
}

TEST_CASE("who gives no files away exports without set-id bits, but those of directories", "[transfer]") {
  const TemporaryDirectory target;
  REQUIRE(::chmod(target.path.c_str(), 0777) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) ::_exit(2);
    const auto to = DirectoryDestination::at(target.path, false);
    Inode wanted;
    wanted.uid = wanted.gid = 12;
    wanted.mode = S_IFREG | 07755;
    const CopyFile copy = [](const WriteAt& write) { return write(0, "text"); };
    if (!to || !(*to)->make_file(kRootInode, "file", wanted, copy)) ::_exit(3);
    wanted.mode = S_IFDIR | 07755;
    const auto made = (*to)->make_directory(kRootInode, "directory", wanted);
    if (made) (*to)->settle_directory(*made, wanted);
    ::_exit(made ? 0 : 4);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  struct stat st {};
  REQUIRE(::stat((target.path + "/file").c_str(), &st) == 0);
  CHECK((st.st_mode & 07777) == 01755);
  REQUIRE(::stat((target.path + "/directory").c_str(), &st) == 0);
  CHECK((st.st_mode & 07777) == 07755);
}

TEST_CASE("a file that ends with a hole is as long where it goes", "[transfer]") {
  const TemporaryDirectory target;
  const auto to = std::move(*DirectoryDestination::at(target.path, false));
  Inode wanted;
  wanted.mode = S_IFREG | 0644;
  wanted.size = 5'000'000;
  REQUIRE(to->make_file(kRootInode, "file", wanted, [](const WriteAt& write) { return write(0, "text"); }));
  CHECK(std::filesystem::file_size(target.path + "/file") == 5'000'000);
}

TEST_CASE("names that are one file where they come and several in the source are parted", "[transfer]") {
  TransferStore from;
  TemporaryDirectory source, out;
  const std::string a = source.path + "/a", b = source.path + "/b";
  std::ofstream(a) << "secret";
  std::filesystem::create_hard_link(a, b);
  const auto import = [&](bool checksum) {
    ImportRules rules;
    rules.update = true;
    rules.checksum = checksum;
    ImportTarget target(*from.fs, 2, nullptr, rules);
    REQUIRE(import_directory(source.path, target));
    return target.finish().value();
  };
  const auto look = [&](const char* name) {
    const auto there = from.fs->lookup(kRootInode, name);
    REQUIRE(there);
    from.fs->forget(there->ino, 1);
    return *there;
  };
  REQUIRE(import(false).links == 1);
  REQUIRE(export_directory(*from.fs, "", out.path));
  // The same content and time, as another file.
  std::filesystem::copy_file(b, source.path + "/t");
  std::filesystem::last_write_time(source.path + "/t", std::filesystem::last_write_time(b));
  std::filesystem::rename(source.path + "/t", b);
  REQUIRE(::chmod(a.c_str(), 0600) == 0);
  REQUIRE(::chmod(b.c_str(), 0644) == 0);
  const bool checksum = GENERATE(false, true);
  CHECK(import(checksum).updated == 1);
  CHECK(look("a").ino != look("b").ino);
  CHECK((look("a").mode & 07777) == 0600);
  CHECK((look("b").mode & 07777) == 0644);
  CHECK(import(checksum).updated == 0);
  ImportRules rules;
  rules.update = true;
  rules.checksum = checksum;
  const auto report = export_directory(*from.fs, "", out.path, rules);
  REQUIRE(report);
  CHECK(report->updated == 1);
  struct stat at_a {
  }, at_b{};
  REQUIRE(::stat((out.path + "/a").c_str(), &at_a) == 0);
  REQUIRE(::stat((out.path + "/b").c_str(), &at_b) == 0);
  CHECK(at_a.st_ino != at_b.st_ino);
  CHECK((at_a.st_mode & 07777) == 0600);
  CHECK((at_b.st_mode & 07777) == 0644);
  REQUIRE(from.fs->close());
}

TEST_CASE("a hard link takes a directory's place where that may be", "[transfer]") {
  TransferStore to;
  TemporaryDirectory source;
  const std::string a = source.path + "/a", d = source.path + "/d";
  std::ofstream(a) << "text";
  std::filesystem::create_directories(d + "/below");
  const auto import = [&](bool update, bool erase) {
    ImportRules rules;
    rules.update = update;
    rules.erase = erase;
    ImportTarget target(*to.fs, 2, nullptr, rules);
    REQUIRE(import_directory(source.path, target));
    return target.finish().value();
  };
  REQUIRE(import(false, false).failed == 0);
  std::filesystem::remove_all(d);
  std::filesystem::create_hard_link(a, d);
  const ImportReport refused = import(true, false);
  REQUIRE(refused.problems.size() == 1);
  CHECK(refused.problems.front() == "'d' is a directory in the store; --update --delete replaces it");
  const ImportReport done = import(true, true);
  CHECK(done.failed == 0);
  CHECK(done.links == 1);
  CHECK(done.removed == 2);
  REQUIRE(to.fs->close());
}

TEST_CASE("a directory of any depth is imported", "[transfer]") {
  constexpr int kLevels = 5000;  // more than a path of the kernel's has
  const TemporaryDirectory source;
  make_deep(source.path, kLevels);
  TransferStore store;
  Status done;
  const ImportReport report = store.import(source.path, done);
  remove_deep(source.path);
  CHECK(done);
  for (const std::string& problem : report.problems) CHECK(problem.substr(0, 200) == "");
  CHECK(report.directories == kLevels);
  CHECK(report.files == 1);
  CHECK(depth_of(*store.fs) == kLevels);
}

TEST_CASE("an archive's deep path takes memory by its length", "[transfer]") {
  constexpr int kLevels = 40'000;
  const TemporaryDirectory directory;
  std::string path;
  for (int i = 0; i < kLevels; ++i) path += "d/";
  write_transferred(directory.path + "/deep.tar", pax("path", path + "file") + header("f", '0', 4) +
                                                      padded("deep") + std::string(1024, '\0'));
  TransferStore store;
  const std::uint64_t before = bytes_held();
  Status done;
  ImportReport report;
  std::uint64_t most = 0;
  {
    ImportTarget target(*store.fs, 1, [&](const ImportReport&) { most = std::max(most, bytes_held()); });
    done = import_archive(directory.path + "/deep.tar", target);
    report = target.finish().value();
  }
  CHECK((done ? std::string() : done.error().message()) == "");
  for (const std::string& problem : report.problems) CHECK(problem.substr(0, 200) == "");
  INFO(most - before << " bytes");
  CHECK(most - before < std::uint64_t{kLevels} * 4096);
  CHECK(depth_of(*store.fs) == kLevels);
}

TEST_CASE("of a large file is told how much has come while it comes", "[transfer]") {
  constexpr std::uint64_t kLarge = 64u << 20;
  const TemporaryDirectory directory;
  write_transferred(directory.path + "/large", std::string(kLarge, 'x'));
  TransferStore store;
  std::uint64_t steps = 0, most = 0, last = 0;
  {
    ImportTarget target(*store.fs, 1, [&](const ImportReport& r) {
      if (r.files > 0) last = r.under_way;
      if (r.under_way > most) ++steps;
      most = std::max(most, r.under_way);
    });
    REQUIRE(import_directory(directory.path, target));
    const ImportReport report = target.finish().value();
    CHECK(report.bytes == kLarge);
    CHECK(report.under_way == 0);
  }
  CHECK(steps >= 10);
  CHECK(most == kLarge);
  CHECK(last == 0);
}

// As tar -r and tar -u make it.
TEST_CASE("a name that an archive has twice leaves links to the first what they were", "[transfer]") {
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/twice.tar";
  const auto file = [](const char* name, const std::string& content) {
    return header(name, '0', content.size()) + padded(content);
  };
  const auto link = [](const char* name, const char* to) { return header(name, '1', 0, to); };
  write_transferred(path, file("a", "old") + link("b", "a") + link("c", "a") + file("a", "new one") +
                              file("c", "its own") + link("d", "c") + std::string(1024, '\0'));
  TransferStore store;
  Status done;
  const ImportReport report = store.import(path, done);
  REQUIRE(done);
  for (const std::string& problem : report.problems) CHECK(problem == "");
  CHECK(store.content("a") == "new one");
  CHECK(store.content("b") == "old");
  CHECK(store.content("c") == "its own");
  CHECK(store.content("d") == "its own");
  CHECK(report.files == 3);
  CHECK(report.links == 1);
}

TEST_CASE("a name that an archive has as a file, then as a link to another, is that link", "[transfer]") {
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/twice.tar";
  write_transferred(path, header("a", '0', 3) + padded("old") + header("b", '0', 3) + padded("new") +
                              header("a", '1', 0, "b") + header("b", '1', 0, "b") + std::string(1024, '\0'));
  TransferStore store;
  Status done;
  const ImportReport report = store.import(path, done);
  REQUIRE(done);
  for (const std::string& problem : report.problems) CHECK(problem == "");
  const auto a = store.fs->lookup(kRootInode, "a"), b = store.fs->lookup(kRootInode, "b");
  REQUIRE(a);
  REQUIRE(b);
  CHECK(a->ino == b->ino);
  CHECK(a->nlink == 2);
}

// Rows with other bits can be read by nobody, nor removed.
TEST_CASE("an archive's modes become those that a file can have", "[transfer]") {
  const TemporaryDirectory directory;
  std::string path = directory.path + "/modes.tar";
  std::vector<std::string> problems;
  SECTION("a tar's") {
    write_transferred(path, header("file", '0', 4, {}, 01000644) + padded("data") +
                                header("dir", '5', 0, {}, 01000755) + header("pipe", '6', 0, {}, 07000600) +
                                std::string(1024, '\0'));
  }
  SECTION("a cpio's, which has the type in it") {
    path = directory.path + "/modes.cpio";
    write_transferred(path, newc("file", 1, 1, "data", 0x10000 | S_IFREG | 0644) +
                                newc("strange", 2, 1, "", 0170000 | 0644) +
                                newc("dir", 3, 1, "", 0x30000 | S_IFDIR | 0755) +
                                newc("pipe", 4, 1, "", S_IFIFO | 0600) + newc("TRAILER!!!", 0, 1, "", 0));
    problems = {"'strange' is of a type that no file has; it was left out"};
  }
  TransferStore store;
  Status done;
  CHECK(store.import(path, done).problems == problems);
  REQUIRE(done);
  REQUIRE(store.fs->sync());
  std::map<std::string, mode_t> modes;
  REQUIRE(store.fs->readdir(kRootInode, 2, false, [&](const DirectoryEntry& entry) {
    modes.emplace(entry.name, entry.attributes.mode);
    return true;
  }));
  CHECK(modes == std::map<std::string, mode_t>{
                     {"dir", S_IFDIR | 0755}, {"file", S_IFREG | 0644}, {"pipe", S_IFIFO | 0600}});
  CHECK(store.fs->mknod(kRootInode, "new", S_IFMT | 0644, 0, kRoot).error().errno_value == EINVAL);
}

TEST_CASE("a name that comes twice in a cpio empties no other file", "[transfer]") {
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/twice.cpio";
  std::vector<std::string> problems;
  std::string expected = "content";
  std::string repeated = "d";
  SECTION("that of a file by itself") {}
  SECTION("the only one of those that wait for their data") { repeated = "only"; }
  SECTION("one of those that wait for their data") {
    repeated = "a";
    expected = "";
    problems = {"'c': its data comes after another member has taken one of its names; it is empty"};
  }
  write_transferred(path, newc("a", 1, 3, "") + newc("b", 1, 3, "") + newc("only", 4, 2, "") +
                              newc("d", 2, 1, "first") + newc(repeated, 3, 1, "last") +
                              newc("c", 1, 3, "content") + newc("late", 4, 2, "its own") +
                              newc("TRAILER!!!", 0, 1, "", 0));
  TransferStore store;
  Status done;
  CHECK(store.import(path, done).problems == problems);
  REQUIRE(done);
  CHECK(store.content(repeated) == "last");
  CHECK(store.content("b") == expected);
  CHECK(store.content("c") == expected);
  CHECK(store.content("late") == "its own");
}

TEST_CASE("what ends a gzip is looked at", "[transfer]") {
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/a.tar";
  write_transferred(path, header("file", '0', 4) + padded("data") + std::string(10240, '\0'));
  REQUIRE(std::system(
              ("gzip -k " + path + " && cat " + path + ".gz " + path + ".gz >" + path + "2.gz").c_str()) ==
          0);
  std::string bytes;
  {
    std::ifstream in(path + ".gz", std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  REQUIRE(bytes.size() > 60);
  const auto said = [&](const std::string& archive) {
    TransferStore store;
    Status done;
    (void)store.import(archive, done);
    return done ? std::string() : done.error().message();
  };
  CHECK(said(path) == "");
  CHECK(said(path + ".gz") == "");
  CHECK(said(path + "2.gz") == "");  // several are one
  std::string damaged = bytes;
  damaged[damaged.size() - 8] ^= 1;
  write_transferred(path + ".gz", damaged);
  CHECK(said(path + ".gz").find("its gzip data is damaged: ") != std::string::npos);
  damaged = bytes;
  damaged[damaged.size() - 1] ^= 1;
  write_transferred(path + ".gz", damaged);
  CHECK(said(path + ".gz").find("its gzip data is damaged: ") != std::string::npos);
  for (const std::size_t lost : {std::size_t{1}, std::size_t{8}, std::size_t{20}}) {
    write_transferred(path + ".gz", bytes.substr(0, bytes.size() - lost));
    CHECK(said(path + ".gz").find("its gzip data is cut off") != std::string::npos);
  }
}

// 1969-12-31 12:00:00.5, as pax(1) has it.
TEST_CASE("a time before 1970 has its fraction in an archive on either way", "[transfer]") {
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/early.tar", back = directory.path + "/back.tar";
  write_transferred(path, pax("mtime", "-43199.5") + header("half", '0', 0) + pax("mtime", "-43200") +
                              header("whole", '0', 0) + std::string(1024, '\0'));
  for (const std::string& archive : {path, back}) {
    TransferStore store;
    Status done;
    (void)store.import(archive, done);
    REQUIRE(done);
    const auto time_of = [&](const char* name) {
      const auto found = store.fs->lookup(kRootInode, name);
      REQUIRE(found);
      store.fs->forget(found->ino, 1);
      return found->mtime_ns;
    };
    CHECK(time_of("half") == -43'199'500'000'000);
    CHECK(time_of("whole") == -43'200'000'000'000);
    if (archive == path) REQUIRE(export_archive(*store.fs, "/", back, ArchiveForm{}, ImportRules{}, nullptr));
  }
}

// They cannot be held; the nearest that can be are the same on every machine.
TEST_CASE("an archive's times may be of any century", "[transfer]") {
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/times.tar";
  write_transferred(path, pax("mtime", "99999999999999") + header("late", '0', 0) +
                              pax("mtime", "-99999999999999") + header("early", '0', 0) +
                              pax("mtime", "1.5") + header("usual", '0', 0) + std::string(1024, '\0'));
  TransferStore store;
  Status done;
  const ImportReport report = store.import(path, done);
  REQUIRE(done);
  CHECK(report.files == 3);
  const auto time_of = [&](const std::string& name) {
    const auto found = store.fs->lookup(kRootInode, name);
    REQUIRE(found);
    store.fs->forget(found->ino, 1);
    return found->mtime_ns;
  };
  CHECK(time_of("late") == std::numeric_limits<std::int64_t>::max());
  CHECK(time_of("early") == std::numeric_limits<std::int64_t>::min());
  CHECK(time_of("usual") == 1'500'000'000);
  const auto exported = export_directory(*store.fs, "", directory.path + "/exported");
  REQUIRE(exported);
  CHECK(exported->files == 3);
  struct stat st {};
  REQUIRE(::stat((directory.path + "/exported/usual").c_str(), &st) == 0);
  CHECK(to_ns(st.st_mtim) == 1'500'000'000);
}

TEST_CASE("an archive whose header has no end is refused", "[transfer]") {
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/bomb.tar";
  std::ofstream out(path, std::ios::binary);
  const auto put = [&](const std::string& bytes) { out << bytes; };
  SECTION("a map of holes") {
    constexpr std::uint64_t kEntries = 8'000'000;
    std::string attributes;
    for (const auto& [key, value] : {std::pair{"GNU.sparse.major", "1"},
                                     {"GNU.sparse.minor", "0"},
                                     {"GNU.sparse.name", "sparse"},
                                     {"GNU.sparse.realsize", "100"}}) {
      const std::string body = std::string(" ") + key + "=" + value + "\n";
      std::size_t length = body.size() + 2;
      attributes += std::to_string(length) + body;
    }
    put(header("pax", 'x', attributes.size()) + padded(attributes));
    put(header("f", '0', 64 * kEntries));
    put(std::to_string(kEntries) + "\n");
    std::string lines;
    for (int i = 0; i < 100'000; ++i) lines += "0\n0\n";
    for (std::uint64_t done = 0; done < kEntries; done += 100'000) put(lines);
  }
  SECTION("headers of headers") {
    const std::string one = pax("comment", std::string(900'000, 'x'));
    for (int i = 0; i < 40; ++i) put(one);
    put(header("f", '0', 0));
  }
  out.close();
  REQUIRE(out);
  TransferStore store;
  const std::uint64_t before = bytes_held();
  Status done;
  std::uint64_t after = 0;
  {
    ImportTarget target(*store.fs, 1, nullptr);
    done = import_archive(path, target);
    after = bytes_held();
    REQUIRE(target.finish());
  }
  REQUIRE_FALSE(done);
  INFO(done.error().message());
  CHECK(done.error().message().find("header") != std::string::npos);
  CHECK(after - before < (200u << 20));
}

// Between the listing of files and their turn, when the next directory is entered.
TEST_CASE("what takes a file's place while its directory is imported leads nowhere", "[transfer]") {
  const TemporaryDirectory source, elsewhere;
  const auto write = [](const std::string& path, const std::string& text) { std::ofstream(path) << text; };
  REQUIRE(::mkdir((source.path + "/a").c_str(), 0755) == 0);
  REQUIRE(::mkdir((source.path + "/z").c_str(), 0755) == 0);
  write(source.path + "/a/file", "mine");
  write(source.path + "/z/other", "mine");
  write(elsewhere.path + "/file", "somebody's");
  const std::string file = source.path + "/a/file", moved = source.path + "/.a";
  std::function<void()> swap;
  std::string problem;
  std::uint64_t files = 1;
  SECTION("a link in the place of a directory") {
    swap = [&] {
      REQUIRE(::rename((source.path + "/a").c_str(), moved.c_str()) == 0);
      REQUIRE(::symlink(elsewhere.path.c_str(), (source.path + "/a").c_str()) == 0);
    };
    problem = file + ": " + std::strerror(ELOOP);
  }
  SECTION("a pipe that nobody writes to") {
    swap = [&] {
      REQUIRE(::unlink(file.c_str()) == 0);
      REQUIRE(::mkfifo(file.c_str(), 0644) == 0);
    };
    problem = file + " became something else meanwhile; the same command looks at it again";
  }
  SECTION("a file of any size") {
    swap = [&] { REQUIRE(::truncate(file.c_str(), off_t{1} << 42) == 0); };
    problem = file + " grew while it was imported; the same command looks at it again";
  }
  SECTION("another's file comes with its mode") {
    swap = [&] {
      REQUIRE(::chmod((elsewhere.path + "/file").c_str(), 0600) == 0);
      REQUIRE(::rename((elsewhere.path + "/file").c_str(), file.c_str()) == 0);
    };
    files = 2;
  }
  TransferStore store;
  Status done;
  ImportReport report;
  {
    ImportTarget target(*store.fs, 1, [&](const ImportReport& r) {
      if (r.directories == 2 && swap) std::exchange(swap, nullptr)();
    });
    done = import_directory(source.path, target);
    report = target.finish().value();
  }
  CHECK(done);
  CHECK_FALSE(swap);
  CHECK(report.files == files);
  REQUIRE(report.problems.size() == 2 - files);
  if (files == 1) {
    CHECK(report.problems.front() == problem);
    return;
  }
  const auto directory = store.fs->lookup(kRootInode, "a");
  const auto there = store.fs->lookup(directory->ino, "file");
  REQUIRE(there);
  CHECK((there->mode & 07777) == 0600);
  store.fs->forget(there->ino, 1);
  store.fs->forget(directory->ino, 1);
}

}  // namespace cffs::test
