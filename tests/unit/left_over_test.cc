// What a killed transfer left goes with the next one, and no file of a user's that only has such a name.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "core/object/memory_store.h"
#include "core/transfer/directory_destination.h"
#include "core/transfer/directory_import.h"
#include "core/transfer/export.h"
#include "core/transfer/import_target.h"
#include "core/transfer/store_destination.h"
#include "core/transfer/transfer_list.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/unit/temporary_directory.h"

namespace cffs::test {
namespace {

using Names = std::set<std::string>;

void put(const std::string& path, const std::string& text = "text") { std::ofstream(path) << text; }

Inode file_of(mode_t mode) {
  Inode inode;
  inode.mode = mode;
  inode.uid = ::geteuid();
  inode.gid = ::getegid();
  inode.target = "away";
  return inode;
}

Names names_in(Destination& to, InodeId directory = kRootInode) {
  Names names;
  const auto there = to.names(directory);
  REQUIRE(there);
  for (const auto& [name, is_directory] : *there) names.insert(name);
  return names;
}

// Temporaries of each kind, in the root and below; nothing takes them away. Returns nothing: it is another process's.
void leave_temporaries(Destination& to) {
  const CopyFile copy = [](const WriteAt& write) { return write(0, "half"); };
  Inode first = file_of(S_IFREG | 0600);
  first.size = 4;
  (void)to.make_file(kRootInode, to.temporary_name(), first, copy);
  (void)to.make_node(kRootInode, to.temporary_name(), file_of(S_IFLNK | 0777));
  (void)to.make_node(kRootInode, to.temporary_name(), file_of(S_IFIFO | 0600));
  const auto below = to.make_directory(kRootInode, "below", file_of(S_IFDIR | 0755));
  if (below) (void)to.make_file(*below, to.temporary_name(), first, copy);
}

struct OneStore {
  MemoryStore store;
  std::unique_ptr<FileSystem> fs;
  OneStore() {
    REQUIRE(FileSystem::format(store, repeatable(), SystemClock()));
    fs = std::move(*FileSystem::open(store, quiet()));
  }
  ImportReport import(const std::string& from, ImportRules rules = {}) {
    ImportTarget target(*fs, 2, nullptr, std::move(rules));
    REQUIRE(target.begin_at(""));
    REQUIRE(import_directory(from, target));
    return target.finish().value();
  }
};

}  // namespace

TEST_CASE("a user's file with a temporary's name stays in a store", "[transfer]") {
  OneStore store;
  TemporaryDirectory first, other;
  put(first.path + "/.cffs-import-20261128-1");
  put(first.path + "/.cffs-import-1-0");
  put(other.path + "/other");
  REQUIRE(store.import(first.path).files == 2);
  CHECK(store.import(other.path).left_over == 0);
  StoreDestination to(*store.fs);
  CHECK(names_in(to) == Names{".cffs-import-1-0", ".cffs-import-20261128-1", "other"});
  REQUIRE(store.fs->close());
}

TEST_CASE("what a killed import left in a store goes with the next, and no copy of it", "[transfer]") {
  OneStore store;
  TemporaryDirectory source;
  {
    StoreDestination killed(*store.fs);
    REQUIRE(killed.begin());
    leave_temporaries(killed);
  }
  Names left;
  {
    StoreDestination look(*store.fs);
    left = names_in(look);
    REQUIRE(left.size() == 4);
  }
  std::filesystem::create_directory(source.path + "/below");
  put(source.path + "/below/file");
  CHECK(store.import(source.path).left_over == 4);
  // What comes by such a name after that is somebody's.
  left.erase("below");
  for (const std::string& name : left) put(source.path + "/" + name);
  CHECK(store.import(source.path).files == 3);
  CHECK(store.import(source.path).left_over == 0);
  StoreDestination to(*store.fs);
  left.insert("below");
  CHECK(names_in(to) == left);
  REQUIRE(store.fs->close());
}

TEST_CASE("an import that replaces files and comes to its end leaves no trace of that", "[transfer]") {
  OneStore store;
  TemporaryDirectory source;
  put(source.path + "/file");
  REQUIRE(store.import(source.path).files == 1);
  put(source.path + "/file", "another text");
  ImportRules rules;
  rules.update = true;
  CHECK(store.import(source.path, rules).updated == 1);
  CHECK_FALSE(store.fs->getxattr(kRootInode, "user.cffs.transfers"));
  REQUIRE(store.fs->close());
}

TEST_CASE("a user's file with a temporary's name stays where an export goes", "[transfer]") {
  OneStore store;
  TemporaryDirectory plain;
  put(plain.path + "/.cffs-import-20261128-1");
  put(plain.path + "/.cffs-transfer-1-0", "cffs: names of a transfer that is under way, in the list 1\n");
  REQUIRE(export_directory(*store.fs, "", plain.path));
  CHECK(std::filesystem::exists(plain.path + "/.cffs-import-20261128-1"));
  CHECK(std::filesystem::exists(plain.path + "/.cffs-transfer-1-0"));
  REQUIRE(store.fs->close());
}

TEST_CASE("what a killed export left goes with the next, and no copy of it", "[transfer]") {
  OneStore store;
  TemporaryDirectory plain, copy;
  const pid_t child = ::fork();
  if (child == 0) {
    const auto to = DirectoryDestination::at(plain.path, false);
    if (to) leave_temporaries(**to);
    ::_exit(to ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  const auto count = [](const std::string& path) {
    const auto all = std::filesystem::recursive_directory_iterator(path);
    return std::distance(begin(all), end(all));
  };
  REQUIRE(count(plain.path) == 6);  // with the list
  for (const auto& entry : std::filesystem::directory_iterator(plain.path)) {
    if (entry.is_regular_file())
      std::filesystem::copy(entry.path(), std::filesystem::path(copy.path) / entry.path().filename());
  }
  const auto report = export_directory(*store.fs, "", plain.path);
  REQUIRE(report);
  CHECK(report->left_over == 4);
  CHECK(count(plain.path) == 1);
  const auto again = export_directory(*store.fs, "", copy.path);
  REQUIRE(again);
  CHECK(again->left_over == 0);
  CHECK(count(copy.path) == 2);
  REQUIRE(store.fs->close());
}

TEST_CASE("what a transfer left that was killed at any moment goes with the next", "[transfer]") {
  TemporaryDirectory plain;
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      const auto to = DirectoryDestination::at(plain.path, false);
      if (to) leave_temporaries(**to);
      ::pause();
    }
    ::usleep(static_cast<useconds_t>(random() % 1500));
    REQUIRE(::kill(child, SIGKILL) == 0);
    REQUIRE(::waitpid(child, nullptr, 0) == child);
    const auto next = std::move(*DirectoryDestination::at(plain.path, false));
    REQUIRE(next->begin());
    const Names left = names_in(*next);
    CAPTURE(left);
    CHECK((left.empty() || left == Names{"below"}));
    if (!left.empty()) CHECK(names_in(*next, next->enter(kRootInode, "below", false).value()).empty());
    std::filesystem::remove_all(plain.path + "/below");
  }
}

TEST_CASE("what a transfer expected by its name alone goes as long as it has nothing in it", "[transfer]") {
  TemporaryDirectory plain;
  const pid_t child = ::fork();
  if (child == 0) {
    const FileDescriptor folder(::open(plain.path.c_str(), O_RDONLY | O_DIRECTORY));
    TransferList list(folder.get());
    for (const char* name :
         {".cffs-import-7-0", ".cffs-import-7-1", ".cffs-import-7-2", ".cffs-import-7-3", "file"})
      list.expect(name);
    put(plain.path + "/.cffs-import-7-0", "");
    put(plain.path + "/.cffs-import-7-1", "somebody's");
    std::filesystem::create_symlink("away", plain.path + "/.cffs-import-7-2");
    std::filesystem::create_directory(plain.path + "/.cffs-import-7-3");
    put(plain.path + "/file", "");
    ::_exit(0);
  }
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  const auto to = std::move(*DirectoryDestination::at(plain.path, false));
  CHECK(to->begin().value() == 2);
  CHECK(names_in(*to) == Names{".cffs-import-7-1", ".cffs-import-7-3", "file"});
}

TEST_CASE("what a transfer left that had replaced millions goes with the next", "[transfer]") {
  TemporaryDirectory plain;
  const pid_t child = ::fork();
  if (child == 0) {
    const FileDescriptor folder(::open(plain.path.c_str(), O_RDONLY | O_DIRECTORY));
    TransferList list(folder.get());
    const std::string long_path = "gone/" + std::string(4000, 'x') + "/.cffs-import-7-";
    for (int i = 0; i < 20'000; ++i) list.expect(long_path + std::to_string(i));  // 80 MB
    list.expect(".cffs-import-7-0");
    put(plain.path + "/.cffs-import-7-0", "");
    ::_exit(0);
  }
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  const auto to = std::move(*DirectoryDestination::at(plain.path, false));
  CHECK(to->begin().value() == 1);
  CHECK(names_in(*to).empty());
}

TEST_CASE("what lives is not taken for killed, nor its list for what is to go", "[transfer]") {
  OneStore store;
  TemporaryDirectory plain;
  auto living = std::move(*DirectoryDestination::at(plain.path, false));
  leave_temporaries(*living);
  const auto report = export_directory(*store.fs, "", plain.path);
  REQUIRE(report);
  CHECK(report->left_over == 0);
  CHECK(names_in(*living).size() == 5);
  ImportRules rules;
  rules.update = rules.erase = true;
  REQUIRE(export_directory(*store.fs, "", plain.path, rules));
  CHECK(names_in(*living).size() == 1);  // its list
  living.reset();
  CHECK(std::filesystem::is_empty(plain.path));
  REQUIRE(store.fs->close());
}

}  // namespace cffs::test
