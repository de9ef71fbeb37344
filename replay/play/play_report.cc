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
  const std::string first = first_problem;
  add_problems_before(other);
  if (!first.empty()) first_problem = first;
}

void PlayReport::add_problems_before(const PlayReport& earlier) {
  failed += earlier.failed;
  not_refused += earlier.not_refused;
  other_error += earlier.other_error;
  wrong_size += earlier.wrong_size;
  wrong_content += earlier.wrong_content;
  missing += earlier.missing;
  if (!earlier.first_problem.empty()) first_problem = earlier.first_problem;
}

}  // namespace cffs::replay
