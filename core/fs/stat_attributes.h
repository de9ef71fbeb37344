// Attributes of a file of this machine, in the terms of one in a store.
#pragma once

#include <sys/stat.h>

#include "core/base/clock.h"
#include "core/fs/attributes.h"

namespace cffs {

inline Attributes attributes_of(const struct stat& st) {
  Attributes a;
  a.ino = InodeId{st.st_ino};
  a.mode = st.st_mode;
  a.nlink = st.st_nlink;
  a.uid = st.st_uid;
  a.gid = st.st_gid;
  a.rdev = st.st_rdev;
  a.size = static_cast<std::uint64_t>(st.st_size);
  a.allocated = static_cast<std::uint64_t>(st.st_blocks) * 512;
  a.atime_ns = to_ns(st.st_atim);
  a.mtime_ns = to_ns(st.st_mtim);
  a.ctime_ns = to_ns(st.st_ctim);
  return a;
}

}  // namespace cffs
