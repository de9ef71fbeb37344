// Who gives blocks and onodes to the objects of a store: the regions behind one lock, and what objects were given ahead.
//
// An object that grows at its end is given a longer run than it asked for; what it has not used yet is its spare, which nothing on
// the medium knows. It goes back when the object's last handle goes, and when anybody finds no other room.
#pragma once

#include <atomic>
#include <unordered_map>
#include <vector>

#include "core/base/mutex.h"
#include "core/object/object_store.h"
#include "core/region/block_device.h"
#include "core/region/regions.h"

namespace cffs::region {

class Allocation {
 public:
  Allocation(BlockDevice& device, Regions regions);

  struct Wish {
    const void* who = nullptr;  // whose spare
    std::uint64_t logical = 0;  // block of the object
    std::uint64_t want = 1;     // blocks
    std::uint64_t ahead = 0;    // and so many more that it may need next
    std::uint64_t near = 0;     // a block of the medium that it should follow
    bool large = false;         // in large blocks, if there are any
    bool metadata = false;
  };
  // At most `want` blocks, at least one; ENOSPC.
  Result<Run> take(const Wish& wish);
  void give(const std::vector<Run>& runs);
  void drop_spare(const void* who);

  // The last ones are for who must not fail.
  Result<OnodeId> take_onode(bool must);
  void give(OnodeId id);
  // The version of an onode that changes now, larger than any before.
  std::uint64_t next_version();

  // Heads that have to be durable before an onode that needs them is.
  struct Heads {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> versions;  // of region, version
    std::vector<DeviceRange> ranges;
  };
  Heads undurable_heads() const;
  // Those that nobody has needed yet, too: for who writes down that the regions are as they are.
  Status write_changed_heads();
  void durable(const Heads& heads);

  // What the file system below says that it has, and refused to who asked (a quota): one is asked for again.
  void ask_again();
  std::uint64_t free_blocks() const;  // spares included; those that there is room for below
  struct Room {
    std::uint64_t blocks = 0;        // that have data, or may have some
    std::uint64_t sure_blocks = 0;   // as free_blocks()
    std::uint64_t maybe_blocks = 0;  // free, where room was not asked for yet
    std::uint64_t blocks_of_one = 0, free_onodes = 0;
    bool was_refused = false;  // Regions::was_refused()
  };
  Room room() const;  // without a look at every block: who writes asks often
  // Room of regions in which nothing is left goes back to what the device lies on, but for so many that may be needed again soon.
  void give_back_idle(std::size_t kept);

  // Whether somebody who asked for large blocks got fewer in a row, and holes of another kind may be why.
  bool wants_cleaning() const { return wants_cleaning_.load(std::memory_order_relaxed); }
  // The blocks of a region that is to be emptied, from which nothing is taken until open(); nullopt: cleaning would not help.
  std::optional<Run> close_sparsest();
  void open(const Run& region);
  // The regions as they would be found now.
  Regions regions() const;
  std::uint64_t version() const;
  void set_version(std::uint64_t version);

 private:
  struct Spare {
    std::uint64_t logical = 0;
    Run run;
  };
  Status write_heads() CFFS_REQUIRES(mutex_);
  void drop_all_spares() CFFS_REQUIRES(mutex_);
  std::uint64_t free_now() const CFFS_REQUIRES(mutex_);
  // Whether the file system below tells of room for a region.
  bool says_to_have_room() const CFFS_REQUIRES(mutex_);
  // Whether what had no room below is to be asked for again.
  bool may_have_room_again() CFFS_REQUIRES(mutex_);

  BlockDevice& device_;
  std::atomic<bool> wants_cleaning_{false};
  mutable Mutex mutex_;  // leaf
  Regions regions_ CFFS_GUARDED_BY(mutex_);
  std::unordered_map<const void*, Spare> spares_ CFFS_GUARDED_BY(mutex_);
  std::uint64_t version_ CFFS_GUARDED_BY(mutex_) = 0;
  std::uint64_t last_block_ CFFS_GUARDED_BY(mutex_) = 0;
};

}  // namespace cffs::region
