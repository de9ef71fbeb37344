// Brings a tree into memory before somebody needs it (docs/BROWSING.md): a store's objects into the page cache, or through a mount names,
// attributes and data into what the kernel keeps of it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/failures.h"
#include "core/fs/file_system.h"

namespace cffs {

struct WarmReport : Failures {
  std::uint64_t names = 0, directories = 0;
  std::uint64_t bytes_in_all = 0;  // of data, and of the table where all of it is wanted
  std::uint64_t bytes = 0;         // of these: done
  std::uint64_t found_bytes = 0;   // of these: were in memory before, as far as that can be told
  bool memory_full = false;        // it ended because no more may be filled
};

struct WarmOptions {
  bool metadata_only = false;
  std::uint64_t most_bytes = ~std::uint64_t{0};        // of memory that may be filled
  unsigned jobs = 4;                                   // requests that a mount gets at a time
  std::function<void(const WarmReport&)> on_progress;  // by the caller's thread
  std::function<bool()> go_on;                         // null: to the end. False ends it with EINTR
};

// Where the data of files is, by inode number: files in the order of these lie one behind the other.
using DataOrder = std::unordered_map<std::uint64_t, std::uint64_t>;

// The files at these paths of a store, and below. `objects` are its own, `fs` is the store opened on them. Of the table all files are
// read where the root is among the paths, else the rows that are looked at.
Result<WarmReport> warm_store(ObjectStore& objects, FileSystem& fs, const std::vector<std::string>& paths,
                              const WarmOptions& options);
// EINTR: `go_on` said no.
Result<DataOrder> find_data_order(FileSystem& fs, const std::vector<std::string>& paths,
                                  const std::function<bool()>& go_on = nullptr);

// The store that a mount shows, opened beside its daemon, and the same paths in it.
struct StoreBelow {
  ObjectStore& objects;
  FileSystem& fs;
  std::vector<std::string> paths;
};

// The same of files of a mount, by the system's calls alone. Of each name the kernel is asked for attributes and ACL, of each link for its
// target. `below`: it is read ahead, as by warm_store(), and tells in which order files lie; null: by inode number then.
Result<WarmReport> warm_mount(const std::vector<std::string>& paths, const StoreBelow* below,
                              const WarmOptions& options);

}  // namespace cffs
