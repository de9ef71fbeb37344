#include "core/reorganise/reorganiser.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <set>

#include "core/base/pace.h"
#include "core/base/thread.h"
#include "core/fs/renamed_files.h"
#include "core/fs/staged_directories.h"
#include "core/reorganise/compaction.h"
#include "core/reorganise/consolidation.h"

namespace cffs {

Status Reorganiser::start() {
  CFFS_TRY(thread_, make_thread("the thread that consolidates", [this] { run(); }));
  return {};
}

void Reorganiser::stop() {
  {
    const MutexLock guard(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (sealing_.empty()) return;
  if (const Status left = sealing_.leave(); !left)
    fs_.log("large files get no checksums: " + left.error().message());
}

void Reorganiser::run() {
  const auto pause = std::chrono::milliseconds(std::max<std::int64_t>(10, quiet_ms_ / 4));
  std::string last_problem;
  MutexLock guard(mutex_);
  while (!stopping_) {
    const auto due = std::chrono::steady_clock::now() + pause;
    while (!stopping_ && wake_.wait_until(mutex_, due)) {
    }
    if (stopping_) break;
    guard.unlock();
    cataloguing_.run([this] { return !stopping(); });
    if (fs_.staged_directories().empty()) {
      (void)fs_.table().compact_garbage(kGarbageMin, [this] { return !stopping(); });
    }
    punch_where_full();
    if (fs_.staged_directories().empty() && fs_.renamed_files().nothing_new() && sealing_.empty()) {
      guard.lock();
      continue;
    }
    Status done = pass(false);
    compact_noted_at(kCompactionRate);  // it may make the room that consolidation did not have
    if (done) done = sealing_.run(quiet_before_ns(false), [this] { return !stopping(); });
    if (!done && !stopping_ && done.error().message() != last_problem) {
      last_problem = done.error().message();
      fs_.log("consolidation: " + last_problem);
    }
    guard.lock();
  }
}

Status Reorganiser::pass(bool all) {
  const MutexLock one_at_a_time(work_mutex_);
  return consolidate(all);
}

std::int64_t Reorganiser::quiet_before_ns(bool all) const {
  constexpr std::int64_t kNsPerMs = 1'000'000;
  return all ? Sealing::kAll : fs_.clock().now_ns() - quiet_ms_ * kNsPerMs;
}

Status Reorganiser::consolidate(bool all) {
  StagedDirectories& staged = fs_.staged_directories();
  const std::vector<InodeId> directories = staged.take(quiet_ms_, all);
  const auto renamed = fs_.renamed_files().take();
  const auto left =
      Consolidation(fs_, filler_, sealing_, quiet_before_ns(all), &stopping_).run(directories, renamed);
  // After a failure all directories stay remembered; the next pass tries again.
  staged.put_back(left ? left->directories : directories);
  if (!left) return fail(left.error());
  fs_.renamed_files().put_back(left->renamed);
  const std::set<InodeId> again(left->directories.begin(), left->directories.end());
  std::vector<InodeId> done;
  for (const InodeId ino : directories) {
    if (!again.contains(ino)) done.push_back(ino);
  }
  return done.empty() ? Status() : staged.forget(done);
}

// One composite that cannot be compacted must not keep the others from it.
std::uint64_t Reorganiser::compact(CompositeId id) {
  const MutexLock one_at_a_time(work_mutex_);
  const auto bytes = Compaction(fs_, filler_).run(id);
  if (bytes) return *bytes;
  if (bytes.error().kind == ErrorKind::corruption) {
    fs_.log("composite " + std::to_string(id.value) + " is left as it is: " + bytes.error().message());
  } else {  // no room, no descriptor: that passes
    fs_.staged_directories().put_back_wasteful(id, kRetryMs);
    if (bytes.error().errno_value == ENOSPC) (void)punching_.run(std::array{id});
    fs_.log("composite " + std::to_string(id.value) + " waits for compaction: " + bytes.error().message());
  }
  return 0;
}

void Reorganiser::compact_noted_at(std::uint64_t bytes_per_second) {
  const std::vector<CompositeId> due = fs_.staged_directories().take_wasteful();
  const auto go_on = [this] { return !stopping(); };
  Pace pace(bytes_per_second);
  for (const CompositeId id : due) {
    if (!go_on()) return;  // the next user of the store finds the others in its table
    pace.spent(compact(id), go_on);
  }
}

bool Reorganiser::is_nearly_full() const {
  constexpr std::uint64_t kShare = 50, kMost = 1u << 30;  // of the medium; bytes
  const auto space = fs_.statfs();
  return space && space->available_bytes < std::min(space->total_bytes / kShare, kMost);
}

// None where it is not time, or nothing has changed.
Result<std::vector<CompositeId>> Reorganiser::find_freed() {
  const MutexLock one_at_a_time(work_mutex_);
  const std::uint64_t changes = fs_.table().namespace_changes();
  const std::int64_t began = fs_.clock().steady_ms();
  const bool due = changes != punched_changes_ && began >= punch_not_before_ms_;
  if (punching_.useless() || !due) return std::vector<CompositeId>{};
  punched_changes_ = changes;
  auto found = punching_.find([this] { return !stopping(); });
  rest_from_punching(began);  // a scan that finds nothing is work, too
  return found;
}

void Reorganiser::rest_from_punching(std::int64_t began_ms) {
  constexpr std::int64_t kPauses = 19;  // times as long as it took
  const std::int64_t ended = fs_.clock().steady_ms();
  punch_not_before_ms_ = ended + std::max(kRetryMs, kPauses * (ended - began_ms));
}

Result<Punching::Done> Reorganiser::punch(std::span<const CompositeId> ids) {
  const MutexLock one_at_a_time(work_mutex_);
  return punching_.run(ids);
}

void Reorganiser::punch_where_full() {
  if (!is_nearly_full()) return;
  const std::int64_t began = fs_.clock().steady_ms();
  const auto freed = find_freed();
  if (!freed || freed->empty()) return;
  const auto go_on = [this] { return !stopping(); };
  Pace pace(kCompactionRate);
  bool all = true;
  for (std::span<const CompositeId> left = *freed; !left.empty() && go_on();) {
    const auto turn = left.first(std::min(Punching::kAtOnce, left.size()));
    left = left.subspan(turn.size());
    const auto done = punch(turn);
    all = all && done && done->all;
    pace.spent(done ? done->read : 0, go_on);
  }
  const MutexLock one_at_a_time(work_mutex_);
  if (!all) punched_changes_.reset();
  rest_from_punching(began);
}

void Reorganiser::compact_noted() { compact_noted_at(0); }

Status Reorganiser::consolidate_now() {
  const Status consolidated = pass(true);
  compact_noted();
  CFFS_TRY_VOID(consolidated);
  return sealing_.run(quiet_before_ns(true), [] { return true; });
}

Status Reorganiser::compact_now() {
  CFFS_TRY_VOID(consolidate_now());
  CFFS_TRY(const auto wasteful, find_wasteful());
  for (const CompositeId id : wasteful) compact(id);
  return {};
}

Result<std::vector<CompositeId>> Reorganiser::find_wasteful() {
  const MutexLock one_at_a_time(work_mutex_);
  return Compaction(fs_, filler_).find_wasteful();
}

}  // namespace cffs
