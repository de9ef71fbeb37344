// The region backend: a whole store on one image file or raw device, no file system below (OBFS, after its paper; what differs and
// why is in docs/adr/0038-regions.md).
//
// The state is read when the store is locked, or at the first call without a lock, and let go of with the lock: then everything is
// durable, and a checkpoint of it makes the next opening instant.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "core/base/mutex.h"
#include "core/object/object_store.h"
#include "core/region/body.h"
#include "core/region/commit_turns.h"
#include "core/region/recovery.h"

namespace cffs {

class RegionStore final : public ObjectStore {
 public:
  struct Format {
    std::uint64_t region_bytes = 0;          // 0: by the device's size
    std::uint64_t large_bytes = 512 * 1024;  // of a large block; a multiple of 4096
  };
  // Makes an empty store of the whole device, whatever is on it. `usage`: it is too small.
  static Status format(BlockDevice& device, const Format& format);
  // Whether there is a store on it.
  static Result<bool> is_store(const BlockDevice& device);
  // `usage`: there is none.
  static Result<std::unique_ptr<RegionStore>> open(std::unique_ptr<BlockDevice> device);
  ~RegionStore() override;

  Result<std::shared_ptr<Object>> create(std::string_view name, Create how) override;
  Result<std::shared_ptr<Object>> open(std::string_view name) override;
  Status remove(std::string_view name) override;
  Status rename(std::string_view from, std::string_view to) override;
  Result<bool> exists(std::string_view name) override;
  Result<std::vector<std::string>> list(std::string_view folder) override;
  Status sync_names() override;
  Status sync_everything() override;
  Result<SpaceInfo> space() override;
  Result<std::unique_ptr<StoreLock>> lock(std::string_view owner) override;
  Result<std::unique_ptr<StoreLock>> lock_for_reading() override;
  bool is_private() const override { return device_->is_private(); }
  std::string block_device() const override { return device_->mountable(); }
  void lend_device() override { device_->lend(); }
  Status take_device_back() override { return device_->take_back(); }
  std::string description() const override { return device_->description(); }

  Result<Layout> layout() override;
  // Whether it was opened by a scan, not by a checkpoint.
  bool was_scanned();

  // For tests: as if the process ended here.
  void abandon();

 private:
  friend class RegionObject;
  class Lock;
  class Reader;
  using BodyPtr = region::BodyPtr;

  explicit RegionStore(std::unique_ptr<BlockDevice> device) : device_(std::move(device)) {}
  Status load() CFFS_REQUIRES(state_mutex_);
  Status settle_recovered() CFFS_REQUIRES(state_mutex_);
  Status forget_what_is_lost() CFFS_REQUIRES(state_mutex_);
  // The state, read if it was not; for a change, marked as in use.
  Result<std::shared_ptr<region::Shared>> state(bool changes);
  // `corruption`: there are blocks of which nobody knows whose they are.
  Status knows_what_is_free() CFFS_REQUIRES(state_mutex_);
  Status begin_use(region::Shared& shared) CFFS_REQUIRES(state_mutex_);
  Status say_in_use(region::Shared& shared) CFFS_REQUIRES(state_mutex_);
  // Everything durable, the checkpoint written, the state let go of.
  Status finish();
  Status write_checkpoint(region::Shared& shared) CFFS_REQUIRES(state_mutex_, names_mutex_);
  std::string owner_text() const;
  Status write_owner(std::string_view owner);
  void end(std::unique_ptr<StoreLock> lock);
  void end_reading();
  void let_go() CFFS_REQUIRES(state_mutex_);

