// What a mount remembers of the accesses that reach it: file, stream and time of the first read of each file that the
// kernel's cache does not answer. From it a mount mines its own groups.
//
// A bounded ring of objects (accesses/N, docs/ON_DISK_FORMAT.md, "The access record"): blocks with checksums, appended
// every few seconds, the oldest object dropped when the ring is full. Blocks are not synced: after kill -9 all that was
// appended is there, after a power cut a torn block is passed over. Where accesses come faster than kMostPerFlush
// between two flushes, only a half, a quarter, ... of the streams is kept, whole streams, so that what is used together
// stays together.
//
// note() is a short critical section on a hot path; everything else is background work. Thread safety: everything.
#pragma once

#include <functional>
#include <vector>

#include "core/base/ids.h"
#include "core/base/mutex.h"
#include "core/object/object_store.h"

namespace cffs {

class AccessRecord {
 public:
  struct Access {
    std::int64_t time_ms = 0;  // steady within one mount; a later mount continues after the earlier
    InodeId file;
    std::uint64_t stream = 0;
  };

  // `bytes`: size of the ring. No object of it is larger than an eighth, but of one access.
  AccessRecord(ObjectStore& store, std::uint64_t bytes) : store_(store), bytes_(bytes) {}

  // What there is no memory for is left out: whoever was read for may have had the answer already.
  void note(const Access& access) noexcept;
  // Appends what was noted since the last call. A failure loses that and nothing else.
  Status flush();
  // All accesses in the ring, oldest first. Damaged blocks are passed over.
  static Status visit(ObjectStore& store, const std::function<void(const Access&)>& visit);

 private:
  static constexpr std::size_t kMostPerFlush = 200'000;
  static constexpr unsigned kSegments = 8;
  Status open_segment() CFFS_REQUIRES(flush_mutex_);
  Status append(const std::string& block) CFFS_REQUIRES(flush_mutex_);

  ObjectStore& store_;
  const std::uint64_t bytes_;
  Mutex flush_mutex_;  // before mutex_
  std::shared_ptr<Object> segment_ CFFS_GUARDED_BY(flush_mutex_);
  std::uint64_t segment_number_ CFFS_GUARDED_BY(flush_mutex_) = 0;
  std::uint64_t segment_bytes_ CFFS_GUARDED_BY(flush_mutex_) = 0;

  Mutex mutex_;  // leaf
  std::vector<Access> noted_ CFFS_GUARDED_BY(mutex_);
  unsigned sampling_ CFFS_GUARDED_BY(mutex_) = 0;  // streams whose hash ends in this many zeros are kept
};

}  // namespace cffs
