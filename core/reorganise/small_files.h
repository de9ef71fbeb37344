// A walk over every small file of a store, in tree order.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "core/fs/file_system.h"
#include "core/table/inode.h"

namespace cffs {

struct SmallFile {
  InodeId parent, ino;
  std::string name, path;
  std::uint64_t size = 0;
  Home home = Home::none;
  CompositeId composite;
  std::uint64_t group_offset = 0;
};

// Every file that has data and is small enough for a composite, hard-linked ones once. `stop` ends it early. A file that is
// renamed meanwhile may be met twice, or not at all. Where a block of rows cannot be read it goes on with the next directory, and ends with
// that error (Error::is_damage()).
Status visit_small_files(FileSystem& fs, const std::function<void(SmallFile)>& visit,
                         const std::atomic<bool>* stop = nullptr);

}  // namespace cffs
