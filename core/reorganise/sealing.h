// Sealing: large files that became quiet get checksums (core/fs/blob_sums.h).
//
// Consolidation, which looks at every directory where something changed, names the large files that have none. Those that are
// still being written wait here, not with their directory: a log that grows for hours must not have a directory of a
// million files looked at again and again.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <string>

#include "core/base/mutex.h"
#include "core/fs/file_system.h"
#include "core/fs/rehousing.h"

namespace cffs {

class Sealing {
 public:
  explicit Sealing(FileSystem& fs) : fs_(fs) {}

  // Whether it is a blob that could be sealed and is not.
  static bool wanted(const StoreFormat& format, const Inode& inode);
  void note(const FileToMove& file);
  bool empty() const;
  // For run(): also what changed just now, and what the next commit is yet to make durable.
  static constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
  // Seals what changed last before `quiet_before_ns` and was committed since. Ends early where `go_on`, asked every MiB, says no. A file that cannot be read
  // is left unsealed, and the log says so.
  Status run(std::int64_t quiet_before_ns, const std::function<bool()>& go_on);
  // What is left waits for the next pass, or the next user of the store.
  Status leave();

 private:
  Status seal(const EntryName& at, InodeId ino, std::int64_t quiet_before_ns,
              const std::function<bool()>& go_on, bool& later);

  FileSystem& fs_;
  mutable Mutex mutex_;  // leaf
  std::map<InodeId, EntryName> waiting_ CFFS_GUARDED_BY(mutex_);
};

}  // namespace cffs
