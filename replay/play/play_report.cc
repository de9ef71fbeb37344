#include "replay/play/play_report.h"

#include <algorithm>
#include <utility>

namespace cffs::replay {

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

}  // namespace cffs::replay
