// Which names below a directory are durable, so that a folder is synced once for all that came into it, not once for each.
//
// Names are numbered as they come. A sync of a folder that begins after a name came covers it, whoever asked for it: many who ask
// at once wait for one another, and most find that a sync before theirs has covered them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "core/base/error.h"
#include "core/base/mutex.h"

namespace cffs {

class DurableNames {
 public:
  using Number = std::uint64_t;
  // Makes a folder's names durable; "." is the directory itself. Called by one thread at a time.
  using SyncFolder = std::function<Status(const std::string& folder)>;

  explicit DurableNames(SyncFolder sync_folder) : sync_folder_(std::move(sync_folder)) {}

  // To be called once a name is there: its number.
  Number came(const std::string& name);
  // For who finds a name that may have come by another handle: the number of the last one that came into its folder; 0: none.
  Number newest_beside(const std::string& name) const;
  // The folder that a name is in; "." for one without a slash.
  static std::string folder_of(const std::string& name);
  // The name that got this number, and the folders above it, outlast a power cut.
  Status make_durable(const std::string& name, Number number);
  // What has changed in a folder until now does, of whatever kind.
  Status sync(const std::string& folder);

 private:
  Status sync_now(const std::string& folder) CFFS_REQUIRES(mutex_);

  const SyncFolder sync_folder_;
  std::atomic<Number> last_{0};
  mutable Mutex newest_mutex_;  // leaf
  // The last name that came into each folder.
  std::map<std::string, Number> newest_ CFFS_GUARDED_BY(newest_mutex_);
  Mutex mutex_;  // held while a folder is synced
  // Folders whose own names are durable, and the last name of each that was there when a sync of it began that went well.
  std::map<std::string, Number> covered_ CFFS_GUARDED_BY(mutex_);
};

}  // namespace cffs
