// Rows that were looked for and are not there. Who makes or renames a file has just asked for the name, and LevelDB needs longest
// for what it does not have: memtables, all files of level 0, a file of each level.
//
// One row for each slot; it holds as long as no exclusive guard has come to its stripe since: no row is written without one.
#pragma once

#include <array>
#include <cstdint>

#include "core/base/mutex.h"
#include "core/table/key.h"
#include "core/table/row_locks.h"

namespace cffs {

class AbsentRows {
 public:
  // Under a guard over this key: its row was just read, and is empty.
  template <typename Guard>
  void note(const Guard& guard, Key key) CFFS_REQUIRES_SHARED(row_stripes) {
    Slot& slot = slots_[slot_of(key)];
    const MutexLock lock(slot.mutex);
    slot.key = key;
    slot.stamp = guard.stamp_of(key);
    slot.used = true;
  }
  // Under a guard over this key: whether it needs no reading, since it was empty and cannot have been written.
  template <typename Guard>
  bool still(const Guard& guard, Key key) const CFFS_REQUIRES_SHARED(row_stripes) {
    const Slot& slot = slots_[slot_of(key)];
    const MutexLock lock(slot.mutex);
    return slot.used && slot.key == key && slot.stamp == guard.stamp_of(key);
  }

 private:
  static constexpr std::size_t kSlots = 256;
  struct Slot {
    mutable Mutex mutex;  // leaf
    Key key CFFS_GUARDED_BY(mutex){};
    std::uint64_t stamp CFFS_GUARDED_BY(mutex) = 0;
    bool used CFFS_GUARDED_BY(mutex) = false;
  };
  static std::size_t slot_of(Key key) { return static_cast<std::size_t>((key.upper ^ key.lower) % kSlots); }

  std::array<Slot, kSlots> slots_;
};

}  // namespace cffs
