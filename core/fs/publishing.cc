#include "core/fs/publishing.h"

#include <algorithm>
#include <vector>

#include "core/table/table.h"

namespace cffs {

std::uint64_t next_sequence(const Checkpoint& last, std::uint64_t last_kept) {
  return std::max(last.sequence, last_kept) + 1;
}

Status Publishing::begin() {
  kept_.on_lost([this] { lose_before_next(); });
  const auto read = read_checkpoint(store_);
  if (!read && !read.error().is_damage()) return fail(read.error());
  const Checkpoint last = read ? *read : Checkpoint();  // a hint: where it cannot be read it is lost
  CFFS_TRY_VOID(kept_.load());
  // Where there is none, the last one may have been lost: who follows still has it, and must not take an earlier number for a later state.
  // Nobody publishes once a millisecond.
  const std::uint64_t by_clock = last.sequence > 0 ? 0 : static_cast<std::uint64_t>(clock_.now_ns() / 1'000'000);
  epoch_.store(std::max(next_sequence(last, kept_.last()), by_clock));
  kept_.begin_epoch(epoch());
  {
    const MutexLock guard(publishing_);
    last_ = last;
  }
  followed_.store(store_.followed());
  if (!followed() && (last.kept || !kept_.empty())) {
    followed_.store(true);  // as far as look() knows: it says that nothing is kept, then looks again
    (void)look();
  }
  return {};
}

// Who begins to follow believes a checkpoint that says what it needs is kept. So that is taken back before anything goes, and then
// looked again: somebody may have believed it.
bool Publishing::look() {
  const bool were = followed();
  bool are = store_.followed();
  if (were && !are) {
    const MutexLock guard(publishing_);
    cut_.reset();  // of a commit that ended early: nothing is kept for it any more
    if (last_.kept) {
      last_.kept = false;
      if (!write_checkpoint(store_, last_)) {
        last_.kept = true;
        return true;
      }
    }
    are = store_.followed();
  }
  followed_.store(are, std::memory_order_release);
  if (were && !are) {
    sweep();
    const MutexLock guard(mutex_);
    published_.clear();
  }
  return are;
}

bool Publishing::may_go(std::uint64_t epoch) const {
  if (!followed()) return true;
  const std::int64_t enough = clock_.steady_ms() - static_cast<std::int64_t>(keep_ms_);
  const MutexLock guard(mutex_);
  if (epoch < given_up_below_) return true;
  const auto later = std::upper_bound(published_.begin(), published_.end(), enough,
                                      [](std::int64_t at, const auto& one) { return at < one.second; });
  return later != published_.begin() && epoch + 2 <= std::prev(later)->first;
}

bool Publishing::keeps_file(const std::string& name) {
  if (!followed()) return false;
  std::uint64_t since = 0;
  {
    const MutexLock guard(mutex_);
    since = files_.emplace(name, epoch()).first->second;
  }
  if (!may_go(since)) return true;
  const MutexLock guard(mutex_);
  files_.erase(name);
  return false;
}

// Something that was let go of goes two checkpoints later, and what was kept of blobs when one has said so.
bool Publishing::is_wanted(std::optional<std::uint64_t> waits_since) {
  std::uint64_t last = waits_since.value_or(0);
  bool waits = waits_since.has_value();
  {
    const MutexLock leaf(mutex_);
    for (const auto& [name, since] : files_) last = std::max(last, since);
    waits = waits || !files_.empty();
  }
  if (!kept_.empty()) last = std::max(last, kept_.last());
  waits = waits || !kept_.empty();
  return (waits && last + 2 > last_.sequence) || gone_below() > last_.oldest;
}

std::uint64_t Publishing::gone_below() const {
  std::uint64_t below = last_.oldest;
  for (const std::uint64_t epoch : kept_.epochs()) {
    if (may_go(epoch)) below = std::max(below, epoch + 1);
  }
  return below;
}

Status Publishing::cut(const Table& table, std::optional<std::uint64_t> waits_since) {
  const MutexLock guard(publishing_);
  cut_.reset();
  constexpr int kTries = 16;  // a log may be begun, and one let go of, while we look
  for (int attempt = 0; attempt < kTries && !cut_; ++attempt) {
    const auto logs = table.log_ends();
    CFFS_TRY(TableState state, table_state(store_, logs));
    const auto now = table.log_ends();
    const bool same = std::equal(logs.begin(), logs.end(), now.begin(), now.end(),
                                 [](const auto& a, const auto& b) { return a.first == b.first; });
    if (same) cut_ = std::move(state);
  }
  if (!cut_) return fail(EAGAIN, "checkpoint");
  if (last_.kept && last_.table == *cut_ && !is_wanted(waits_since)) {
    cut_.reset();
    return {};
  }
  epoch_.fetch_add(1, std::memory_order_acq_rel);
  kept_.begin_epoch(epoch());
  return {};
}

Status Publishing::publish(std::optional<std::uint64_t> files) {
  const MutexLock guard(publishing_);
  if (!cut_) return {};
  Checkpoint next;
  next.table = *std::exchange(cut_, std::nullopt);
  next.sequence = epoch();
  next.oldest = gone_below();
  next.kept = true;
  next.keep_ms = keep_ms_;
  next.interval_ms = interval_ms_;
  next.at_ns = clock_.now_ns();
  next.files = files;
  CFFS_TRY_VOID(write_checkpoint(store_, next));
  last_ = std::move(next);
  const std::int64_t at = clock_.steady_ms();
  const MutexLock leaf(mutex_);
  published_.emplace_back(last_.sequence, at);
  // Of those that are old enough the last one counts.
  while (published_.size() > 1 && published_[1].second <= at - static_cast<std::int64_t>(keep_ms_)) {
    published_.pop_front();
  }
  return {};
}

void Publishing::sweep() {
  {
    const MutexLock guard(publishing_);
    const std::uint64_t below = followed() ? last_.oldest : ~std::uint64_t{0};
    kept_.remove([below](std::uint64_t epoch) { return epoch < below; });
  }
  std::vector<std::pair<std::string, std::uint64_t>> files;
  {
    const MutexLock guard(mutex_);
    files.assign(files_.begin(), files_.end());
  }
  for (const auto& [name, since] : files) {
    if (!may_go(since)) continue;
    (void)store_.remove(name);  // LevelDB tries again where this fails
    const MutexLock guard(mutex_);
    files_.erase(name);
  }
}

// What is not there any more is said before it goes.
void Publishing::lose_before_next() {
  const MutexLock guard(publishing_);
  const std::uint64_t below = epoch() + 1;
  last_.oldest = below;
  // Where there is no room to say so either, there is none any more: who follows takes that for the same.
  if (last_.kept && !write_checkpoint(store_, last_) && !store_.remove(kCheckpointObject)) return;
  const MutexLock leaf(mutex_);
  given_up_below_ = below;
}

bool Publishing::give_up() {
  if (!followed()) return false;
  {
    const MutexLock guard(mutex_);
    if (given_up_below_ > epoch()) return false;
  }
  lose_before_next();
  sweep();
  return true;
}

}  // namespace cffs
