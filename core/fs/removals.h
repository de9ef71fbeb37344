// Objects that no row needs any more, and their removal.
//
// Removal waits until the batch that made an object unneeded is durable; else a power cut could bring back a row without
// its data. A pending_removal row, written in that same batch, remembers it across a crash. The same row, written before an
// object is made and erased by the batch that first names it, catches objects that never got there.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "core/base/mutex.h"
#include "core/blob/blob_store.h"
#include "core/composite/composite_store.h"
#include "core/table/pending_removal.h"
#include "core/table/table.h"

namespace cffs {

class MomentHold;
class Publishing;

// The object that is to be removed; none for what is in the table.
std::string object_name(const PendingRemoval& removal);

class Removals {
 public:
  Removals(Table& table, BlobStore& blobs, CompositeStore& composites, MomentHold& moments,
           Publishing& publishing)
      : table_(table),
        blobs_(blobs),
        composites_(composites),
        moments_(moments),
        publishing_(publishing) {}

  // The batch with its pending_removal row has been written; the object goes with the next settle().
  void queue_blob(InodeId ino) { queue(PendingRemoval::of_blob(ino)); }
  void queue_composite(CompositeId id) { queue(PendingRemoval::of(id)); }
  // Nobody uses the file any more of which a row of the nameless speaks.
  void queue_nameless(InodeId ino) { queue(PendingRemoval::of_nameless(ino)); }
  // Composites that this says are in use stay where they are, until it does not. To be called before others come, and with null when
  // they have gone.
  void spare(std::function<bool(CompositeId)> in_use) { in_use_ = std::move(in_use); }
  // What an earlier user of the store left to be removed; what is named all the same stays, where one look tells.
  Status load();
  // A blob of this file may still wait for its removal: returns once it is gone, so that its name can be used again. Fails
  // where it cannot be removed.
  Status finish_blob(InodeId ino);
  bool empty();
  // Since when what was queued last waits (Publishing::epoch()); nullopt: nothing does.
  std::optional<std::uint64_t> waits_since();
  // Syncs the table, then removes all that was queued before the call, but for what those who follow may need. An object that cannot
  // be removed is no failure: it waits for the next call.
  Status settle() { return settle(std::nullopt); }
  // How often settle() has removed something.
  std::uint64_t turns() const { return turns_.load(std::memory_order_relaxed); }
  // Somebody reads the store beside this user of it, and may have any of its objects open.
  bool followed() const;
  // Why something could not be removed the last time; nullopt: all was.
  std::optional<Error> problem();

 private:
  // `at_once`: goes whoever needs it.
  Status settle(std::optional<PendingRemoval> at_once);
  bool is_spared(const PendingRemoval& removal) const;
  Result<bool> is_named(const PendingRemoval& removal) const;
  Status erase_nameless(Batch& batch, const PendingRemoval& removal);
  void queue(PendingRemoval removal);
  // Or moves it aside, where somebody holds a moment that needs it. A composite that a row names stays.
  Status remove(const PendingRemoval& removal);

  Table& table_;
  BlobStore& blobs_;
  CompositeStore& composites_;
  MomentHold& moments_;
  Publishing& publishing_;
  std::function<bool(CompositeId)> in_use_;
  std::atomic<std::uint64_t> turns_{0};
  Mutex work_;   // one settle() at a time; before mutex_
  Mutex mutex_;  // leaf
  std::map<PendingRemoval, std::uint64_t> due_ CFFS_GUARDED_BY(mutex_);  // since which epoch
  std::optional<Error> problem_ CFFS_GUARDED_BY(mutex_);
};

}  // namespace cffs
