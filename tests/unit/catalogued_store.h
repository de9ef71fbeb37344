// A store with a catalogue, whose table then loses its rows.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "core/fs/store_format.h"
#include "core/inspect/consistency.h"
#include "core/object/memory_store.h"
#include "core/reorganise/cataloguing.h"
#include "core/reorganise/reorganiser.h"
#include "core/repair/repair.h"
#include "core/table/catalogue.h"
#include "core/table/table.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/unit/object_bytes.h"

namespace cffs::test {

using Sentences = std::vector<std::string>;

struct CataloguedStore {
  MemoryStore store;
  std::unique_ptr<FileSystem> fs;
  InodeId directory, below;

  explicit CataloguedStore(std::uint64_t inline_max = 64) {
    StoreFormat format;
    format.inline_max = inline_max;
    format.composite_file_max = 8192;
    REQUIRE(FileSystem::format(store, repeatable(format), SystemClock()));
    fs = std::move(*FileSystem::open(store, quiet()));
    directory = fs->mkdir(kRootInode, "directory", 0750, kRoot)->ino;
    below = fs->mkdir(directory, "below", 0711, kRoot)->ino;
    make(below, "deep");
    make(kRootInode, "old name");
    make(kRootInode, "removed");
    REQUIRE(Reorganiser(*fs).consolidate_now());
    REQUIRE(fs->rename(kRootInode, "old name", directory, "new name", RenameMode::replace, kRoot));
    REQUIRE(fs->unlink(kRootInode, "removed"));
    REQUIRE(fs->sync());
    REQUIRE(write_catalogue(*fs, [] { return true; }));
  }
  void make(InodeId in, const std::string& name) {
    const auto file = fs->mknod(in, name, S_IFREG | 0640, 0, kRoot);
    REQUIRE(file);
    REQUIRE(fs->write(file->ino, 0, as_bytes(content(name)), kRoot));
  }
  static std::string content(const std::string& name) { return name + std::string(700, 'c'); }
  // All rows but the root's.
  void lose_rows() {
    REQUIRE(fs->close());
    fs.reset();
    REQUIRE((*store.open(only_object(store, ".log")))->truncate(0));
  }
  void lose_root() {
    AttributeChange change;
    change.mode = 0751;
    REQUIRE(fs->setattr(kRootInode, change, kRoot));
    REQUIRE(write_catalogue(*fs, [] { return true; }));
    change_rows([](Batch& batch) { batch.erase(Key::null_name(kRootInode)); });
  }
  // Behind its back: it is closed then.
  template <typename Change>
  void change_rows(Change change) {
    if (fs) REQUIRE(fs->close());
    fs.reset();
    TableOptions options;
    options.values_apart = read_format(store)->values_apart;
    const auto table = std::move(*Table::open(store, options));
    Batch batch;
    change(batch);
    REQUIRE(table->write(batch));
    REQUIRE(table->sync());
  }
  Sentences repaired() {
    const auto mended = repair_store(store, quiet());
    INFO((mended ? "" : mended.error().message()));
    REQUIRE(mended);
    REQUIRE(*repair_store(store, quiet()) == Sentences{});
    fs = std::move(*FileSystem::open(store, quiet()));
    REQUIRE(Reorganiser(*fs).compact_now());
    REQUIRE(*find_inconsistencies(*fs) == Sentences{});
    return *mended;
  }
  bool has(InodeId in, const std::string& name, const std::string& of) {
    const auto file = fs->lookup(in, name);
    if (!file || (file->mode & S_IFMT) != S_IFREG) return false;
    std::string bytes(file->size, '\0');
    REQUIRE(fs->read(file->ino, 0, as_writable_bytes(bytes)));
    return bytes == content(of);
  }
};

inline bool any_says(const Sentences& sentences, const std::string& what) {
  for (const std::string& sentence : sentences) {
    if (sentence.find(what) != std::string::npos) return true;
  }
  return false;
}

}  // namespace cffs::test
