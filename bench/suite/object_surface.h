// A flat set of objects by number, on whatever keeps them: the object-store interface, or files of a target. What OBFS's
// benchmarks write, read, rewrite and delete.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "bench/rig/rig.h"

namespace cffs::bench {

// Results as of a Target: bytes, 0, or -errno.
class ObjectSurface {
 public:
  virtual ~ObjectSurface() = default;
  // On the disk when it returns, by a sync of its own unless the target is mounted so that each write is.
  virtual std::int64_t write(std::uint64_t id, std::span<const char> data, bool fresh) = 0;
  virtual std::int64_t read(std::uint64_t id, std::span<char> into) = 0;
  virtual std::int64_t remove(std::uint64_t id) = 0;
  // Nothing of the target is held, so that it can be taken down; reopen() before the next use.
  virtual void let_go() = 0;
  virtual Status reopen() = 0;
};

// Whether the target has the object-store interface: where it is a file system of the machine's own, or has nothing else.
bool keeps_objects(const Rig& rig);
// Of the rig's target, in a directory that is made; the rig must outlive them.
Result<std::unique_ptr<ObjectSurface>> objects_in_store(Rig& rig);
Result<std::unique_ptr<ObjectSurface>> objects_in_files(Rig& rig);

}  // namespace cffs::bench
