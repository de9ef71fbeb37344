// A copy of a whole store, object by object, from one backend to another: `cffs copy`. The copy is that store, with its identity, as it lies.
//
// Nobody else uses either of the two meanwhile. Of what the target has from an earlier copy only what differs is written. While it is unfinished
// it has no superblock, so that nobody takes it for a store, and an object that says of which store it becomes a copy: the next run goes on.
#pragma once

#include <cstdint>
#include <functional>

#include "core/object/object_store.h"

namespace cffs {

// An object of a copy that is not finished: the uuid of the store.
inline constexpr const char* kUnfinishedCopy = "copying";

struct StoreCopyReport {
  std::uint64_t objects = 0;        // in the store
  std::uint64_t written = 0;        // of them made, or changed where they differed
  std::uint64_t removed = 0;        // that the target had and the store has not
  std::uint64_t bytes = 0;          // of all objects
  std::uint64_t bytes_written = 0;  // and read back from the medium
};

struct StoreCopyOptions {
  unsigned workers = 4;
  // Called now and then, by any worker; one at a time.
  std::function<void(const StoreCopyReport&)> progress;
};

// `usage`: the target holds something that is no copy of this store, which stays as it is. EBUSY: one of the two is in use. EIO: an object cannot
// be read, or does not come back as it was written; then the target is no store, and the next run goes on.
Result<StoreCopyReport> copy_store(ObjectStore& from, ObjectStore& to, const StoreCopyOptions& options);

}  // namespace cffs
