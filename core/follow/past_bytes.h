// What blobs had when a checkpoint was cut, put together from what they have and what their writer has kept (core/fs/kept_bytes.h).
//
// One for a store that is followed, whichever checkpoints of it are in use. Thread safety: everything.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/base/ids.h"
#include "core/base/mutex.h"
#include "core/object/object_store.h"

namespace cffs {

class PastBytes {
 public:
  explicit PastBytes(ObjectStore& store) : store_(store) {}

  // `out` has the first `have` bytes at `offset` of the blob, read before this call; what was kept since that checkpoint comes in
  // their place. Returns how many of `out` there are now. ESTALE: it was not all kept, or not long enough.
  // `published`: that checkpoint was, and is not the store as it was found at rest.
  Result<std::size_t> restore(InodeId ino, std::uint64_t checkpoint, bool published, std::uint64_t offset,
                              Bytes out, std::size_t have);
  // Whether anything of the blob was kept since that checkpoint. To be asked after the blob itself. ESTALE: as above.
  Result<bool> has(InodeId ino, std::uint64_t checkpoint, bool published);

 private:
  struct Piece {
    std::uint64_t offset = 0, length = 0;  // of the blob; a length of 0: the rest is lost
    std::uint64_t at = 0;                  // of its record, in the object
  };
  struct Epoch {
    std::shared_ptr<Object> object;
    std::uint64_t read = 0;  // bytes
    std::unordered_map<InodeId, std::vector<Piece>> files;
  };
  // Reads what has been kept since the last call.
  Status look() CFFS_REQUIRES(mutex_);
  static Status look_at(Epoch& epoch);
  // ESTALE: what that checkpoint needs may be gone, also where there was nothing of it.
  Status still_kept(std::uint64_t checkpoint, bool published) const;

  ObjectStore& store_;
  Mutex mutex_;
  std::map<std::uint64_t, Epoch> epochs_ CFFS_GUARDED_BY(mutex_);
};

}  // namespace cffs
