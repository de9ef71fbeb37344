// Backups in directories: links, names that are exchanged, what is cleared away, what is refused.
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <set>

#include "core/backup/backup_job.h"
#include "core/object/posix_store.h"
#include "tests/unit/backed_up_store.h"
#include "tests/unit/temporary_directory.h"

namespace cffs::test {
namespace {

struct OnDisk {
  TemporaryDirectory directory;
  std::string source = directory.path + "/store";
  std::unique_ptr<PosixStore> store;
  std::optional<Used> used;

  OnDisk() {
    std::filesystem::create_directory(source);
    store = std::move(*PosixStore::open_directory(source));
    used.emplace(*store);
  }
  std::string at(const std::string& name) const { return directory.path + "/" + name; }
  Result<BackupProgress> back_up(const std::string& name, BackupOptions options = {}) {
    return cffs::back_up(*used->fs, at(name), std::move(options));
  }
  std::string refusal(const std::string& name) {
    const auto done = back_up(name);
    REQUIRE_FALSE(done);
    CHECK(done.error().kind == ErrorKind::usage);
    return done.error().message();
  }
  std::map<std::string, std::string> look(const std::string& name) {
    const auto copy = PosixStore::open_directory(at(name), PosixStore::Access::read_only);
    REQUIRE(copy);
    return contents_of_copy(**copy);
  }
  std::set<std::string> names() const {
    std::set<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(directory.path))
      all.insert(entry.path().filename());
    return all;
  }
};

}  // namespace

TEST_CASE("in directories: objects are kept as links, and no two stores share one afterwards") {
  OnDisk disk;
  const auto first = disk.back_up("b");
  REQUIRE(first);
  CHECK(disk.look("b") == contents(*disk.used->fs));
  const std::string blob = disk.at("b/") + disk.used->blob("sealed");
  struct stat before, after;
  REQUIRE(::stat(blob.c_str(), &before) == 0);
  disk.used->write("open", 0, "x");
  const auto second = disk.back_up("b");
  REQUIRE(second);
  CHECK(second->copied == 1);
  CHECK(second->kept == first->copied - 1);
  REQUIRE(::stat(blob.c_str(), &after) == 0);
  CHECK(before.st_ino == after.st_ino);
  CHECK(after.st_nlink == 1);
  CHECK(disk.look("b") == contents(*disk.used->fs));
  CHECK(disk.names() == std::set<std::string>{"store", "b"});
  // Who mounts it for writing changes nothing but it.
  const auto source = contents(*disk.used->fs);
  {
    const auto copy = PosixStore::open_directory(disk.at("b"));
    const auto fs = FileSystem::open(**copy, quiet());
    REQUIRE(fs);
    const auto file = (*fs)->lookup(kRootInode, "sealed");
    REQUIRE((*fs)->write(file->ino, 0, as_bytes("mine"), kRoot));
  }
  CHECK(contents(*disk.used->fs) == source);
}

