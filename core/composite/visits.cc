#include "core/composite/visits.h"

#include <algorithm>

namespace cffs {
namespace {

constexpr std::uint64_t kSoon = 2;       // of the reader's own touches
constexpr double kOneSays = 512u << 10;  // bytes that a range counts with among others, at most
constexpr double kTwiceRemembered = 8;   // such ranges
constexpr unsigned kPlanBelieved = 4;    // visits, until only they say what a plan is worth

double rest_of(const Visit& visit) { return static_cast<double>(visit.total - visit.first); }

// A large one, come to twice by chance, is not to speak for many small ones.
double capped_rest_of(const Visit& visit) { return std::min(kOneSays, rest_of(visit)); }

struct Wanted {
  double of = 0, bytes = 0;
};

// What was wanted of the others, each by its weight, with `before`, and with `but` as one of which nothing was.
template <typename Weight>
double share(const Visits& visits, const Visit& but, Wanted before, const Weight& weight) {
  before.of += weight(but);
  for (const Visit& visit : visits.all()) {
    if (&visit == &but || !visit.tells()) continue;
    before.of += weight(visit);
    before.bytes += visit.share_of_rest() * weight(visit);
  }
  return before.bytes / before.of;
}

}  // namespace

bool Visit::tells() const { return composite != 0 && members > 0 && total > first + first / 8; }

double Visit::share_of_rest() const {
  return std::min(1.0, static_cast<double>(touched - first) / static_cast<double>(total - first));
}

void Visit::add(std::uint64_t bytes, std::uint64_t touch, double counts) {
  if (members == 1 && touch - last_touch <= kSoon) twice = true;
  if (members == 0) first = bytes;
  touched += static_cast<std::uint64_t>(counts * static_cast<double>(bytes));
  members += static_cast<std::uint64_t>(counts + 0.5);
  last_touch = touch;
}

void Visit::hand_over(std::uint64_t bytes) {
  constexpr double kMost = 16;
  const std::uint64_t seen = touched + bytes;
  if (seen >= total) return;  // nothing is left that could tell
  const auto left = static_cast<double>(total - seen);
  speaks_for = std::min(kMost, 1 + static_cast<double>(bytes) / left);
}

void Visit::plan(double share) {
  const double wanted = share * static_cast<double>(total) - static_cast<double>(first);
  planned = tells() && wanted > 0 ? std::min(1.0, wanted / static_cast<double>(total - first)) : 0;
}

Visit& Visits::at(std::uint64_t composite, std::uint64_t offset) {
  Visit* oldest = &places.front();
  for (Visit& visit : all()) {
    if (visit.composite == composite && visit.offset == offset) return visit;
    if (visit.last_touch < oldest->last_touch) oldest = &visit;
  }
  remember_twice(*oldest);
  *oldest = Visit{};
  oldest->composite = composite;
  oldest->offset = offset;
  return *oldest;
}

// Of a range that the reader has come to but now: the share of its rest that will be wanted, as it was with the others, each
// by its bytes. One visit like this one that came to nothing stands beside them, for a beginning.
double Visits::expected(const Visit& but) const { return but.tells() ? share(*this, but, {}, rest_of) : 0; }

// The same by a plan: what it says of this range, times what it was worth for this reader, whose last visits say how much they
// wanted of what was planned. As long as they are few, it is believed. 0: it says nothing.
double Visits::expected_by_plan(const Visit& but) const {
  if (but.planned <= 0) return 0;
  double planned = 0, wanted = 0;
  unsigned visits = 0;
  for (const Visit& visit : all()) {
    if (&visit == &but || visit.planned <= 0 || !visit.tells()) continue;
    planned += visit.planned * rest_of(visit);
    wanted += visit.share_of_rest() * rest_of(visit);
    ++visits;
  }
  if (visits < kPlanBelieved) {
    const double belief = (1 - static_cast<double>(visits) / kPlanBelieved) * but.planned * rest_of(but);
    planned += belief;
    wanted += belief;
  }
  const double p = std::min(1.0, but.planned * wanted / planned);
  return visits > 0 ? p : std::max(p, expected(but));
}

// The same of a range with a second touch soon after the first, as it was with the others of that kind, also with those of long ago. One
// that was wanted half stands beside them.
double Visits::expected_after_two(const Visit& but) const {
  if (!but.tells()) return 0;
  return share(*this, but, {twice_rest, twice_wanted + kLikely * capped_rest_of(but)},
               [](const Visit& visit) { return visit.twice ? capped_rest_of(visit) : 0; });
}

void Visits::remember_twice(const Visit& gone) {
  if (!gone.twice || !gone.tells()) return;
  twice_rest += capped_rest_of(gone);
  twice_wanted += gone.share_of_rest() * capped_rest_of(gone);
  if (twice_rest <= kTwiceRemembered * kOneSays) return;
  twice_rest /= 2;
  twice_wanted /= 2;
}

// Bytes. One small file says nothing of those beside it.
std::uint64_t Visits::mean_member() const {
  std::uint64_t bytes = 0, members = 0;
  for (const Visit& visit : all()) {
    bytes += visit.touched;
    members += visit.members;
  }
  return bytes / std::max<std::uint64_t>(1, members);
}

}  // namespace cffs
