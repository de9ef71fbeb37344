#include "core/reorganise/reorganiser.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <set>

#include "core/base/thread.h"
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
    if (fs_.staged_directories().empty() && sealing_.empty()) continue;
    guard.unlock();
    Status done = pass(false);
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
  CFFS_TRY_VOID(consolidate(all));
  compact_noted_now();
  return {};
}

std::int64_t Reorganiser::quiet_before_ns(bool all) const {
  constexpr std::int64_t kNsPerMs = 1'000'000;
  return all ? std::numeric_limits<std::int64_t>::max() : fs_.clock().now_ns() - quiet_ms_ * kNsPerMs;
}

Status Reorganiser::consolidate(bool all) {
  StagedDirectories& staged = fs_.staged_directories();
  const std::vector<InodeId> directories = staged.take(quiet_ms_, all);
  const auto waiting =
      Consolidation(fs_, filler_, sealing_, quiet_before_ns(all), &stopping_).run(directories);
  // After a failure all stay remembered; the next pass tries again.
  staged.put_back(waiting ? *waiting : directories);
  if (!waiting) return fail(waiting.error());
  const std::set<InodeId> again(waiting->begin(), waiting->end());
  std::vector<InodeId> done;
  for (const InodeId ino : directories) {
    if (!again.contains(ino)) done.push_back(ino);
  }
  return staged.forget(done);
}

void Reorganiser::compact(CompositeId id) {
  if (const Status compacted = Compaction(fs_, filler_).run(id); !compacted) {
    // One rotten composite must not keep the others from being compacted.
    fs_.log("composite " + std::to_string(id.value) + " is left as it is: " + compacted.error().message());
  }
}

void Reorganiser::compact_noted_now() {
  for (const CompositeId id : fs_.staged_directories().take_wasteful()) compact(id);
}

void Reorganiser::compact_noted() {
  const MutexLock one_at_a_time(work_mutex_);
  compact_noted_now();
}

Status Reorganiser::consolidate_now() {
  CFFS_TRY_VOID(pass(true));
  return sealing_.run(quiet_before_ns(true), [] { return true; });
}

Status Reorganiser::compact_now() {
  CFFS_TRY_VOID(consolidate_now());
  const MutexLock one_at_a_time(work_mutex_);
  CFFS_TRY(const auto wasteful, Compaction(fs_, filler_).find_wasteful());
  for (const CompositeId id : wasteful) compact(id);
  return {};
}

}  // namespace cffs
