// A store whose files share what is the same of them, and what each has to hold.
#pragma once

#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "core/fs/new_file.h"
#include "core/inspect/consistency.h"
#include "core/inspect/statistics.h"
#include "core/object/memory_store.h"
#include "core/reorganise/reorganiser.h"
#include "core/repair/repair.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/unit/row_inode.h"

namespace cffs::test {

inline constexpr std::size_t kLength = 9'000;

inline std::string content(int kind) {
  std::string text;
  while (text.size() < kLength)
    text += "line " + std::to_string(kind * 1000 + static_cast<int>(text.size())) + "\n";
  text.resize(kLength);
  return text;
}

struct SharingStore {
  explicit SharingStore(bool dedupe = true, const Compression& how = {}) {
    StoreFormat format;
    format.composite_file_max = 256u << 10;
    format.composite_max = 512u << 10;
    format.dedupe = dedupe;
    format.compression = how;
    REQUIRE(FileSystem::format(objects, repeatable(format), SystemClock()));
    open();
  }
  void open(FileSystemOptions options = quiet()) {
    if (fs) {
      REQUIRE(fs->close());
    }
    fs.reset();
    auto opened = FileSystem::open(objects, options);
    REQUIRE(opened);
    fs = std::move(*opened);
  }
  void make(const std::string& name, int kind) {
    const auto made = fs->mknod(kRootInode, name, S_IFREG | 0644, 0, kRoot);
    REQUIRE(made);
    REQUIRE(fs->write(made->ino, 0, as_bytes(content(kind)), kRoot));
    fs->forget(made->ino, 1);
    here[name] = kind;
  }
  // n files of each of so many kinds, consolidated.
  void fill(int kinds, int n) {
    for (int i = 0; i < n; ++i) {
      for (int k = 0; k < kinds; ++k) make(name(k, i), k);
    }
    consolidate();
  }
  static std::string name(int kind, int i) { return "k" + std::to_string(kind) + "." + std::to_string(i); }
  void consolidate() { REQUIRE(Reorganiser(*fs).compact_now()); }
  void unlink(const std::string& name) {
    REQUIRE(fs->unlink(kRootInode, name));
    here.erase(name);
  }
  void rename(const std::string& from, const std::string& to, RenameMode mode = RenameMode::replace) {
    REQUIRE(fs->rename(kRootInode, from, kRootInode, to, mode, kRoot));
    if (mode == RenameMode::exchange) {
      std::swap(here[from], here[to]);
    } else {
      here[to] = here[from];
      here.erase(from);
    }
  }
  Inode inode_of(const std::string& name) { return row_inode(*fs, name); }
  bool share(const std::string& a, const std::string& b) {
    const Extent x = inode_of(a).extent, y = inode_of(b).extent;
    return x.composite == y.composite && x.slot == y.slot;
  }
  static std::string read(FileSystem& of, const std::string& name, InodeId in = kRootInode) {
    const auto file = of.lookup(in, name);
    REQUIRE(file);
    std::string bytes(file->size, '\0');
    const auto n = of.read(file->ino, 0, as_writable_bytes(bytes));
    of.forget(file->ino, 1);
    return n && *n == bytes.size() ? bytes : "unreadable";
  }
  void expect_whole() {
    REQUIRE(*find_inconsistencies(*fs) == std::vector<std::string>{});
    for (const auto& [name, kind] : here) {
      INFO(name);
      REQUIRE((read(*fs, name) == content(kind)));
    }
  }
  Statistics statistics() { return *collect_statistics(*fs); }
  std::uint64_t live() { return statistics().live_bytes; }
  std::vector<std::string> mend() {
    REQUIRE(fs->close());
    fs.reset();
    const auto mended = repair_store(objects, quiet());
    REQUIRE(mended);
    open();
    return *mended;
  }
  std::vector<std::string> check_only() {
    REQUIRE(fs->close());
    fs.reset();
    FileSystemOptions looking = quiet();  // as cffs fsck does
    looking.read_only = looking.keep_what_is_whole = true;
    open(looking);
    const auto found = *find_inconsistencies(*fs);
    open();
    return found;
  }

  MemoryStore objects;
  std::unique_ptr<FileSystem> fs;
  std::map<std::string, int> here;
};

inline NewFile new_file(const std::string& name, int kind) {
  NewFile file;
  file.parent = kRootInode;
  file.name = name;
  file.inode.mode = S_IFREG | 0644;
  file.content = content(kind);
  return file;
}

}  // namespace cffs::test
