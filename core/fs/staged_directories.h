// Which directories hold staged files, and which composites have become wasteful: all that the engine tells those who move
// data in the background (core/reorganise). They take what is due; the engine never asks what they do with it.
//
// A directory is remembered in memory and by a staged_directory row, a composite by a wasteful_composite row, so a crash forgets
// none. Threads: note() and mark_wasteful() from anywhere, on hot paths: the first note of a directory takes a leaf mutex,
// later ones store one time stamp. The rest is for one background pass at a time.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/fs/node_table.h"
#include "core/table/table.h"

namespace cffs {

class StagedDirectories {
 public:
  StagedDirectories(Table& table, NodeTable& nodes, const Clock& clock)
      : table_(table), nodes_(nodes), clock_(clock) {}

  // A file below this directory is staged; the row that says so joins the batch.
  void note(Batch& batch, Node& directory);
  // A batch makes, or leaves, these composites wasteful, and those empty: the rows that say so join it, by who holds the
  // stripes of the composites' rows. When it is written, the first are due.
  void mark_wasteful(Batch& batch, const std::vector<CompositeId>& wasteful,
                     const std::vector<CompositeId>& emptied);
  void note_wasteful(const std::vector<CompositeId>& ids);
  // What an earlier user of the store left.
  Status load();

  bool empty() const;
  // What waits, and how long the first of these directories has.
  struct Backlog {
    std::size_t directories = 0, wasteful = 0;
    std::int64_t longest_ms = 0;
  };
  Backlog backlog() const;
  // Takes the directories that nobody has written to for quiet_ms, or that have waited ten times as long; `all`: every one.
  std::vector<InodeId> take(std::int64_t quiet_ms, bool all);
  // These are to be looked at again.
  void put_back(const std::vector<InodeId>& directories);
  // These are for the next user of the store to look at.
  Status remember(const std::vector<InodeId>& directories);
  // Nothing is staged below these: their rows go.
  Status forget(const std::vector<InodeId>& done);
  // The wasteful composites that are due, which are nobody's then.
  std::vector<CompositeId> take_wasteful();
  // To be taken again when so much time has passed.
  void put_back_wasteful(CompositeId id, std::int64_t in_ms);
  // It is gone: its row goes, where an earlier user of the store left one.
  Status forget_wasteful(CompositeId id);

 private:
  Table& table_;
  NodeTable& nodes_;
  const Clock& clock_;
  mutable Mutex mutex_;                                                   // leaf
  std::map<InodeId, std::int64_t> directories_ CFFS_GUARDED_BY(mutex_);   // since when they wait, steady ms
  std::map<CompositeId, std::int64_t> wasteful_ CFFS_GUARDED_BY(mutex_);  // when they are due, steady ms
  std::set<CompositeId> marked_ CFFS_GUARDED_BY(mutex_);                  // have a row, or soon have
};

}  // namespace cffs
