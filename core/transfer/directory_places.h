// Where the directories of an import lie, for the paths that its messages name.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/base/ids.h"
#include "core/base/mutex.h"

namespace cffs {

class DirectoryPlaces {
 public:
  void note(InodeId directory, InodeId parent, std::string name) {
    const MutexLock guard(mutex_);
    places_[directory] = {parent, std::move(name)};
  }
  // Of `name` in `parent`: from `top` on, or from the first directory that is not known.
  std::string path_of(InodeId parent, const std::string& name, std::optional<InodeId> top = {}) const {
    const MutexLock guard(mutex_);
    std::string path = name;
    while (parent != top) {
      const auto at = places_.find(parent);
      if (at == places_.end()) break;
      path = at->second.second + "/" + path;
      parent = at->second.first;
    }
    return path;
  }

 private:
  mutable Mutex mutex_;  // leaf
  std::unordered_map<InodeId, std::pair<InodeId, std::string>> places_ CFFS_GUARDED_BY(mutex_);
};

}  // namespace cffs
