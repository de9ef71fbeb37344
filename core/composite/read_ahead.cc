#include "core/composite/read_ahead.h"

#include <algorithm>

namespace cffs {
namespace {

// Bytes that a request is worth where nothing is known of the medium, and what is believed of any.
constexpr std::uint64_t kUsualBreakEven = 128u << 10;
constexpr std::uint64_t kLeastBreakEven = 16u << 10, kMostBreakEven = 1u << 20;
constexpr std::uint64_t kSamplesNeeded = 32;  // of took(), before it is believed
constexpr double kForget = 1.0 / 64;          // of what took() knows, with each sample
// What a second touch of a range soon after the first says of its rest.
constexpr double kLikely = 0.5;
constexpr std::uint64_t kSoon = 2;  // of the reader's own touches
// A composite is read to its end where its single requests have cost so many times as much. Once would be the least in the worst
// case, and is the worst for who reads a tenth of a store on a fast disk: it comes just before the last request.
constexpr std::uint64_t kPaid = 2;
constexpr double kMuchOfComposite = 0.2;  // wanted already, says the same of the rest

}  // namespace

// --- what one reader wanted ---

bool ReadAhead::Visit::tells() const { return composite != 0 && total > first + first / 8; }

double ReadAhead::Visit::share_of_rest() const {
  return std::min(1.0, static_cast<double>(touched - first) / static_cast<double>(total - first));
}

// The visit of that range; where it is none of the last ones, it takes the place of the oldest.
ReadAhead::Visit& ReadAhead::Visits::at(std::uint64_t composite, std::uint64_t offset, std::uint64_t total,
                                        std::uint64_t first) {
  for (Visit& visit : all) {
    if (visit.is_at(composite, offset)) return visit;
  }
  Visit& fresh = all[next];
  next = (next + 1) % kVisits;
  fresh = Visit{};
  fresh.composite = composite;
  fresh.offset = offset;
  fresh.total = std::max(total, first);
  fresh.first = first;
  return fresh;
}

// Of a range that the reader has come to but now: the share of its rest that will be wanted, as it was with the others. One
// visit that came to nothing stands beside them, for a beginning.
double ReadAhead::Visits::expected(const Visit& but) const {
  double sum = 0;
  double count = 1;
  for (const Visit& visit : all) {
    if (&visit == &but || !visit.tells()) continue;
    sum += visit.share_of_rest();
    ++count;
  }
  return sum / count;
}

// The same of a range with a second touch soon after the first, as it was with the others of that kind. One that was wanted
// half stands beside them.
double ReadAhead::Visits::expected_after_two(const Visit& but) const {
  double sum = kLikely;
  double count = 1;
  for (const Visit& visit : all) {
    if (&visit == &but || !visit.twice || !visit.tells()) continue;
    sum += visit.share_of_rest();
    ++count;
  }
  return sum / count;
}

// --- all readers ---

ReadAhead::Reader& ReadAhead::reader(ReaderId id) {
  ++uses_;
  Reader* latest = nullptr;
  Reader* oldest = nullptr;
  for (Reader& r : readers_) {
    if (r.id == id) {
      r.last_use = uses_;
      return r;
    }
    if (latest == nullptr || r.last_use > latest->last_use) latest = &r;
    if (oldest == nullptr || r.last_use < oldest->last_use) oldest = &r;
  }
  // A new one goes on where the last one was: a shell starts a process for each file.
  Reader fresh = latest == nullptr ? Reader{} : *latest;
  fresh.id = id;
  fresh.last_use = uses_;
  if (readers_.size() < kReaders) return readers_.emplace_back(fresh);
  *oldest = fresh;
  return *oldest;
}

ReadAhead::Account& ReadAhead::account(std::uint64_t composite) {
  const auto found = accounts_.find(composite);
  if (found != accounts_.end()) return found->second;
  if (accounts_.size() >= kAccounts) accounts_.erase(accounts_.begin());  // any: it begins anew
  return accounts_[composite];
}

// What is wanted anyway costs nothing to bring; what is not costs its bytes; each item that is, saves a request.
bool ReadAhead::pays(double chance, std::uint64_t item) const {
  return chance * static_cast<double>(worth_of_a_request()) > (1 - chance) * static_cast<double>(item);
}

// Of the rest of a range that the reader has come to, more than once perhaps.
double ReadAhead::chance(const Visits& visits, const Visit& visit) {
  double p = visits.expected(visit);
  if (visit.members > 1 && visit.tells()) p = std::max(p, visit.share_of_rest());
  if (visit.twice) p = std::max(p, visits.expected_after_two(visit));
  return p;
}

ReadAhead::Scope ReadAhead::choose(const Reader& reader, const Extent& extent, const Visit& group,
                                   const Visit& whole, const Account& account) const {
  const std::uint64_t member = std::max<std::uint64_t>(1, group.touched / group.members);
  const bool group_pays = extent.group_length > extent.length && pays(chance(reader.groups, group), member);
  if (!account.whole && whole.tells()) {
    if (whole.members > 1 && account.paid >= kPaid * whole.total) return Scope::composite;
    double p = chance(reader.composites, whole);
    if (whole.share_of_rest() >= kMuchOfComposite) p = std::max(p, kLikely);
    if (pays(p, group_pays ? extent.group_length : member)) return Scope::composite;
  }
  return group_pays ? Scope::group : Scope::member;
}

// A reader that has wanted half of a composite, and most of those before, goes on to the next one.
int ReadAhead::next_of(Reader& reader, Visit& whole) {
  if (reader.composite != whole.composite) {
    reader.step = whole.composite > reader.composite ? 1 : -1;
    reader.composite = whole.composite;
  }
  if (whole.ahead || !whole.tells() || whole.share_of_rest() < kLikely ||
      reader.composites.expected(whole) < kLikely)
    return 0;
  whole.ahead = true;
  return reader.step;
}

bool ReadAhead::take_whole(CompositeId composite, std::uint64_t bytes) {
  const MutexLock guard(mutex_);
  Account& paid = account(composite.value);
  if (paid.whole) return false;
  paid.whole = true;
  counters_.asked += bytes;
  return true;
}

ReadAhead::Advice ReadAhead::touch(ReaderId id, const Extent& extent, bool cold,
                                   std::uint64_t composite_bytes) {
  const MutexLock guard(mutex_);
  Reader& who = reader(id);
  Account& paid = account(extent.composite.value);
  Visit& group =
      who.groups.at(extent.composite.value, extent.group_offset, extent.group_length, extent.length);
  Visit& whole = who.composites.at(extent.composite.value, 0, composite_bytes, extent.length);
  ++who.touches;
  const bool was_ahead = paid.whole || group.ahead;
  if (group.members == 1 && who.touches - group.last_touch <= kSoon) group.twice = true;
  for (Visit* visit : {&group, &whole}) {
    visit->touched += extent.length;
    ++visit->members;
  }
  Advice advice;
  if (!cold) {
    if (was_ahead) counters_.used += extent.length;
  } else {
    // It was brought, and is gone: memory has no room for what is read ahead.
    if (was_ahead) paid = Account{};
    advice.scope = choose(who, extent, group, whole, paid);
    switch (advice.scope) {
      case Scope::member:
        paid.paid += worth_of_a_request() + extent.length;
        break;
      case Scope::group:
        paid.paid += worth_of_a_request() + extent.group_length;
        counters_.asked += extent.group_length - std::min(extent.group_length, extent.length);
        group.ahead = true;
        break;
      case Scope::composite:
        counters_.asked += composite_bytes - std::min(composite_bytes, whole.touched);
        paid.whole = true;
        break;
    }
  }
  group.last_touch = who.touches;
  advice.next = next_of(who, whole);
  return advice;
}

void ReadAhead::took(std::uint64_t bytes, std::uint64_t nanoseconds) {
  const MutexLock guard(mutex_);
  const auto b = static_cast<double>(bytes);
  const auto t = static_cast<double>(nanoseconds);
  const double weight = samples_ < kSamplesNeeded ? 1.0 / static_cast<double>(samples_ + 1) : kForget;
  bytes_ += weight * (b - bytes_);
  time_ += weight * (t - time_);
  bytes2_ += weight * (b * b - bytes2_);
  product_ += weight * (b * t - product_);
  ++samples_;
}

// The time of a request is a + b × bytes; a request is worth a / b bytes.
std::uint64_t ReadAhead::worth_of_a_request() const {
  const double variance = bytes2_ - bytes_ * bytes_;
  const double covariance = product_ - bytes_ * time_;
  if (samples_ < kSamplesNeeded || variance < bytes_ * bytes_ / 4 || covariance <= 0) return kUsualBreakEven;
  const double slope = covariance / variance;
  const double fixed = time_ - slope * bytes_;
  if (fixed <= 0) return kLeastBreakEven;
  return static_cast<std::uint64_t>(
      std::clamp(fixed / slope, static_cast<double>(kLeastBreakEven), static_cast<double>(kMostBreakEven)));
}

std::uint64_t ReadAhead::break_even() const {
  const MutexLock guard(mutex_);
  return worth_of_a_request();
}

ReadAhead::Counters ReadAhead::counters() const {
  const MutexLock guard(mutex_);
  Counters counters = counters_;
  counters.break_even = worth_of_a_request();
  return counters;
}

}  // namespace cffs
