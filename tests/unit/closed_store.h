// A closed store with a file of each kind, whose rows a test damages as whoever opens it next finds them.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/fs/recovery.h"
#include "core/inspect/consistency.h"
#include "core/object/memory_store.h"
#include "core/reorganise/reorganiser.h"
#include "core/repair/repair.h"
#include "core/table/table.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"

namespace cffs::test {

using Sentences = std::vector<std::string>;

struct ClosedStore {
  MemoryStore store;
  std::map<std::string, std::string> contents;
  std::uint64_t largest = 0;

  ClosedStore() {
    StoreFormat format;
    format.inline_max = 512;
    format.composite_file_max = 8192;
    REQUIRE(FileSystem::format(store, repeatable(format), SystemClock()));
    const auto fs = std::move(*FileSystem::open(store, quiet()));
    make(*fs, "member", 600);
    make(*fs, "other", 700);
    REQUIRE(Reorganiser(*fs).consolidate_now());
    make(*fs, "inline", 300);
    make(*fs, "linked", 200);
    REQUIRE(fs->link(fs->lookup(kRootInode, "linked")->ino, kRootInode, "again"));
    make(*fs, "blob", 50'000);
    REQUIRE(fs->close());
  }
  void make(FileSystem& fs, const std::string& name, std::size_t size) {
    const auto file = fs.mknod(kRootInode, name, S_IFREG | 0644, 0, kRoot);
    REQUIRE(file);
    contents[name] = std::string(size, static_cast<char>('a' + contents.size() % 26));
    REQUIRE(fs.write(file->ino, 0, as_bytes(contents[name]), kRoot));
    largest = std::max(largest, file->ino.value);
  }
  std::unique_ptr<Table> table() {
    TableOptions options;
    options.values_apart = read_format(store)->values_apart;
    return std::move(*Table::open(store, options));
  }
  // The store is as closed as it was.
  void in_table(const std::function<void(Batch&)>& change) {
    const auto table = this->table();
    Batch batch;
    table->save_values(batch);
    Recovery::mark_closed(batch);
    change(batch);
    REQUIRE(table->write_last(batch));
  }
  // Of the one file of this name in the root.
  Inode inode(const std::string& name) {
    Inode found;
    REQUIRE(table()->scan_entries([&](Key key, const Row& row) {
      const Entry* const entry = key.upper == kRootInode.value ? row.find(name) : nullptr;
      if (entry != nullptr) found = entry->inode.value_or(Inode{});
      if (entry != nullptr) found.ino = entry->ino;
      return true;
    }));
    return found;
  }
  Sentences findings() {
    FileSystemOptions looking = quiet();  // as cffs fsck does
    looking.read_only = looking.keep_what_is_whole = true;
    const auto fs = FileSystem::open(store, looking);
    REQUIRE(fs);
    return *find_inconsistencies(**fs);
  }
  Sentences repaired() {
    const auto mended = repair_store(store, quiet());
    INFO((mended ? "" : mended.error().message()));
    REQUIRE(mended);
    REQUIRE(*repair_store(store, quiet()) == Sentences{});
    return *mended;
  }
  void require_all(FileSystem& fs) {
    for (const auto& [name, content] : contents) {
      INFO(name);
      const auto file = fs.lookup(kRootInode, name);
      REQUIRE(file);
      std::string bytes(content.size(), '\0');
      REQUIRE(fs.read(file->ino, 0, as_writable_bytes(bytes)));
      REQUIRE((bytes == content));
      fs.forget(file->ino, 1);
    }
  }
};

}  // namespace cffs::test