  // What a flush came to: the first that fails ends the epoch, and nothing becomes durable any more.
  Status judged(region::Shared& shared, Status done);
  Status flush(region::Shared& shared, std::span<const DeviceRange> ranges);
  Status commit(region::Shared& shared, std::vector<BodyPtr> bodies);
  Status commit_removals(region::Shared& shared, std::vector<BodyPtr> removed);
  Status sync(region::Shared& shared, const BodyPtr& body);
  Status sync_names(region::Shared& shared);
  std::vector<BodyPtr> uncommitted();
  // Room that waits for a commit comes free. False: there is none.
  bool make_room(region::Shared& shared);
  template <typename Operation>
  auto with_room(region::Shared& shared, const Operation& operation) -> decltype(operation());
  // Empties a region of small blocks for large ones. For who writes much: it takes as long as copying half a region at most.
  void clean(region::Shared& shared);
  void clean_one(region::Shared& shared);
  void handle_gone(region::Shared& shared, const BodyPtr& body);
  std::string full_name(std::string_view name) const;
  tl::unexpected<Error> named(Error error, std::string_view name) const;

  const std::unique_ptr<BlockDevice> device_;
  Mutex state_mutex_;  // first of all
  std::shared_ptr<region::Shared> shared_ CFFS_GUARDED_BY(state_mutex_);
  region::Superblock superblock_ CFFS_GUARDED_BY(state_mutex_);
  std::vector<region::OnodeId> gone_
      CFFS_GUARDED_BY(state_mutex_);                    // not durably so, when the store was read
  unsigned readers_ CFFS_GUARDED_BY(state_mutex_) = 0;  // that hold the lock to look
  bool scanned_ CFFS_GUARDED_BY(state_mutex_) = false;
  bool hides_something_ CFFS_GUARDED_BY(state_mutex_) = false;
  region::CommitTurns<region::Body> commit_turns_;
  std::atomic<bool> cleaning_{false};
  Mutex removals_mutex_;  // while removals are made durable; before names_mutex_
  Mutex names_mutex_;     // before those of bodies
  std::map<std::string, BodyPtr, std::less<>> names_ CFFS_GUARDED_BY(names_mutex_);
  struct Renamed {
    BodyPtr body;
    std::string from;
    std::uint64_t number;
  };
  void note_removed(const BodyPtr& body) CFFS_REQUIRES(names_mutex_);
  // Whether the medium may know another object by this name, which has been called otherwise since: a power cut at once would leave
  // two of that name, of which the older goes.
  bool was_given_away(std::string_view name) const CFFS_REQUIRES(names_mutex_);
  // Does work on names, in room that may have to be made for it; EAGAIN of it: names have to be durable before.
  template <typename Work>
  auto with_settled_names(region::Shared& shared, const Work& work) -> decltype(work());
  std::vector<Renamed> renamed_ CFFS_GUARDED_BY(names_mutex_);     // since the last sync_names()
  std::uint64_t renames_ CFFS_GUARDED_BY(names_mutex_) = 0;        // so many so far
  std::uint64_t removed_bytes_ CFFS_GUARDED_BY(names_mutex_) = 0;  // that those have, about
  std::vector<BodyPtr> removed_ CFFS_GUARDED_BY(names_mutex_);  // and not durably so
  std::vector<std::string> damaged_ CFFS_GUARDED_BY(names_mutex_);
  std::vector<region::OnodeId> damaged_onodes_ CFFS_GUARDED_BY(names_mutex_);
};

// What meets a full device is tried again once room that waited for a commit has come free.
template <typename Operation>
auto RegionStore::with_room(region::Shared& shared, const Operation& operation) -> decltype(operation()) {
  if (!shared.in_use.load(std::memory_order_acquire)) {
    const MutexLock guard(state_mutex_);
    CFFS_TRY_VOID(begin_use(shared));
  }
  auto done = operation();
  if (!done && done.error().errno_value == ENOSPC && make_room(shared)) done = operation();
  return done;
}

template <typename Work>
auto RegionStore::with_settled_names(region::Shared& shared, const Work& work) -> decltype(work()) {
  for (;;) {
    auto done = with_room(shared, work);
    if (done || done.error().errno_value != EAGAIN) return done;
    CFFS_TRY_VOID(sync_names(shared));
  }
}

}  // namespace cffs
