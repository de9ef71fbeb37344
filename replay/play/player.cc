#include "replay/play/player.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>
#include <thread>

#include "replay/model/content.h"
#include "replay/play/make_tree.h"

namespace cffs::replay {
namespace {

constexpr std::size_t kChunk = 256 * 1024;
constexpr std::uint64_t kLargest = 64u << 20;  // of one read or write

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

void Timeline::merge(const Timeline& other) {
  if (other.counts_.size() > counts_.size()) counts_.resize(other.counts_.size());
  for (std::size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += other.counts_[i];
}

LatencyHistogram PlayReport::all() const {
  LatencyHistogram whole;
  for (const auto& histogram : by_call) {
    if (histogram) whole.merge(*histogram);
  }
  return whole;
}

void PlayReport::merge(PlayReport& other) {
  for (std::size_t i = 0; i < kCalls; ++i) {
    if (!other.by_call[i]) continue;
    if (by_call[i]) {
      by_call[i]->merge(*other.by_call[i]);
    } else {
      by_call[i] = std::move(other.by_call[i]);
    }
  }
  timeline.merge(other.timeline);
  operations += other.operations;
  read_bytes += other.read_bytes;
  written_bytes += other.written_bytes;
  checking_seconds += other.checking_seconds;
  late_seconds = std::max(late_seconds, other.late_seconds);
  failed += other.failed;
  not_refused += other.not_refused;
  other_error += other.other_error;
  wrong_size += other.wrong_size;
  wrong_content += other.wrong_content;
  if (first_problem.empty()) first_problem = other.first_problem;
}

// One thread's part of a play.
class Player::Thread {
 public:
  Thread(Player& player, std::uint32_t index, const PlayOptions& options, std::uint64_t end)
      : player_(player), index_(index), options_(options), end_(end) {}

  void run(std::int64_t start_ns, std::int64_t first_ns) {
    const std::vector<Step>& steps = player_.schedule_.threads[index_];
    std::atomic<std::uint32_t>& done = player_.progress_[index_].done;
    std::uint32_t at = done.load(std::memory_order_relaxed);
    while (at < steps.size() && steps[at].operation < end_) {
      const Step& step = steps[at];
      wait_for_others(step);
      if (options_.think > 0)
        wait_until(start_ns +
                   static_cast<std::int64_t>(static_cast<double>(step.start_ns - first_ns) * options_.think));
      const std::int64_t latency = perform(step);
      record(step, latency);
      report.timeline.record(std::max<std::int64_t>(0, ended_ns_ - start_ns));
      ++report.operations;
      done.store(++at, std::memory_order_release);
      done.notify_all();
      if (index_ == 0 && options_.progress && at % 4096 == 0)
        options_.progress(std::uint64_t{at} * player_.schedule_.threads.size());
    }
  }

  PlayReport report;

 private:
  void wait_for_others(const Step& step) {
    for (std::uint32_t i = 0; i < step.awaited; ++i) {
      const Awaited& awaited = player_.schedule_.awaited[step.first_awaited + i];
      std::atomic<std::uint32_t>& done = player_.progress_[awaited.thread].done;
      constexpr int kSpins = 100;
      int spins = 0;
      for (;;) {
        const std::uint32_t now = done.load(std::memory_order_acquire);
        if (now >= awaited.operations) break;
        if (++spins > kSpins) done.wait(now, std::memory_order_acquire);
      }
    }
  }
  void wait_until(std::int64_t moment_ns) {
    const std::int64_t now = now_ns();
    if (now >= moment_ns) {
      report.late_seconds = std::max(report.late_seconds, static_cast<double>(now - moment_ns) / 1e9);
      return;
    }
    const timespec at{moment_ns / 1'000'000'000, moment_ns % 1'000'000'000};
    while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) == EINTR) {
    }
  }

  const Operation& operation(const Step& step) const { return player_.trace_.operations[step.operation]; }
  std::span<char> buffer(std::size_t bytes) {
    if (buffer_.size() < bytes) buffer_.resize(bytes);
    return {buffer_.data(), bytes};
  }

  // Runs the call between two looks at the clock; returns the nanoseconds between them.
  template <typename Action>
  std::int64_t timed(const Action& action) {
    const std::int64_t start = now_ns();
    result_ = action();
    ended_ns_ = now_ns();
    return ended_ns_ - start;
  }

