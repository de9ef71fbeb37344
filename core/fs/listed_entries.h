// Counts what listings show, so that a directory which was there before this mount gets its EntryCount too: who removes a tree
// lists each directory, removes what is in it, and then the directory.
//
// A listing is one or many calls of readdir, each going on where the one before ended. What it shows in all, and what has come
// since it began, is never less than there is: an entry is in the part of the listing that passed its place, or came later.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "core/base/mutex.h"
#include "core/fs/node.h"

namespace cffs {

class ListedEntries {
 public:
  // A listing so far.
  struct Listed {
    std::uint64_t seen = 0;
    std::uint32_t came_before = 0;  // EntryCount::came() when it began
    std::uint64_t cookie = 0;       // where the next call has to go on
    std::weak_ptr<Node> directory;  // the node that counts: one that comes after it knows nothing
  };

  // Before a call's snapshot of the rows. None: it does not count, since nobody needs it, or it goes on where none ended, or
  // somebody changes the directory just now.
  std::optional<Listed> begin(const NodePtr& directory, std::uint64_t cookie);
  // The call showed entries up to listed.cookie, and more are to come.
  void pause(Listed listed);
  // It came to the directory's end.
  static void finish(const Listed& listed);

 private:
  static constexpr std::size_t kMost = 64;  // listings that are under way; of more, some do not count

  Mutex mutex_;  // leaf
  std::map<InodeId, Listed> paused_ CFFS_GUARDED_BY(mutex_);
};

}  // namespace cffs
