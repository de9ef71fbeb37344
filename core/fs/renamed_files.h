// Where files went that were renamed, for those who place files by more than their directory (core/reorganise): a plan and the
// documents that embed files know them by number or by path, and a table of rows knows numbers by path alone.
//
// A hint, in memory and bounded: what is forgotten costs a file its place among its own until the next regrouping. Nothing is
// noted while nobody follows. Threads: any; the mutex is a leaf.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "core/base/mutex.h"
#include "core/table/row.h"

namespace cffs {

class RenamedFiles {
 public:
  using Renamed = std::pair<InodeId, EntryName>;

  // Whether somebody wants to know; who does not forgets all.
  void follow(bool wanted);
  // A file has this name now.
  void note(InodeId ino, InodeId directory, std::string_view name);

  // Its last name, of the last 16,384 to 32,768 renamed files.
  std::optional<EntryName> place_of(InodeId ino) const;
  // Those noted since the last call, which belongs to one pass at a time.
  std::vector<Renamed> take();
  // These are to be looked at again.
  void put_back(const std::vector<InodeId>& renamed) CFFS_EXCLUDES(mutex_);
  void put_back(const std::vector<Renamed>& renamed) CFFS_EXCLUDES(mutex_);
  bool nothing_new() const;
  std::size_t waiting() const;  // to be taken

 private:
  struct Place {
    EntryName at;
    bool fresh = true;  // nobody has taken it
  };
  using Places = std::unordered_map<InodeId, Place>;
  void put_back(InodeId ino) CFFS_REQUIRES(mutex_);

  std::atomic<bool> wanted_ = false;
  mutable Mutex mutex_;
  Places young_ CFFS_GUARDED_BY(mutex_);
  Places old_ CFFS_GUARDED_BY(mutex_);  // goes when the young ones have become too many
  std::size_t fresh_ CFFS_GUARDED_BY(mutex_) = 0;
};

}  // namespace cffs
