#include "replay/play/player_thread.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "core/base/printable.h"
#include "replay/model/content.h"

namespace cffs::replay {

void Player::Thread::run(std::int64_t start_ns, std::int64_t first_ns) {
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

void Player::Thread::wait_for_others(const Step& step) {
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

void Player::Thread::wait_until(std::int64_t moment_ns) {
  const std::int64_t now = now_ns();
  if (now >= moment_ns) {
    report.late_seconds = std::max(report.late_seconds, static_cast<double>(now - moment_ns) / 1e9);
    return;
  }
  const timespec at{moment_ns / 1'000'000'000, moment_ns % 1'000'000'000};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) == EINTR) {
  }
}

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

void Player::Thread::problem(const Step& step, std::uint64_t& counter, const std::string& what) {
  ++counter;
  if (!report.first_problem.empty()) return;
  const Operation& o = operation(step);
  report.first_problem =
      fmt::format("operation {}, {}{}: {}", step.operation + 1, name_of(o.call),
                  o.path == kNoPath ? "" : " " + printable(player_.trace_.path(o.path)), what);
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
    if (result_ == -ENOENT) ++report.missing;
    problem(step, report.failed, std::strerror(static_cast<int>(-result_)));
  } else if (result_ >= 0 && expected.error != 0) {
    problem(step, report.not_refused, fmt::format("succeeded, {} was due", std::strerror(expected.error)));
  } else if (result_ < 0 && -result_ != expected.error) {
    problem(step, report.other_error,
            fmt::format("{}, {} was due", std::strerror(static_cast<int>(-result_)),
                        std::strerror(expected.error)));
  } else if (expected.checkable && options_.check != Check::none) {
    const bool sized =
        o.call == Call::read || o.call == Call::write || o.call == Call::fetch || o.call == Call::readdir;
    const std::uint64_t got = o.call == Call::stat ? facts_.size : static_cast<std::uint64_t>(result_);
    if ((sized || o.call == Call::stat) && got != expected.length) {
      problem(step, report.wrong_size, fmt::format("{} instead of {}", got, expected.length));
    } else if (!content_is_right_) {
      problem(step, report.wrong_content, "other bytes than were written");
    }
  }
}

}  // namespace cffs::replay
