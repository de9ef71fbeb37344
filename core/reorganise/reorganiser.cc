#include "core/reorganise/reorganiser.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <set>
#include <utility>

#include "core/base/no_room.h"
#include "core/base/pace.h"
#include "core/base/thread.h"
#include "core/base/within_memory.h"
#include "core/fs/freed_composites.h"
#include "core/fs/renamed_files.h"
#include "core/fs/staged_directories.h"
#include "core/reorganise/compaction.h"
#include "core/reorganise/consolidation.h"

namespace cffs {
namespace {

// What is freed together before others get their turn. Bytes.
constexpr std::uint64_t kPunchedAtOnce = 16u << 20;
// What is read of composites while somebody waits for room. They come by how much was freed: what is behind these is hardly worth it.
constexpr std::uint64_t kReadForRoom = 512u << 20;

// Work that may find nothing, or fail, takes a twentieth of the time at most.
std::int64_t rest_until(std::int64_t began_ms, std::int64_t ended_ms, std::int64_t least_ms) {
  constexpr std::int64_t kPauses = 19;  // times as long as it took
  return ended_ms + std::max(least_ms, kPauses * (ended_ms - began_ms));
}

}  // namespace

Status Reorganiser::start() {
  CFFS_TRY(thread_, make_thread("the thread that consolidates", [this] { run(); }));
  return {};
}

void Reorganiser::stop() {
  {
    const MutexLock guard(mutex_);
    stopping_ = true;
    leave_early_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
    leave_tail();
  }
  fs_.on_shortage(nullptr);
  if (sealing_.empty()) return;
  if (const Status left = sealing_.leave(); !left)
    fs_.log("large files get no checksums: " + left.error().message());
}

void Reorganiser::run() {
  const auto pause = std::chrono::milliseconds(std::max<std::int64_t>(10, quiet_ms_ / 4));
  std::string last_problem;
  std::int64_t tidy_not_before_ms = 0;
  bool tidying_failed = false;
  const auto turn = [&]() -> Status {
    cataloguing_.run([this] { return !stopping(); });
    if (fs_.staged_directories().empty()) {
      (void)fs_.table().compact_garbage(kGarbageMin, [this] { return !stopping(); });
    }
    if (const std::int64_t began = fs_.clock().steady_ms(); began >= tidy_not_before_ms) {
      const Status tidied = fs_.table().tidy_values([this] { return !stopping(); });
      tidy_not_before_ms = rest_until(began, fs_.clock().steady_ms(), kRetryMs);
      if (!tidied && !std::exchange(tidying_failed, true))  // said once: the next ones may fail the same way
        fs_.log("the value log keeps more than it needs: " + tidied.error().message());
    }
    punch_where_full();
    if (fs_.staged_directories().empty() && fs_.renamed_files().nothing_new() && sealing_.empty()) return {};
    Status done = pass(false);
    compact_noted_at(kCompactionRate);  // it may make the room that consolidation did not have
    if (done) done = sealing_.run(quiet_before_ns(false), [this] { return !stopping(); });
    (void)found_room(done);
    if (!done && !stopped_short(done) && done.error().message() != last_problem) {
      last_problem = done.error().message();
      fs_.log("consolidation: " + last_problem);
    }
    return {};
  };
  MutexLock guard(mutex_);
  while (!stopping_) {
    const auto due = std::chrono::steady_clock::now() + pause;
    while (!stopping_ && wake_.wait_until(mutex_, due)) {
    }
    if (stopping_) break;
    guard.unlock();
    (void)within_memory(turn);  // what it had taken is put back
    guard.lock();
  }
}

// By stop(), or by who is short of room: the next pass goes on.
bool Reorganiser::stopped_short(const Status& done) const {
  return stopping_ || (!done && done.error().errno_value == EINTR);
}

// Who moves files is not given room by itself: it is asked for behind it.
bool Reorganiser::found_room(const Status& done) {
  return !done && is_no_room(done.error().errno_value) && give_back(kPunchedAtOnce);
}

Status Reorganiser::pass(bool all, const CompactOptions& options) {
  const MutexLock one_at_a_time(work_mutex_);
  return consolidate(all, [&] { return leave_early_.load() || !options.go_on(); });
}

std::int64_t Reorganiser::quiet_before_ns(bool all) const {
  constexpr std::int64_t kNsPerMs = 1'000'000;
  return all ? Sealing::kAll : fs_.clock().now_ns() - quiet_ms_ * kNsPerMs;
}

Status Reorganiser::consolidate(bool all, const std::function<bool()>& stopped) {
  StagedDirectories& staged = fs_.staged_directories();
  std::vector<InodeId> directories;
  std::vector<RenamedFiles::Renamed> renamed;
  const auto left = within_memory([&] {
    work_mutex_.assert_held();
    directories = staged.take(quiet_ms_, all);
    renamed = fs_.renamed_files().take();
    return Consolidation(fs_, filler_, sealing_, quiet_before_ns(all), stopped, {}).run(directories, renamed);
  });
  // After a failure all of both stay remembered; the next pass tries again.
  if (!left) {
    fs_.renamed_files().put_back(renamed);
    staged.put_back(directories);
    return fail(left.error());
  }
  fs_.renamed_files().put_back(left->renamed);
  staged.put_back(left->directories);
  std::set<InodeId> again(left->directories.begin(), left->directories.end());
  again.insert(left->unreadable.begin(), left->unreadable.end());  // their rows stay
  std::vector<InodeId> done;
  for (const InodeId ino : directories) {
    if (!again.contains(ino)) done.push_back(ino);
  }
  return done.empty() ? Status() : staged.forget(done);
}

// One composite that cannot be compacted must not keep the others from it.
std::uint64_t Reorganiser::compact(CompositeId id) {
  const MutexLock one_at_a_time(work_mutex_);
  const auto bytes = within_memory([&] {
    work_mutex_.assert_held();
    return Compaction(fs_, filler_).run(id);
  });
  if (bytes) return *bytes;
  if (bytes.error().is_damage() || bytes.error().errno_value == ENOENT) {
    fs_.log("composite " + std::to_string(id.value) + " is left as it is: " + bytes.error().message());
  } else {  // no room, no descriptor: that passes
    fs_.staged_directories().put_back_wasteful(id, kRetryMs);
    if (is_no_room(bytes.error().errno_value)) (void)punching_.run(std::array{id});
    const std::string reason = bytes.error().message();
    if (std::exchange(compaction_waits_for_, reason) != reason)  // said once: for the others it is the same
      fs_.log("composite " + std::to_string(id.value) + " waits for compaction: " + reason);
  }
  return 0;
}

void Reorganiser::compact_noted_at(std::uint64_t bytes_per_second, const CompactOptions& options) {
  if (fs_.table().failed()) return;  // nothing can be moved any more
  const std::vector<CompositeId> due = fs_.staged_directories().take_wasteful();
  const auto go_on = [&] { return !stopping() && options.go_on(); };
  Pace pace(bytes_per_second);
  std::size_t done = 0;
  for (const CompositeId id : due) {
    if (stopping()) return;  // the next user of the store finds the others in its table
    if (!go_on()) {
      fs_.staged_directories().put_back_wasteful(id, 0);
      continue;
    }
    // It has put back what it could not do; where memory runs out the others are tried nevertheless.
    (void)within_memory([&]() -> Status {
      pace.spent(compact(id), go_on);
      options.tell({"compacting", ++done, due.size(), "composites"});
      return {};
    });
  }
}

bool Reorganiser::is_nearly_full() const {
  constexpr std::uint64_t kShare = 50, kMost = 1u << 30;  // of the medium; bytes
  const auto space = fs_.statfs();
  return space && space->available_bytes < std::min(space->total_bytes / kShare, kMost);
}

bool Reorganiser::find_freed() {
  FreedComposites& freed = fs_.freed_composites();
  if (punching_.useless() || !freed.incomplete()) return true;
  const std::int64_t began = fs_.clock().steady_ms();
  if (began < punch_not_before_ms_) return false;
  freed.scan_begins();
  const auto found = within_memory([&]() -> Status {
    work_mutex_.assert_held();
    CFFS_TRY(const auto composites, punching_.find([this] { return !stopping(); }));
    freed.note(composites);
    return {};
  });
  if (!found || stopping()) freed.scan_failed();
  rest_from_punching(began);  // a scan that finds nothing is work, too
  return true;
}

void Reorganiser::rest_from_punching(std::int64_t began_ms) {
  punch_not_before_ms_ = rest_until(began_ms, fs_.clock().steady_ms(), kRetryMs);
}

std::optional<Punching::Done> Reorganiser::punch_some(std::uint64_t bytes, std::int64_t began_ms) {
  if (punching_.useless()) return std::nullopt;
  FreedComposites& freed = fs_.freed_composites();
  const auto turn = freed.take(bytes, Punching::kAtOnce, began_ms);
  if (turn.empty()) return std::nullopt;
  const auto done = within_memory([&] {
    work_mutex_.assert_held();
    return punching_.run(turn);
  });
  for (const CompositeId id : done ? done->later : turn)
    freed.put_back(id, fs_.clock().steady_ms() + kRetryMs);
  return done.value_or(Punching::Done{});
}

void Reorganiser::punch_where_full() {
  if (!is_nearly_full()) return;
  const std::int64_t began = fs_.clock().steady_ms();
  {
    const MutexLock one_at_a_time(work_mutex_);
    if (began < punch_not_before_ms_ || !find_freed()) return;
  }
  const auto go_on = [this] { return !stopping(); };
  Pace pace(kCompactionRate);
  while (go_on()) {
    std::optional<Punching::Done> done;
    {
      const MutexLock one_at_a_time(work_mutex_);
      done = punch_some(kPunchedAtOnce, began);
      if (!done || done->held) {
        rest_from_punching(began);
        return;
      }
    }
    pace.spent(done->read, go_on);
  }
}

bool Reorganiser::give_back(std::uint64_t bytes) {
  std::uint64_t given = 0, read = 0;
  {
    leave_early_ = true;
    const MutexLock one_at_a_time(work_mutex_);
    leave_early_ = false;
    if (stopping_) leave_early_ = true;
    const std::int64_t began = fs_.clock().steady_ms();
    for (bool looked = false; given < bytes && read < kReadForRoom && !stopping_;) {
      if (const auto done = punch_some(bytes - given, began)) {
        given += done->punched;
        read += done->read;
        if (done->held) break;
      } else if (!looked && find_freed()) {
        looked = true;
      } else {
        break;
      }
    }
  }
  if (given > 0) return true;
  // Where there are no holes, or not now: what is half freed moves, and goes.
  for (const CompositeId id : fs_.staged_directories().take_wasteful()) {
    if (given < bytes && !stopping_) {
      given += compact(id);
    } else {
      fs_.staged_directories().put_back_wasteful(id, 0);
    }
  }
  return given > 0;
}

void Reorganiser::compact_noted() { compact_noted_at(0); }

void Reorganiser::leave_tail() {
  const MutexLock one_at_a_time(work_mutex_);
  filler_.begin_anew();
}

Status Reorganiser::consolidate_all(const CompactOptions& options) {
  options.tell({"consolidating"});
  Status consolidated = pass(true, options);
  while (!consolidated && !stopping_ && options.go_on() &&
         (stopped_short(consolidated) || found_room(consolidated))) {
    consolidated = pass(true, options);
  }
  if (!options.go_on()) return {};
  compact_noted_at(0, options);
  CFFS_TRY_VOID(consolidated);
  options.tell({"sealing large files"});
  return sealing_.run(quiet_before_ns(true), options.go_on);
}

Status Reorganiser::compact_now(const CompactOptions& options) {
  CFFS_TRY_VOID(consolidate_all(options));
  if (!options.go_on()) return {};
  options.tell({"looking for half-freed composites"});
  CFFS_TRY(const auto wasteful, find_wasteful());
  std::size_t done = 0;
  for (const CompositeId id : wasteful) {
    if (!options.go_on()) break;
    compact(id);
    options.tell({"compacting", ++done, wasteful.size(), "composites"});
  }
  leave_tail();
  return {};
}

Result<std::vector<CompositeId>> Reorganiser::find_wasteful() {
  const MutexLock one_at_a_time(work_mutex_);
  return Compaction(fs_, filler_).find_wasteful();
}

}  // namespace cffs