TEST_CASE("in directories: a backup that was cut is cleared away, and refusals leave nothing") {
  OnDisk disk;
  REQUIRE(disk.back_up("b"));
  const auto whole = disk.look("b");
  // As a kill leaves it: half a store, its lock free.
  std::filesystem::create_directories(disk.at(".b.unfinished/blobs/0"));
  std::filesystem::copy(disk.at("b/superblock"), disk.at(".b.unfinished/superblock"));
  std::filesystem::create_hard_link(disk.at("b/") + disk.used->blob("open"),
                                    disk.at(".b.unfinished/blobs/0/7"));
  std::filesystem::create_hard_link(disk.at("b/") + disk.used->blob("open"),
                                    disk.at(".b.unfinished/blobs/0/.kept"));
  CHECK(disk.look("b") == whole);
  disk.used->write("open", 0, "y");
  REQUIRE(disk.back_up("b"));
  CHECK(disk.look("b") == contents(*disk.used->fs));
  // Where names were not exchanged in one step, and the cut came between the two.
  std::filesystem::rename(disk.at("b"), disk.at(".b.former"));
  REQUIRE(disk.back_up("b"));
  CHECK(disk.names() == std::set<std::string>{"store", "b"});
  // And somebody has made an empty directory for backups since.
  std::filesystem::rename(disk.at("b"), disk.at(".b.former"));
  std::filesystem::create_directory(disk.at("b"));
  const auto again = disk.back_up("b");
  REQUIRE(again);
  CHECK(again->copied == 0);
  CHECK(disk.names() == std::set<std::string>{"store", "b"});
  // What else has the name costs no backup.
  std::filesystem::rename(disk.at("b"), disk.at(".b.former"));
  std::filesystem::create_directory(disk.at("b"));
  std::filesystem::copy(disk.at("store/superblock"), disk.at("b/letter"));
  CHECK(disk.refusal("b").find("is no backup, and the one that was there before is") != std::string::npos);
  CHECK(disk.names() == std::set<std::string>{"store", "b", ".b.former"});
  std::filesystem::remove_all(disk.at("b"));
  std::filesystem::rename(disk.at(".b.former"), disk.at("b"));

  // Stopped in the midst.
  BackupOptions options;
  bool began = false;
  options.on_progress = [&](const BackupProgress& progress) { began = progress.at_ns != 0; };
  options.go_on = [&] { return !began; };
  const auto stopped = disk.back_up("b", options);
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().errno_value == EINTR);
  CHECK(disk.names() == std::set<std::string>{"store", "b"});

  CHECK(disk.refusal("store").find("is the store itself") != std::string::npos);
  CHECK(disk.refusal("store/in").find("is in the store") != std::string::npos);
  CHECK(disk.refusal("store/blobs/in").find("is in the store") != std::string::npos);
  std::filesystem::create_symlink("nowhere", disk.at("link"));
  CHECK(disk.refusal("link").find("leads nowhere") != std::string::npos);
  std::filesystem::remove(disk.at("link"));
  std::filesystem::create_directory(disk.at("own"));
  std::filesystem::copy(disk.at("b/superblock"), disk.at("own/letter"));
  CHECK(disk.refusal("own").find("is there and is no backup") != std::string::npos);
  CHECK(std::filesystem::exists(disk.at("own/letter")));
  CHECK_FALSE(std::filesystem::exists(disk.at("own/lock")));
  std::filesystem::remove_all(disk.at("own"));
  CHECK_FALSE(disk.back_up("no/such"));
  {
    const auto copy = PosixStore::open_directory(disk.at("b"));
    const auto lock = (*copy)->lock("somebody");
    CHECK(disk.refusal("b").find("in use by somebody") != std::string::npos);
  }
  {
    // Its own lock, before there is anything else.
    std::filesystem::create_directory(disk.at(".c.unfinished"));
    const auto other = PosixStore::open_directory(disk.at(".c.unfinished"));
    const auto lock = (*other)->lock("another backup");
    CHECK(disk.refusal("c").find("in use by another backup") != std::string::npos);
  }
  std::filesystem::remove_all(disk.at(".c.unfinished"));
  CHECK(disk.names() == std::set<std::string>{"store", "b"});
}

TEST_CASE("a link where a backup is prepared leads to no store that is emptied") {
  OnDisk disk;
  REQUIRE(disk.back_up("victim"));
  const auto whole = disk.look("victim");
  std::filesystem::create_directory_symlink(disk.at("victim"), disk.at(".b.unfinished"));
  CHECK(disk.refusal("b").find("is needed for the backup, and is no directory") != std::string::npos);
  CHECK(disk.look("victim") == whole);
  CHECK(disk.names() == std::set<std::string>{"store", "victim", ".b.unfinished"});
  std::filesystem::remove(disk.at(".b.unfinished"));
  std::filesystem::create_directory_symlink(disk.at("victim"), disk.at(".b.former"));
  CHECK_FALSE(disk.back_up("b"));
  CHECK(disk.look("victim") == whole);
}

TEST_CASE("an empty directory becomes a backup, and keeps its mode") {
  OnDisk disk;
  std::filesystem::create_directory(disk.at("b"));
  REQUIRE(::chmod(disk.at("b").c_str(), 0750) == 0);
  REQUIRE(disk.back_up("b"));
  CHECK(disk.look("b") == contents(*disk.used->fs));
  struct stat st;
  REQUIRE(::stat(disk.at("b").c_str(), &st) == 0);
  CHECK((st.st_mode & 07777) == 0750);
  CHECK(disk.names() == std::set<std::string>{"store", "b"});
}

}  // namespace cffs::test