  std::int64_t perform(const Step& step);
  std::int64_t perform_read(const Step& step, const Operation& o);
  std::int64_t perform_write(const Step& step, const Operation& o);
  std::int64_t fetch(const std::string& path, std::uint64_t from, std::uint64_t most, const Step& step);
  std::int64_t list(const std::string& path);
  std::int64_t sync_by_path(const std::string& path, bool data_only);
  std::int64_t call(const Operation& o, std::int64_t handle);
  void check_bytes(const Step& step, std::uint64_t offset, std::span<const char> bytes);
  void record(const Step& step, std::int64_t latency_ns);
  void problem(const Step& step, std::uint64_t& counter, const std::string& what);

  Player& player_;
  const std::uint32_t index_;
  const PlayOptions& options_;
  const std::uint64_t end_;
  std::string buffer_;
  FileFacts facts_;
  std::int64_t result_ = 0;
  std::int64_t ended_ns_ = 0;
  std::int64_t checking_ns_ = 0;  // inside a timed call: taken off its latency
  std::uint32_t segment_ = 0;     // of the step's, where the next byte of a sequential read is looked for
  bool content_is_right_ = true;
};

void Player::Thread::check_bytes(const Step& step, std::uint64_t offset, std::span<const char> bytes) {
  if (options_.check != Check::content || bytes.empty()) return;
  const std::int64_t start = now_ns();
  const std::vector<Segment>& all = player_.schedule_.segments;
  while (!bytes.empty() && segment_ < step.expected.segments) {
    const Segment& s = all[step.expected.first_segment + segment_];
    if (s.offset + s.length <= offset) {
      ++segment_;
      continue;
    }
    const std::size_t n = std::min<std::uint64_t>(bytes.size(), s.offset + s.length - offset);
    content_is_right_ = content_is_right_ && is_content(s.stamp, offset, bytes.first(n));
    offset += n;
    bytes = bytes.subspan(n);
  }
  checking_ns_ += now_ns() - start;
}

std::int64_t Player::Thread::perform(const Step& step) {
  const Operation& o = operation(step);
  checking_ns_ = 0;
  segment_ = 0;
  content_is_right_ = true;
  facts_ = {0, step.expected.length};
  if (player_.target_ == nullptr) {
    const std::int64_t latency = timed(
        [&] { return step.expected.error != 0 ? -step.expected.error : std::int64_t(step.expected.length); });
    return latency;
  }
  if (o.call == Call::read) return perform_read(step, o);
  if (o.call == Call::write) return perform_write(step, o);
  if (o.call == Call::fetch) {
    const std::int64_t latency =
        timed([&] { return fetch(player_.trace_.path(o.path), 0, kToTheEnd, step); });
    if (result_ > 0) report.read_bytes += static_cast<std::uint64_t>(result_);
    return latency - checking_ns_;
  }
  if (o.call == Call::open) {
    const std::string& path = player_.trace_.path(o.path);
    const std::int64_t latency = timed([&] { return player_.target_->open(path, o.flags, o.mode); });
    if (result_ >= 0) {
      if (o.handle == kNoHandle) {
        (void)player_.target_->close(result_);
      } else {
        player_.handles_[o.handle] = result_;
      }
      result_ = 0;
    }
    return latency;
  }
  std::int64_t handle = -1;
  if (o.handle != kNoHandle) {
    handle = player_.handles_[o.handle];
    if (handle < 0) {  // its open failed here
      return timed([] { return std::int64_t{-EBADF}; });
    }
    if (o.call == Call::close) player_.handles_[o.handle] = -1;
  }
  return timed([&] { return call(o, handle); });
}

std::int64_t Player::Thread::perform_read(const Step& step, const Operation& o) {
  const std::uint64_t bytes = std::min(o.length, kLargest);
  std::int64_t latency = 0;
  if (o.handle == kNoHandle) {
    latency = timed([&] { return fetch(player_.trace_.path(o.path), o.offset, bytes, step); });
  } else {
    const std::int64_t handle = player_.handles_[o.handle];
    const std::span<char> into = buffer(bytes);
    latency = timed(
        [&] { return handle < 0 ? std::int64_t{-EBADF} : player_.target_->read(handle, o.offset, into); });
    if (result_ > 0) check_bytes(step, o.offset, into.first(static_cast<std::size_t>(result_)));
    checking_ns_ = 0;
  }
  if (result_ > 0) report.read_bytes += static_cast<std::uint64_t>(result_);
  return latency - checking_ns_;
}

std::int64_t Player::Thread::perform_write(const Step& step, const Operation& o) {
  const std::uint64_t bytes =
      std::min<std::uint64_t>(o.result > 0 ? static_cast<std::uint64_t>(o.result) : o.length, kLargest);
  const std::int64_t start = now_ns();
  const std::span<char> data = buffer(bytes);
  fill_content(std::uint64_t{step.operation} + 1, o.offset, data);
  report.checking_seconds += static_cast<double>(now_ns() - start) / 1e9;
  std::int64_t latency = 0;
  if (o.handle == kNoHandle) {
    const std::string& path = player_.trace_.path(o.path);
    latency = timed([&]() -> std::int64_t {
      const std::int64_t handle = player_.target_->open(path, O_WRONLY, 0);
      if (handle < 0) return handle;
      const std::int64_t written = player_.target_->write(handle, o.offset, data);
      (void)player_.target_->close(handle);
      return written;
    });
  } else {
    const std::int64_t handle = player_.handles_[o.handle];
    latency = timed(
        [&] { return handle < 0 ? std::int64_t{-EBADF} : player_.target_->write(handle, o.offset, data); });
  }
  if (result_ > 0) report.written_bytes += static_cast<std::uint64_t>(result_);
  return latency;
}

// open, read `most` bytes from `from` or to the end, close.
std::int64_t Player::Thread::fetch(const std::string& path, std::uint64_t from, std::uint64_t most,
                                   const Step& step) {
  const std::int64_t handle = player_.target_->open(path, O_RDONLY, 0);
  if (handle < 0) return handle;
  std::uint64_t done = 0;
  std::int64_t problem = 0;
  while (done < most) {
    const std::span<char> into = buffer(std::min<std::uint64_t>(kChunk, most - done));
    const std::int64_t n = player_.target_->read(handle, from + done, into);
    if (n < 0) problem = n;
    if (n <= 0) break;
    check_bytes(step, from + done, into.first(static_cast<std::size_t>(n)));
    done += static_cast<std::uint64_t>(n);
    if (static_cast<std::size_t>(n) < into.size()) break;
  }
  (void)player_.target_->close(handle);
  return problem < 0 ? problem : static_cast<std::int64_t>(done);
}

std::int64_t Player::Thread::list(const std::string& path) {
  const std::int64_t handle = player_.target_->open(path, O_RDONLY | O_DIRECTORY, 0);
  if (handle < 0) return handle;
  const std::int64_t entries = player_.target_->list(handle, nullptr);
  (void)player_.target_->close(handle);
  return entries;
}

std::int64_t Player::Thread::sync_by_path(const std::string& path, bool data_only) {
  const std::int64_t handle = player_.target_->open(path, O_RDONLY, 0);
  if (handle < 0) return handle;
  const std::int64_t synced = player_.target_->fsync(handle, data_only);
  (void)player_.target_->close(handle);
  return synced;
}

std::int64_t Player::Thread::call(const Operation& o, std::int64_t handle) {
  Target& target = *player_.target_;
  static const std::string kNone;
  const std::string& path = o.path == kNoPath ? kNone : player_.trace_.path(o.path);
  const std::string& path2 = o.path2 == kNoPath ? kNone : player_.trace_.path(o.path2);
  std::string text;
  switch (o.call) {
    case Call::close:
      return target.close(handle);
    case Call::truncate:
      return handle >= 0 ? target.truncate(handle, o.length) : target.truncate(path, o.length);
    case Call::fsync:
    case Call::fdatasync:
      if (handle < 0) return sync_by_path(path, o.call == Call::fdatasync);
      return target.fsync(handle, o.call == Call::fdatasync);
    case Call::sync:
      return target.sync();
    case Call::stat:
      return handle >= 0 ? target.stat(handle, facts_) : target.stat(path, (o.flags & 1) != 0, facts_);
    case Call::access:
      return target.access(path);
    case Call::readlink:
      return target.readlink(path, text);
    case Call::readdir:
      return handle >= 0 ? target.list(handle, nullptr) : list(path);
    case Call::mkdir:
      return target.mkdir(path, o.mode);
    case Call::rmdir:
      return target.rmdir(path);
    case Call::unlink:
      return target.unlink(path);
    case Call::rename:
      return target.rename(path, path2, o.flags);
    case Call::link:
      return target.link(path, path2);
    case Call::symlink:
      return target.symlink(symlink_target(path2, path, player_.root_, target), path);
    case Call::mknod:
      return target.mknod(path, (o.mode & S_IFMT) == S_IFSOCK || (o.mode & S_IFMT) == S_IFIFO
                                    ? o.mode
                                    : S_IFREG | (o.mode & 07777));
    case Call::chmod:
      return handle >= 0 ? target.chmod(handle, o.mode) : target.chmod(path, o.mode);
    case Call::chown:
      return handle >= 0 ? target.chown(handle) : target.chown(path);
    case Call::utimens:
      return handle >= 0 ? target.utimens(handle) : target.utimens(path);
    case Call::getxattr:
      return target.getxattr(path, path2);
    case Call::setxattr:
      return target.setxattr(path, path2, std::string(std::min<std::uint64_t>(o.length, 65536), 'x'));
    case Call::listxattr:
      return target.listxattr(path);
    case Call::removexattr:
      return target.removexattr(path, path2);
    default:
      return -ENOSYS;
  }
}

void Player::Thread::problem(const Step& step, std::uint64_t& counter, const std::string& what) {
  ++counter;
  if (!report.first_problem.empty()) return;
  const Operation& o = operation(step);
  report.first_problem = fmt::format("operation {}, {}{}: {}", step.operation + 1, name_of(o.call),
                                     o.path == kNoPath ? "" : " " + player_.trace_.path(o.path), what);
}

void Player::Thread::record(const Step& step, std::int64_t latency_ns) {
  const Operation& o = operation(step);
  auto& histogram = report.by_call[static_cast<std::size_t>(o.call)];
  if (!histogram) histogram = std::make_unique<LatencyHistogram>();
  histogram->record(static_cast<std::uint64_t>(std::max<std::int64_t>(0, latency_ns)));
  report.checking_seconds += static_cast<double>(checking_ns_) / 1e9;
  const Expected& expected = step.expected;
  if (!expected.compared) return;
  if (result_ < 0 && expected.error == 0) {
    problem(step, report.failed, std::strerror(static_cast<int>(-result_)));
  } else if (result_ >= 0 && expected.error != 0) {
    problem(step, report.not_refused, fmt::format("succeeded, {} was due", std::strerror(expected.error)));
  } else if (result_ < 0 && -result_ != expected.error) {
    problem(step, report.other_error,
            fmt::format("{}, {} was due", std::strerror(static_cast<int>(-result_)),
                        std::strerror(expected.error)));
  } else if (expected.checkable && options_.check != Check::none) {
    const bool sized = o.call == Call::read || o.call == Call::fetch || o.call == Call::readdir;
    const std::uint64_t got = o.call == Call::stat ? facts_.size : static_cast<std::uint64_t>(result_);
    if ((sized || o.call == Call::stat) && got != expected.length) {
      problem(step, report.wrong_size, fmt::format("{} instead of {}", got, expected.length));
    } else if (!content_is_right_) {
      problem(step, report.wrong_content, "other bytes than were written");
    }
  }
}

Player::Player(const Trace& trace, const Schedule& schedule, Target* target)
    : trace_(trace),
      schedule_(schedule),
      target_(target),
      progress_(schedule.threads.size()),
      handles_(std::size_t{schedule.handles} + 1, -1) {
  const auto root = trace.about.find("root");
  root_ = root == trace.about.end() ? "/" : root->second;
}

Player::~Player() { close_all(); }

void Player::close_all() {
  for (std::int64_t& handle : handles_) {
    if (handle >= 0 && target_ != nullptr) (void)target_->close(handle);
    handle = -1;
  }
}

PlayReport Player::play(const PlayOptions& options, std::uint64_t end) {
  std::vector<std::unique_ptr<Thread>> parts;
  for (std::uint32_t i = 0; i < schedule_.threads.size(); ++i)
    parts.push_back(std::make_unique<Thread>(*this, i, options, end));
  // Recorded time goes on where the last call of play() left it.
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::uint32_t at = progress_[i].done.load();
    if (at < schedule_.threads[i].size()) first_ns = std::min(first_ns, schedule_.threads[i][at].start_ns);
  }
  std::atomic<bool> go{false};
  std::atomic<std::int64_t> start{0};
  std::vector<std::thread> threads;
  for (auto& part : parts) {
    threads.emplace_back([&, p = part.get()] {
      go.wait(false);
      p->run(start.load(), first_ns);
    });
  }
  start.store(now_ns());
  go.store(true);
  go.notify_all();
  for (std::thread& thread : threads) thread.join();
  PlayReport total;
  total.seconds = static_cast<double>(now_ns() - start.load()) / 1e9;
  for (auto& part : parts) total.merge(part->report);
  return total;
}

}  // namespace cffs::replay
