// The blobs of a backup while it is made: each block is copied as it was at the moment, by whoever comes first, the backup or the one
// who is about to change it (copy before write, as QEMU's backup job has it).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "core/backup/copied_runs.h"
#include "core/base/mutex.h"
#include "core/fs/moment.h"

namespace cffs {

class BlobCopies final : public BlobKeeper {
 public:
  explicit BlobCopies(ObjectStore& fresh) : fresh_(fresh) {}

  // A failure ends the backup (good()), and nobody's change of the blob.
  void keep(InodeId ino, const std::shared_ptr<Object>& object, std::uint64_t size, std::uint64_t offset,
            std::uint64_t length) override;

  struct Copied {
    std::uint64_t bytes = 0;  // read and written; 0 for what is shared with the source
    bool shared = false;      // its blocks are the source's
    std::string damage;       // empty: none
  };
  // What of the blob is not there yet; calls `spent` between pieces, with what they were, until it says no.
  Result<Copied> copy(InodeId ino, const std::shared_ptr<Object>& object, std::uint64_t size, bool sealed,
                      const std::function<bool(std::uint64_t)>& spent);
  // The backup has this blob otherwise, if `get` gets it, in the place of what was kept of it. Nobody writes to it from then on.
  Result<bool> have(InodeId ino, const std::function<Result<bool>()>& get);
  // The moment's blobs are these. What was kept of others, made while it came, goes, and nothing more of them is kept.
  Status drop_others(std::unordered_set<InodeId> wanted);
  Status good() const;

 private:
  struct Blob {
    Mutex mutex;  // rank 5: held while blocks are copied
    std::shared_ptr<Object> to CFFS_GUARDED_BY(mutex);
    std::uint64_t size CFFS_GUARDED_BY(mutex) = 0;          // of the file
    std::uint64_t object_bytes CFFS_GUARDED_BY(mutex) = 0;  // of the object, at most `size`; less is damage
    bool shared CFFS_GUARDED_BY(mutex) = false;
    CopiedRuns there CFFS_GUARDED_BY(mutex);          // whole blocks, but for the last
    std::uint64_t copied CFFS_GUARDED_BY(mutex) = 0;  // bytes
    std::optional<std::uint64_t> unreadable CFFS_GUARDED_BY(mutex);
    bool done CFFS_GUARDED_BY(mutex) = false;
  };
  // Null: all of it is there.
  std::shared_ptr<Blob> find(InodeId ino);
  Status begin(Blob& blob, InodeId ino, const Object& object, std::uint64_t size) CFFS_REQUIRES(blob.mutex);
  Status keep_blocks(InodeId ino, const Object& object, std::uint64_t size, std::uint64_t offset,
                     std::uint64_t length);
  Status copy_blocks(Blob& blob, const Object& object, std::uint64_t offset, std::uint64_t end)
      CFFS_REQUIRES(blob.mutex);
  std::uint64_t past_hole(Blob& blob, const Object& object, std::uint64_t at) CFFS_REQUIRES(blob.mutex);
  Result<Copied> finish(Blob& blob, bool sealed) CFFS_REQUIRES(blob.mutex);
  void finished(InodeId ino);
  void failed(const Error& error);

  ObjectStore& fresh_;
  std::atomic<bool> has_failed_{false};
  mutable Mutex mutex_;  // leaf
  std::unordered_map<InodeId, std::shared_ptr<Blob>> blobs_ CFFS_GUARDED_BY(mutex_);
  std::unordered_set<InodeId> done_ CFFS_GUARDED_BY(mutex_);
  std::optional<std::unordered_set<InodeId>> wanted_ CFFS_GUARDED_BY(mutex_);
  std::optional<Error> failure_ CFFS_GUARDED_BY(mutex_);
};

}  // namespace cffs
