// A store that trees and archives come into, and go out of.
#pragma once

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "core/fs/file_system.h"
#include "core/object/memory_store.h"
#include "core/transfer/archive_import.h"
#include "core/transfer/directory_import.h"
#include "core/transfer/import_target.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/unit/object_bytes.h"

namespace cffs::test {

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

// Of directories "d", each in the one before, with a file of four bytes in the last.
inline int depth_of(FileSystem& fs) {
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

inline void write_transferred(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace cffs::test
