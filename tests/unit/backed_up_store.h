// A store of every home, for tests of its backups, and what is seen in one.
#pragma once

#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/backup/backup.h"
#include "core/inspect/consistency.h"
#include "core/object/memory_store.h"
#include "core/reorganise/reorganiser.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/unit/object_bytes.h"

namespace cffs::test {

inline constexpr std::size_t kLarge = 400'000;

inline std::string content_of(const std::string& name, std::size_t bytes) {
  std::mt19937_64 random(std::hash<std::string>()(name));
  std::string content(bytes, '\0');
  for (char& c : content) c = static_cast<char>(random());
  return content;
}

inline StoreFormat small_homes() {
  StoreFormat format;
  format.inline_max = 512;
  format.composite_file_max = 16384;
  format.composite_max = 65536;
  return repeatable(format);
}

// Members of several composites, an inline file, a sealed blob with two names and one without checksums.
struct Used {
  ObjectStore& store;
  std::unique_ptr<FileSystem> fs;
  std::map<std::string, InodeId> files;

  explicit Used(ObjectStore& on) : store(on) {
    REQUIRE(FileSystem::format(store, small_homes(), SystemClock()));
    open();
    for (int i = 0; i < 30; ++i) make("member" + std::to_string(i), 5000);
    make("sealed", kLarge);
    REQUIRE(fs->link(files["sealed"], kRootInode, "again"));
    REQUIRE(Reorganiser(*fs).consolidate_now());
    make("inline", 2000);
    make("open", kLarge);
    REQUIRE(fs->sync());
  }
  void open() {
    fs = nullptr;
    auto opened = FileSystem::open(store, quiet());
    REQUIRE(opened);
    fs = std::move(*opened);
    for (const auto& [name, ino] : files) REQUIRE(fs->lookup(kRootInode, name));
  }
  void make(const std::string& name, std::size_t bytes) {
    files[name] = fs->mknod(kRootInode, name, S_IFREG | 0644, 0, kRoot)->ino;
    write(name, 0, content_of(name, bytes));
  }
  void write(const std::string& name, std::uint64_t at, const std::string& bytes) {
    REQUIRE(fs->write(files[name], at, as_bytes(bytes), kRoot));
  }
  void truncate(const std::string& name, std::uint64_t size) {
    AttributeChange change;
    change.size = size;
    REQUIRE(fs->setattr(files[name], change, kRoot));
  }
  std::string blob(const std::string& name) { return BlobStore::object_name(files[name]); }

  std::vector<std::string> said;
  Result<BackupProgress> back_up(BackupPlace& place, BackupOptions options = {}) {
    said.clear();
    options.on_damage = [this](const std::string& sentence) { said.push_back(sentence); };
    return Backup(*fs, place, std::move(options)).run();
  }
};

// Names to contents; what cannot be read is "EIO".
inline std::map<std::string, std::string> contents(FileSystem& fs) {
  std::map<std::string, std::string> all;
  std::vector<std::pair<std::string, Attributes>> found;
  REQUIRE(fs.readdir(kRootInode, 2, true, [&](const DirectoryEntry& e) {
    found.emplace_back(e.name, e.attributes);
    return true;
  }));
  for (const auto& [name, attributes] : found) {
    std::string bytes(attributes.size, '\0');
    const auto n = fs.read(attributes.ino, 0, as_writable_bytes(bytes));
    all[name] = n ? bytes : "EIO";
    fs.forget(attributes.ino, 1);
  }
  return all;
}

inline std::map<std::string, std::string> contents_of_copy(ObjectStore& store) {
  const auto copy = copy_of(store);
  const auto fs = FileSystem::open(*copy, quiet());
  REQUIRE(fs);
  return contents(**fs);
}

inline std::vector<std::string> fsck(ObjectStore& store) {
  const auto copy = copy_of(store);
  const auto fs = FileSystem::open(*copy, quiet());
  REQUIRE(fs);
  return *find_inconsistencies(**fs);
}

}  // namespace cffs::test
