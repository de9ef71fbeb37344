// What a file system tells of a file, and what it is told to change.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>

#include "core/base/ids.h"
#include "core/table/inode.h"

namespace cffs {

struct Attributes {
  InodeId ino;
  mode_t mode = 0;
  std::uint64_t nlink = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  std::uint64_t rdev = 0;
  std::uint64_t size = 0;       // bytes
  std::uint64_t allocated = 0;  // bytes
  std::int64_t atime_ns = 0, mtime_ns = 0, ctime_ns = 0, btime_ns = 0;
};

struct AttributeChange {
  std::optional<mode_t> mode;  // permission bits
  std::optional<uid_t> uid;
  std::optional<gid_t> gid;
  std::optional<std::uint64_t> size;
  std::optional<std::int64_t> atime_ns, mtime_ns, ctime_ns;
  // Somebody is about to change the file, or asks for no change at all: set-id bits go where the caller could take them by
  // writing (may_drop_set_id). Of anybody else the change itself takes them.
  bool drop_set_id = false;
};

// As the inode says; room is what its data takes where it is.
Attributes attributes_of(const Inode& inode);

}  // namespace cffs
