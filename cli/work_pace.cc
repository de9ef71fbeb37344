#include "cli/work_pace.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/human_bytes.h"

namespace cffs::cli {
namespace {

constexpr std::int64_t kWindowMs = 20'000, kBetweenSamplesMs = 100, kLeastMs = 1'000;

std::string amount(const WorkStep& step, std::uint64_t n) {
  return step.unit == WorkStep::kBytes ? human_bytes(n) : std::to_string(n);
}

std::string rate(const WorkStep& step, double per_second) {
  if (step.unit == WorkStep::kBytes) return human_bytes(static_cast<std::uint64_t>(per_second)) + "/s";
  return per_second < 10 ? fmt::format("{:.1f}/s", per_second) : fmt::format("{:.0f}/s", per_second);
}

}  // namespace

std::string clock_time(std::uint64_t seconds) {
  const std::uint64_t hours = seconds / 3600, minutes = seconds / 60 % 60;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, seconds % 60)
                   : fmt::format("{}:{:02}", minutes, seconds % 60);
}

void WorkPace::note(const WorkStep& step, std::int64_t now_ms) {
  if (step.what != step_.what || step.unit != step_.unit || step.done < step_.done ||
      step.effort < step_.effort)
    samples_.clear();
  step_ = step;
  if (!wants_sample(now_ms)) return;
  samples_.push_back({now_ms, step.done, step.effort});
  // One that is older stays: a job that tells rarely has a pace, too.
  while (samples_.size() > 2 && now_ms - samples_[1].at_ms >= kWindowMs) samples_.pop_front();
}

bool WorkPace::wants_sample(std::int64_t now_ms) const {
  return samples_.empty() || now_ms - samples_.back().at_ms >= kBetweenSamplesMs;
}

double WorkPace::per_second(std::uint64_t Sample::*what) const {
  if (samples_.size() < 2) return 0;
  const std::int64_t ms = samples_.back().at_ms - samples_.front().at_ms;
  if (ms < kLeastMs) return 0;
  return static_cast<double>(samples_.back().*what - samples_.front().*what) * 1e3 / static_cast<double>(ms);
}

std::string WorkPace::sentence() const {
  std::string text = step_.what;
  if (!step_.unit.empty()) {
    const bool bounded = step_.in_all > 0 && step_.done <= step_.in_all;
    const bool bytes = step_.unit == WorkStep::kBytes;
    if (!text.empty()) text += ": ";
    text += amount(step_, step_.done);
    if (bounded) text += " of " + amount(step_, step_.in_all);
    if (!bytes) text += " " + step_.unit;
    const double pace = per_second(&Sample::done);
    if (pace > 0) text += ", " + rate(step_, pace);
    const auto left = [&](std::uint64_t done, std::uint64_t in_all, double per_second) {
      if (in_all == 0 || done > in_all || per_second <= 0) return;
      const double seconds = std::ceil(static_cast<double>(in_all - done) / per_second);
      text += ", " + clock_time(static_cast<std::uint64_t>(seconds)) + " left";
    };
    if (step_.effort_in_all > 0)
      left(step_.effort, step_.effort_in_all, per_second(&Sample::effort));
    else
      left(step_.done, step_.in_all, pace);
    // Last: on a narrow terminal the rest is what counts.
    if (!step_.aside.empty()) text += ", " + step_.aside;
    return text;
  }
  return step_.aside.empty() ? text : text + ", " + step_.aside;
}

}  // namespace cffs::cli
