#include "core/fs/space_guard.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <thread>

#include "core/base/no_room.h"
#include "core/object/blocking_section.h"

namespace cffs {
namespace {

constexpr std::int64_t kTrancheBytes = 16 << 20;
constexpr std::uint64_t kMostGranted = kTrancheBytes;
constexpr std::uint64_t kLeast = 1u << 20;         // for the rows that say what gives room back
constexpr std::uint64_t kMostHopedFor = 1u << 30;  // to come back at once, beside what there is
constexpr std::uint64_t kStep = 1u << 20;          // the reserve grows by no less, unless it is whole then
constexpr std::uint64_t kZerosAtATime = 1u << 20;  // others wait for no more of them
constexpr std::chrono::milliseconds kLongestForZeros{250};  // of a commit, or of opening
constexpr std::chrono::milliseconds kLongestInTable{50};    // beside LevelDB's own work
constexpr std::array<std::byte, std::size_t{64} << 10> kZeros{};

// Whatever the table needs: at most an eighth of a small medium.
std::uint64_t least(const SpaceInfo& space) {
  return std::min(SpaceGuard::kReserveBytes, space.total_bytes / 8);
}
// Given back at a time: others take what LevelDB does not need. It shrinks by no less.
std::uint64_t piece(const SpaceInfo& space) {
  return std::clamp<std::uint64_t>(least(space) / 8, 256u << 10, 4u << 20);
}
// With a row's share. More than any medium has is as good as that.
std::uint64_t cost_of(std::uint64_t bytes) { return std::min(bytes, std::uint64_t{1} << 62) + 512; }

// Free beside the reserve, so that it is not touched day by day.
std::uint64_t slack(const SpaceInfo& space) { return least(space) / 12; }

}  // namespace

void SpaceGuard::ask_need() {
  if (needed_) need_.store(needed_(), std::memory_order_relaxed);
}

// Beside what the table needs, something for the compaction of composites.
std::uint64_t SpaceGuard::whole(const SpaceInfo& space) const {
  // Of a limit that nobody tells us no more than the table cannot do without.
  if (is_limited_.load(std::memory_order_relaxed))
    return need_.load(std::memory_order_relaxed) + piece(space);
  const std::uint64_t for_table = need_.load(std::memory_order_relaxed) + least(space) / 4;
  return std::clamp(for_table, least(space), std::max(least(space), space.total_bytes / 2));
}

std::uint64_t SpaceGuard::margin(const SpaceInfo& space) const {
  const std::uint64_t wanted = whole(space);
  return wanted - std::min(wanted, held_) + (held_ > 0 ? slack(space) : 0);
}

Result<bool> SpaceGuard::has_room(std::uint64_t cost) {
  CFFS_TRY(const SpaceInfo space, store_.space());
  if (spares_.are_short()) spares_.hold(space);
  const std::uint64_t kept = margin(space);
  const auto refuse = [&](int reason) {  // others are told theirs meanwhile
    reason_.store(reason, std::memory_order_relaxed);
    budget_.store(0, std::memory_order_relaxed);
    return false;
  };
  if (spares_.are_short()) return refuse(spares_.reason());
  if (space.available_bytes < kept || space.available_bytes - kept < cost) return refuse(ENOSPC);
  // There is room for the reserve too, then: as statfs sees it.
  if (held_ < whole(space) && means_ == Means::asks) grow_by_what_there_is(space);
  if (is_limited_.load(std::memory_order_relaxed) && held_ < whole(space)) return refuse(EDQUOT);
  const auto room = static_cast<std::int64_t>(space.available_bytes - kept - cost);
  budget_.store(std::min(kTrancheBytes, room / 4), std::memory_order_relaxed);
  return true;
}

void SpaceGuard::on_lasting_shortage(std::function<bool(std::uint64_t)> give_back) {
  const MutexLock guard(asking_);
  give_back_ = std::move(give_back);
}

// More than a budget ever has is looked at each time: taken off it, some such requests would have it wrap.
bool SpaceGuard::grant(std::uint64_t cost) {
  if (cost > kMostGranted) return false;
  const auto wanted = static_cast<std::int64_t>(cost);
  return budget_.fetch_sub(wanted, std::memory_order_relaxed) >= wanted;
}

Result<bool> SpaceGuard::look(std::uint64_t cost) {
  ask_need();
  const MutexLock guard(mutex_);
  if (cost <= kMostGranted && budget_.load(std::memory_order_relaxed) > 0) return true;
  return has_room(cost);
}

bool SpaceGuard::is_possible(std::uint64_t cost) {
  const auto space = store_.space();
  return !space || (cost <= space->total_bytes && cost <= space->available_bytes + kMostHopedFor);
}

Status SpaceGuard::charge_mover(std::uint64_t bytes) {
  const std::uint64_t cost = cost_of(bytes);
  if (grant(cost)) return {};
  CFFS_TRY(bool enough, look(cost));
  if (!enough && is_possible(cost) && collect_) {
    (void)collect_(cost);  // where it finds nothing, others may have removed something meanwhile
    CFFS_TRY(enough, look(cost));
  }
  return enough ? Status() : refusal();
}

Status SpaceGuard::charge(std::uint64_t bytes) {
  const Status as_mover = charge_mover(bytes);
  if (as_mover || !is_no_room(as_mover.error().errno_value)) return as_mover;
  if (!is_possible(cost_of(bytes)) || !ask_movers(bytes)) return as_mover;
  CFFS_TRY(const bool enough, look(cost_of(bytes)));
  return enough ? Status() : refusal();
}

bool SpaceGuard::ask_movers(std::uint64_t bytes) {
  announce_blocking();
  const MutexLock one_at_a_time(asking_);
  if (!give_back_) return false;
  // Who waited here may find what was given back to the one before.
  const auto there = bytes > 0 ? look(cost_of(bytes)) : Result<bool>(false);
  return (there && *there) || give_back_(bytes + kTrancheBytes);
}

Status SpaceGuard::charge_to_give_back(std::uint64_t bytes) {
  const Status as_others = charge_mover(bytes);
  if (as_others || !is_no_room(as_others.error().errno_value)) return as_others;
  for (;;) {
    ask_need();
    {
      const MutexLock guard(mutex_);
      CFFS_TRY(const SpaceInfo now, store_.space());
      if (now.available_bytes >= bytes + kLeast) return {};
      CFFS_TRY_VOID(find_object());
      const std::uint64_t need = std::max(need_.load(std::memory_order_relaxed), least(now) / 2);
      if (held_ < need + piece(now)) return as_others;
    }
    if (!give()) return as_others;
  }
}

Status SpaceGuard::charge_name(std::uint64_t bytes) {
  if (try_charge(bytes)) return {};
  {
    const MutexLock guard(mutex_);
    CFFS_TRY(const SpaceInfo now, store_.space());
    if (now.available_bytes >= bytes + kLeast) return {};
  }
  return charge_to_give_back(bytes);
}

bool SpaceGuard::try_charge(std::uint64_t bytes) {
  const std::uint64_t cost = cost_of(bytes);
  if (grant(cost)) return true;
  const MutexLock guard(mutex_);
  if (cost <= kMostGranted && budget_.load(std::memory_order_relaxed) > 0) return true;
  const auto enough = has_room(cost);
  return enough && *enough;
}

Result<SpaceInfo> SpaceGuard::space() {
  const MutexLock guard(mutex_);
  CFFS_TRY(SpaceInfo space, store_.space());
  space.available_bytes -= std::min(space.available_bytes, margin(space));
  return space;
}

Status SpaceGuard::find_object() {
  if (object_) return {};
  CFFS_TRY(object_, store_.create(kObjectName, ObjectStore::Create::keep));
  CFFS_TRY(const ObjectInfo info, object_->info());
  held_ = std::min(info.size, info.allocated);
  return {};
}

void SpaceGuard::hold() {
  ask_need();
  grow_for(kLongestForZeros);
}

void SpaceGuard::take_back() {
  if (has_given_.load(std::memory_order_relaxed)) grow_for(kLongestInTable);
}

// Zeros of a slow host are written by one commit after the other; each writes some.
void SpaceGuard::grow_for(std::chrono::milliseconds longest) {
  const auto end = std::chrono::steady_clock::now() + longest;
  while (grow() && std::chrono::steady_clock::now() < end) {
  }
}

bool SpaceGuard::grow() {
  const MutexLock guard(mutex_);
  const auto space = store_.space();
  if (!space) return false;
  spares_.hold(*space);
  if (spares_.are_short()) has_given_.store(true, std::memory_order_relaxed);
  return grow_by_what_there_is(*space);
}

bool SpaceGuard::grow_by_what_there_is(const SpaceInfo& space) {
  if (means_ == Means::none || !find_object()) return false;
  const std::uint64_t room = space.available_bytes - std::min(space.available_bytes, slack(space));
  const std::uint64_t wanted = whole(space);
  const std::uint64_t can = std::min(wanted, held_ + room);
  if (held_ >= wanted + piece(space) && object_->truncate(wanted)) held_ = wanted;
  if (held_ >= can || (can < wanted && can - held_ < kStep)) return false;
  const std::uint64_t before = held_;
  const bool writes = means_ == Means::zeros;
  Status there;
  do {
    there = writes ? write_zeros_to(std::min({can, held_ + piece(space), held_ + kZerosAtATime}))
                   : allocate_to(std::min(can, held_ + piece(space)));
  } while (there && held_ < can && !writes);
  if (held_ > before)
    budget_.store(0, std::memory_order_relaxed);  // what was granted may not be there any more
  if (!there) refused(space, before, there.error().errno_value);
  has_given_.store(means_ != Means::none && (held_ < whole(space) || spares_.are_short()),
                   std::memory_order_relaxed);
  return means_ == Means::zeros && held_ < can && (there || !writes);
}

// A piece at a time: what is refused has taken the rest of a quota, which the table may want meanwhile.
Status SpaceGuard::allocate_to(std::uint64_t bytes) {
  CFFS_TRY_VOID(object_->allocate(0, bytes));
  CFFS_TRY(const ObjectInfo info, object_->info());
  if (info.allocated < bytes) return fail(EOPNOTSUPP);
  CFFS_TRY_VOID(object_->truncate(bytes));
  held_ = bytes;
  return {};
}

// A copy of a store may have holes where the reserve had zeros: they are written from the beginning then.
Status SpaceGuard::write_zeros_to(std::uint64_t bytes) {
  CFFS_TRY(const ObjectInfo before, object_->info());
  if (before.size > held_) {
    CFFS_TRY_VOID(object_->truncate(0));
    held_ = 0;
    bytes = std::min(bytes, kZerosAtATime);
  }
  for (std::uint64_t at = held_; at < bytes; at += kZeros.size()) {
    const ConstBytes zeros(kZeros);
    CFFS_TRY_VOID(object_->write_at(at, zeros.first(std::min<std::uint64_t>(zeros.size(), bytes - at))));
  }
  CFFS_TRY(ObjectInfo info, object_->info());
  if (info.allocated < bytes) {  // a file system that gives them their place later
    CFFS_TRY_VOID(object_->sync());
    CFFS_TRY(info, object_->info());
  }
  if (info.allocated < bytes) return fail(EOPNOTSUPP);  // or none, as it keeps no zeros
  held_ = bytes;
  return {};
}

// A quota, a limit, a shortage: what there was stays; of a quota what the table needs, too.
void SpaceGuard::refused(const SpaceInfo& space, std::uint64_t before, int reason) {
  if (reason == EDQUOT) is_limited_.store(true, std::memory_order_relaxed);
  const bool cannot = reason == EOPNOTSUPP || reason == ENOSYS;
  if (cannot && means_ == Means::asks && store_.zeros_hold_room()) {
    means_ = Means::zeros;
    return;
  }
  if (held_ > 0 || !cannot) {
    const std::uint64_t kept = is_limited_ ? std::max(before, std::min(held_, whole(space))) : held_;
    if (object_->truncate(kept)) held_ = kept;
    return;
  }
  // A backend that keeps nothing for us. What is kept free is all there is then.
  means_ = Means::none;
  object_.reset();
  (void)store_.remove(kObjectName);
}

// To cut a file takes room on some file systems that copy what they change (Btrfs at the limit of a qgroup); to remove it does not, and
// what it had is there for others when that is committed.
bool SpaceGuard::let_all_go() {
  object_.reset();
  if (!store_.remove(kObjectName)) return false;
  held_ = 0;
  (void)store_.sync_everything();
  let_go_at_ = std::chrono::steady_clock::now();
  return true;
}

// Even then Btrfs may refuse it to who asks while others are refused, too. Nobody else gets it while this waits.
bool SpaceGuard::awaits_what_went() {
  constexpr std::chrono::milliseconds kLongest{1000}, kPause{10};
  if (!let_go_at_ || std::chrono::steady_clock::now() - *let_go_at_ > kLongest) return false;
  std::this_thread::sleep_for(kPause);
  return true;
}

bool SpaceGuard::give() {
  const MutexLock guard(mutex_);
  const auto space = store_.space();
  if (space && spares_.give(*space)) {
    has_given_.store(true, std::memory_order_relaxed);
    budget_.store(0, std::memory_order_relaxed);  // what was granted is for who removes something
    return true;
  }
  if (!find_object() || held_ == 0) return awaits_what_went();
  const std::uint64_t bytes = space ? piece(*space) : held_;
  const std::uint64_t left = held_ > bytes ? held_ - bytes : 0;
  if (object_->truncate(left)) {
    held_ = left;
  } else if (!let_all_go()) {
    return false;
  }
  has_given_.store(true, std::memory_order_relaxed);
  budget_.store(0, std::memory_order_relaxed);  // what was granted is not there any more
  return true;
}

}  // namespace cffs
