#include "cli/transfer_progress.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/human_bytes.h"
#include "core/base/clock.h"

namespace cffs::cli {
namespace {

constexpr std::int64_t kShortMs = 2'000;

}  // namespace

TransferProgress::TransferProgress(AmountAhead::Count count)
    : count_(std::move(count)), began_ms_(SystemClock().steady_ms()) {}

void TransferProgress::show(const TransferDone& done) {
  line_.show([&] { return step(done); });
}

WorkStep TransferProgress::step(const TransferDone& done) {
  const std::int64_t ms = SystemClock().steady_ms() - began_ms_;
  if (!ahead_ && ms >= kShortMs) ahead_.emplace(count_);
  const double seconds = static_cast<double>(std::max<std::int64_t>(ms, 1)) / 1e3;
  WorkStep step{"", done.files + done.known, 0, "files", {}};
  step.aside =
      fmt::format("{}, {}/s", human_bytes(done.bytes),
                  human_bytes(static_cast<std::uint64_t>(static_cast<double>(done.bytes) / seconds)));
  // From the start on, counted or not: a pace is a matter of differences.
  step.effort = done.archive_bytes > 0 ? done.archive_bytes
                                       : TransferAmount{step.done, done.bytes + done.known_bytes}.effort();
  if (const auto amount = ahead_ ? ahead_->amount() : std::nullopt) {
    step.in_all = amount->files;
    step.effort_in_all = amount->effort();
  }
  return step;
}

}  // namespace cffs::cli
