// What a writer does for those who follow it (docs/FOLLOWING.md): says with each commit what makes a state of the store, and keeps what
// such a state needs for a while after the next one is there.
//
// Time is counted in epochs, each from one checkpoint to the next, whose number is that of the earlier one. What goes in epoch E may
// be named by checkpoint E, and by E + 1 where it was on its way when that was cut: it stays until E + 2 is as old as the time that
// things are kept for. While nobody follows nothing is kept or written, at the price of a look once a second.
//
// Lock: mutex_ is a leaf; may_go() and keeps_file() are called with locks of the table's.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/fs/kept_bytes.h"
#include "core/object/object_store.h"
#include "core/table/checkpoint.h"

namespace cffs {

class Table;

// Above all that was published or kept: what a writer begins with, and who reads a store that nobody writes to has.
std::uint64_t next_sequence(const Checkpoint& last, std::uint64_t last_kept);

class Publishing {
 public:
  Publishing(ObjectStore& store, const Clock& clock, std::uint64_t keep_ms, std::uint64_t interval_ms)
      : store_(store), clock_(clock), keep_ms_(keep_ms), interval_ms_(interval_ms), kept_(store) {}

  // Before the table is opened. What an earlier writer kept goes where nobody follows.
  Status begin();
  bool followed() const { return followed_.load(std::memory_order_acquire); }
  // Asks who follows. Where that was the last one, what was kept for them may go from now on.
  bool look();
  KeptBytes& kept_bytes() { return kept_; }

  // For what is let go of now: to be given to may_go() later.
  std::uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }
  bool may_go(std::uint64_t epoch) const;
  bool keeps_file(const std::string& name);

  // While no blob changes, and all rows are written: this is what the next checkpoint will have, unless it would say nothing new
  // and nothing waits for it. `waits_since`: the last epoch() that somebody wants to see may_go() for.
  Status cut(const Table& table, std::optional<std::uint64_t> waits_since);
  // What was cut is durable now.
  Status publish(std::optional<std::uint64_t> files);
  // Removes what was kept long enough.
  void sweep();
  // Room is short: what is kept goes, and those who follow are told that it may be gone. False: there is nothing.
  bool give_up();

 private:
  void lose_before_next();
  bool is_wanted(std::optional<std::uint64_t> waits_since) CFFS_REQUIRES(publishing_);
  std::uint64_t gone_below() const CFFS_REQUIRES(publishing_);

  ObjectStore& store_;
  const Clock& clock_;
  const std::uint64_t keep_ms_;
  const std::uint64_t interval_ms_;
  KeptBytes kept_;
  std::atomic<bool> followed_{false};
  std::atomic<std::uint64_t> epoch_{0};

  Mutex publishing_;  // rank 5, before that of kept_: one checkpoint is written at a time
  Checkpoint last_ CFFS_GUARDED_BY(publishing_);
  std::optional<TableState> cut_ CFFS_GUARDED_BY(publishing_);

  mutable Mutex mutex_;  // leaf
  std::map<std::string, std::uint64_t> files_ CFFS_GUARDED_BY(mutex_);  // of the table, kept; since which epoch
  std::deque<std::pair<std::uint64_t, std::int64_t>> published_ CFFS_GUARDED_BY(mutex_);  // number, steady ms
  // What went before this epoch is nobody's any more, whoever follows.
  std::uint64_t given_up_below_ CFFS_GUARDED_BY(mutex_) = 0;
};

}  // namespace cffs
