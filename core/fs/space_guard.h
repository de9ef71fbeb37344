// Room on the backing store: keeps some for what must always work (deleting, truncating, committing, opening), refuses new
// data while that is all there is, and says how much there is for users.
//
// LevelDB that meets ENOSPC stops for good. So an object of the store holds room: others who write to the same medium cannot
// take it. Where LevelDB meets ENOSPC, the object gives some of it back, and LevelDB tries again; a commit that finds room
// makes it whole. How much that is depends on what LevelDB may have to write anew, and that on how much the table has. Where the
// backend cannot hold room for an object that has nothing, and zeros take room there as other bytes do, it has zeros, which opening and
// commits write bit by bit. Where neither holds any, or the object is not whole, as much is kept free as statfs tells. The same goes
// for inodes (spare_objects.h).
//
// A quota is less than statfs tells: that there is one shows where the object is refused what statfs has (EDQUOT). From then on it has what
// the table needs, and nobody else gets any room (EDQUOT) while it has not.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "core/base/mutex.h"
#include "core/fs/spare_objects.h"
#include "core/object/object_store.h"

namespace cffs {

class SpaceGuard {
 public:
  static constexpr std::uint64_t kReserveBytes = 48u << 20;  // at least, or an eighth of the medium
  static constexpr const char* kObjectName = "reserve";

  explicit SpaceGuard(ObjectStore& store) : store_(store), spares_(store) {}

  // Whom to ask where room runs out: removes what may go, false where there is nothing. Told how many bytes are wanted. Called without locks.
  void on_shortage(std::function<bool(std::uint64_t)> collect) { collect_ = std::move(collect); }

  // Whom to ask where that was not enough, and a user of the store waits: who moves files, which takes longer. Called without locks,
  // by one thread at a time. Null: nobody, and nobody is in it any more.
  void on_lasting_shortage(std::function<bool(std::uint64_t)> give_back) CFFS_EXCLUDES(asking_);

  // Who says how many bytes the table may have to write before it gives any back. Called without locks.
  void on_need(std::function<std::uint64_t()> needed) { needed_ = std::move(needed); }

  // ENOSPC or EDQUOT where `bytes` more might not fit. Asks the store once per tranche of written bytes, not per write. To be called
  // without locks: what waits for its removal is removed where that helps.
  Status charge(std::uint64_t bytes) CFFS_EXCLUDES(asking_);
  // The same for who moves files, whom nobody asks for room meanwhile.
  Status charge_mover(std::uint64_t bytes);
  // The same for work that gives back more than it takes, as compaction does: it may use what is kept free, and of the reserve
  // what the table does not need.
  Status charge_to_give_back(std::uint64_t bytes);
  // The same for a name. Where what is kept free suffices, nobody is asked to remove anything, or gives up a backup.
  Status charge_name(std::uint64_t bytes) CFFS_EXCLUDES(mutex_);
  // The same without removing anything: with locks too.
  bool try_charge(std::uint64_t bytes);
  // False: what is kept free is all that the table has. Then whatever may take room is charged, also what is changed in place.
  bool holds_room() const { return means_.load(std::memory_order_relaxed) != Means::none; }
  // What who was refused is told: ENOSPC, or EDQUOT where it was a quota.
  Status refusal() const { return fail(reason_.load(std::memory_order_relaxed)); }
  // False: more than the medium has, or by far more than there is. Nobody gives anything up for that, or looks for any.
  bool is_possible(std::uint64_t cost);
  // Asks who moves files for room, for so many bytes and some to come. False: there is none to be had. To be called without locks.
  bool ask_movers(std::uint64_t bytes) CFFS_EXCLUDES(asking_);
  // What others than us may use.
  Result<SpaceInfo> space();
  // Makes the reserve whole, as far as there is room. What fails is tried again the next time.
  void hold();
  // For who must not fail: gives a piece of the reserve, or a spare inode, back to the medium. False: there is none left.
  bool give();
  // Where something has gone since: what was given comes back before others take the room.
  void take_back();

 private:
  // What makes the object hold room: the backend, which is asked for it (fallocate), zeros in it, or nothing.
  enum class Means { asks, zeros, none };

  bool grant(std::uint64_t cost);
  Result<bool> look(std::uint64_t cost) CFFS_EXCLUDES(mutex_);
  Status find_object() CFFS_REQUIRES(mutex_);
  Result<bool> has_room(std::uint64_t cost) CFFS_REQUIRES(mutex_);
  std::uint64_t margin(const SpaceInfo& space) const CFFS_REQUIRES(mutex_);
  std::uint64_t whole(const SpaceInfo& space) const;
  void grow_for(std::chrono::milliseconds longest) CFFS_EXCLUDES(mutex_);
  // True: zeros were written, or are to be, and there is room for more.
  bool grow() CFFS_EXCLUDES(mutex_);
  bool grow_by_what_there_is(const SpaceInfo& space) CFFS_REQUIRES(mutex_);
  Status allocate_to(std::uint64_t bytes) CFFS_REQUIRES(mutex_);
  Status write_zeros_to(std::uint64_t bytes) CFFS_REQUIRES(mutex_);
  bool let_all_go() CFFS_REQUIRES(mutex_);
  bool awaits_what_went() CFFS_REQUIRES(mutex_);
  void refused(const SpaceInfo& space, std::uint64_t before, int reason) CFFS_REQUIRES(mutex_);
  // LevelDB calls give() and take_back() with locks of its own: they come before mutex_, so it is asked ahead.
  void ask_need() CFFS_EXCLUDES(mutex_);

  ObjectStore& store_;
  std::function<bool(std::uint64_t)> collect_;  // set before others come
  std::function<std::uint64_t()> needed_;
  Mutex asking_;  // rank 0, before the movers' own
  std::function<bool(std::uint64_t)> give_back_ CFFS_GUARDED_BY(asking_);
  std::atomic<std::uint64_t> need_{0};
  std::atomic<bool> has_given_{false};
  std::atomic<int> reason_{ENOSPC};      // of the last refusal
  std::atomic<bool> is_limited_{false};  // a quota was met
  std::atomic<std::int64_t> budget_{0};
  Mutex mutex_;  // before the store's; one asks it at a time
  std::shared_ptr<Object> object_ CFFS_GUARDED_BY(mutex_);
  std::uint64_t held_ CFFS_GUARDED_BY(mutex_) = 0;  // bytes
  std::atomic<Means> means_{Means::asks};           // changed under mutex_
  std::optional<std::chrono::steady_clock::time_point> let_go_at_ CFFS_GUARDED_BY(mutex_);
  SpareObjects spares_ CFFS_GUARDED_BY(mutex_);
};

}  // namespace cffs
