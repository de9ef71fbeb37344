#include "core/composite/read_ahead.h"

#include <algorithm>
#include <utility>

namespace cffs {
namespace {

constexpr std::size_t kReaders = 32;
constexpr unsigned kAccountBits = 12;
// Places that a composite may have, the latest first: with one, two that share it are forgotten by turns.
constexpr std::ptrdiff_t kPlaces = 4;

constexpr std::uint64_t kInOrder =
    ReadAhead::kPiece;  // where a request is worth so much there is an arm to move

constexpr double kLikely = Visits::kLikely;
constexpr std::uint64_t kMembersThatTell = 8;  // how large a group's members are
constexpr double kMuchOfComposite = 0.2;       // wanted already, says the same of the rest
// A composite is read to its end where its single requests have cost so many times as much. Once would be the least in the worst
// case, and is the worst for who reads a tenth of a store on a fast disk: it comes just before the last request.
constexpr double kPaid = 2;
// Where an arm moves for each request two or three of them are as dear as a composite, and who came twice mostly comes again: half
// as much is enough, which in the worst case is three times the least, too. As long as what was read so saved what it cost.
constexpr double kPaidWithArm = 0.5;
constexpr std::uint64_t kTrusted = 16u << 20;  // bytes that may have saved nothing yet
// What memory did not keep long enough the last time is read so again where single requests have cost so many times as much: a sixteenth
// is the most that trying anew adds to them.
constexpr double kPaidInDoubt = 16;
// For what it brings as much goes that was wanted, and part of what is found would have been there anyway. Where a fourth of it was wanted
// while it stayed it did what it was for, however little a request is worth: sweeps are so.
constexpr std::uint64_t kEarns = 4;
constexpr std::uint64_t kRemembered = 256u << 20;

constexpr double kNews = 1.0 / 8;  // what the last one counts in a mean
constexpr double kMostlyStays = 0.75;
constexpr std::uint64_t kAllRoom = std::uint64_t{1} << 40;
constexpr std::uint64_t kLeastRoom = 64u << 10;
constexpr std::uint64_t kShareOfRoom =
    16;  // for one read, of what memory kept; and of what is read, for memory to be tried again

}  // namespace

bool ReadAhead::Reader::knows(std::uint64_t number) const {
  return std::any_of(composites.all().begin(), composites.all().end(),
                     [&](const Visit& visit) { return visit.composite == number; });
}

ReadAhead::ReadAhead() : accounts_(std::size_t{1} << kAccountBits), room_(kAllRoom) {
  readers_.reserve(kReaders);
}

// A new one goes on where the last one was that came to the same composite: a shell starts a process for each file. Any other
// would lend it habits that are not its own.
ReadAhead::Reader& ReadAhead::reader(ReaderId id, const Extent& extent) {
  ++uses_;
  const Reader* before = nullptr;
  Reader* oldest = nullptr;
  for (Reader& r : readers_) {
    if (r.id == id) {
      r.last_use = uses_;
      return r;
    }
    if (r.knows(extent.composite.value) && (before == nullptr || r.last_use > before->last_use)) before = &r;
    if (oldest == nullptr || r.last_use < oldest->last_use) oldest = &r;
  }
  Reader fresh = before == nullptr ? Reader{} : *before;
  fresh.id = id;
  fresh.last_use = uses_;
  if (readers_.size() < kReaders) return readers_.emplace_back(fresh);
  *oldest = fresh;
  return *oldest;
}

ReadAhead::Reader* ReadAhead::known_reader(ReaderId id) {
  const auto found =
      std::find_if(readers_.begin(), readers_.end(), [&](const Reader& r) { return r.id == id; });
  return found == readers_.end() ? nullptr : &*found;
}

std::ptrdiff_t ReadAhead::first_place_of(std::uint64_t composite) {
  constexpr std::uint64_t kSpread = 0x9E3779B97F4A7C15;
  return static_cast<std::ptrdiff_t>((composite * kSpread) >> (64 - kAccountBits)) / kPlaces * kPlaces;
}

ReadAhead::Account& ReadAhead::account(std::uint64_t composite) {
  const auto first = accounts_.begin() + first_place_of(composite), last = first + kPlaces;
  auto found = std::find_if(first, last, [&](const Account& a) { return a.composite == composite; });
  if (found == last) {
    *--found = Account{};
    found->composite = composite;
  }
  std::rotate(first, found, found + 1);
  return *first;
}

// What is wanted anyway costs nothing to bring; what is not costs its bytes; each item that is, saves a request.
bool ReadAhead::pays(double chance, std::uint64_t item) const {
  return chance * static_cast<double>(worth_.of_a_request()) > (1 - chance) * static_cast<double>(item);
}

// Of the rest of a range that the reader has come to, more than once perhaps.
double ReadAhead::chance(const Visits& visits, const Visit& visit) {
  double p = visit.planned > 0 ? visits.expected_by_plan(visit) : visits.expected(visit);
  if (visit.members > 1 && visit.tells()) p = std::max(p, visit.share_of_rest());
  return p;
}

double ReadAhead::chance_of_group(const Visits& visits, const Visit& group) {
  const double p = chance(visits, group);
  return group.twice ? std::max(p, visits.expected_after_two(group)) : p;
}

// In a composite a second touch says little: it has groups of others.
double ReadAhead::chance_of_composite(const Visits& visits, const Visit& whole) {
  const double p = chance(visits, whole);
  return whole.share_of_rest() >= kMuchOfComposite ? std::max(p, kLikely) : p;
}

// Where all requests are small nobody learns what bytes cost; then a few are larger than they need be.
bool ReadAhead::is_curious(const Extent& extent) {
  constexpr std::uint64_t kOneOf = 16;
  if (worth_.knows_large() || uses_ % kOneOf != 0 || curiosity_ == 0 ||
      extent.group_length < RequestWorth::kLarge || extent.group_length > 2 * RequestWorth::kLarge)
    return false;
  --curiosity_;
  return true;
}

// Single requests have cost so much that the whole composite is better read, whoever made them.
bool ReadAhead::is_paid(const Account& account, std::uint64_t total) const {
  const bool soon = worth_.has_arm() && returned_ + kTrusted >= bought_;
  const double times = account.doubted ? kPaidInDoubt : soon ? kPaidWithArm : kPaid;
  return static_cast<double>(account.paid) >= times * static_cast<double>(total);
}

ReadAhead::Scope ReadAhead::choose(const Reader& reader, const Extent& extent, const Visit& group,
                                   const Visit& whole, const Account& account) {
  const std::uint64_t member =
      group.members >= kMembersThatTell ? group.touched / group.members : reader.composites.mean_member();
  const bool group_pays = extent.group_length > extent.length && fits(extent.group_length) &&
                          !(account.doubted && is_most(group, account)) &&
                          (is_curious(extent) || pays(chance_of_group(reader.groups, group), member));
  if (whole.tells() && fits(whole.total)) {
    if (is_paid(account, whole.total)) return Scope::composite;
    const std::uint64_t item = group_pays ? extent.group_length : reader.composites.mean_member();
    if (!account.doubted && pays(chance_of_composite(reader.composites, whole), item))
      return Scope::composite;
  }
  return group_pays ? Scope::group : Scope::member;
}

void ReadAhead::book(Scope scope, const Extent& extent, Visit& group, const Visit& whole, Account& account) {
  switch (scope) {
    case Scope::member:
      account.paid += worth_.of_a_request() + extent.length;
      return;
    case Scope::group:
      account.paid += worth_.of_a_request() + extent.group_length;
      asked_ += extent.group_length - std::min(extent.group_length, group.touched);
      group.ahead = true;
      if (is_most(group, account)) account.saved = account.used = 0;
      break;
    case Scope::composite:
      asked_ += whole.total - std::min(whole.total, whole.touched);
      account.whole = true;
      account.saved = account.used = 0;
      bought_ += whole.total;
      if (bought_ > kRemembered) {
        bought_ /= 2;
        returned_ /= 2;
      }
      break;
  }
  account.brought = asked_;
}

// Then what is true of the composite is true of the group.
bool ReadAhead::is_most(const Visit& group, const Account& account) {
  return 2 * group.total > account.bytes;
}

// It was brought, and is gone before it was wanted. What was read ahead since then is what memory could not keep beside it; but
// where it kept others beside more than that, all was dropped, and what came before this moment says nothing more. And where nearly
// all is still there when it is wanted, what is gone grew cold: some kernels take that away though memory is free.
// Where there was room, a composite that saved enough requests while it was there is read whole again at once.
void ReadAhead::lose(Visit& group, Account& account) {
  const std::uint64_t since = asked_ - account.brought;
  account.paid = account.whole ? account.saved : 0;
  if (account.brought > dropped_) {
    stays_ -= kNews * stays_;
    if (account.whole || is_most(group, account)) {
      const std::uint64_t least = stays_ < kMostlyStays ? kEarns : kEarns / 2;
      account.doubted = account.saved < least * account.bytes && account.used < account.bytes / kEarns;
    }
    if (since < kept_) {
      dropped_ = asked_;
      kept_ = 0;
    } else if (stays_ < kMostlyStays) {
      room_ = std::max(kLeastRoom, std::min(room_, since / kShareOfRoom));
      account.paid = 0;
    }
  }
  account.whole = account.guessed = group.ahead = false;
}

// It was brought, and is there when it is wanted.
void ReadAhead::keep(const Account& account) {
  if (account.brought <= dropped_) return;
  kept_ = std::max(kept_, asked_ - account.brought);
  stays_ += kNews * (1 - stays_);
}

// Once for each visit: what memory loses of the reader's cache meanwhile he asks for.
bool ReadAhead::hands_over(const Reader& reader, const Extent& extent, Visit& group) const {
  if (!may_hand_over_ || group.handed || extent.group_length > kMost || !group.tells()) return false;
  if (chance_of_group(reader.groups, group) < kLikely) return false;
  return group.handed = true;
}

void ReadAhead::handed_over(ReaderId id, const Extent& beside, std::uint64_t bytes, std::uint64_t files) {
  const MutexLock guard(mutex_);
  handed_files_ += files;
  handed_bytes_ += bytes;
  Reader* const who = known_reader(id);
  if (who == nullptr) return;
  for (Visit& group : who->groups.all()) {
    if (group.composite == beside.composite.value && group.offset == beside.group_offset)
      group.hand_over(bytes);
  }
}

void ReadAhead::arrive(Reader& reader, const Visit& whole, Account& account) {
  if (reader.composite != 0) reader.step = account.composite > reader.composite ? 1 : -1;
  reader.composite = account.composite;
  const bool expected = std::exchange(account.guessed, false);
  if (expected || whole.members == 0) reader.lead.came(expected);
}

// A reader that wants most of the composites that it comes to goes on to those behind, where it has shown that already; else when it is
// through the half of this one.
unsigned ReadAhead::lead_of(Reader& reader, Visit& whole) const {
  if (whole.ahead || reader.lead.free() == 0 || !whole.tells() || !fits(whole.total)) return 0;
  const bool through = whole.share_of_rest() >= kLikely;
  if (!through && !(reader.lead.is_proven() && whole.members == 1)) return 0;
  if (reader.composites.expected(whole) < kLikely) return 0;
  whole.ahead = through;
  return reader.lead.free();
}

ReadAhead::Advice ReadAhead::touch(ReaderId id, const Extent& extent, Found found,
                                   std::uint64_t composite_bytes, double planned_share,
                                   std::uint64_t looked) {
  const MutexLock guard(mutex_);
  if (found == Found::absent) worth_.waits(waiting_.load(std::memory_order_relaxed));
  Reader& who = reader(id, extent);
  Account& paid = account(extent.composite.value);
  paid.bytes = std::max(paid.bytes, composite_bytes);
  ++who.touches;
  Visit& group = who.groups.at(extent.composite.value, extent.group_offset);
  group.total = extent.group_length;
  const double counts = group.speaks_for;
  const auto wanted = static_cast<std::uint64_t>(counts * static_cast<double>(extent.length));
  group.add(extent.length, who.touches, counts);
  if (planned_share > 0) group.plan(planned_share);
  Visit& whole = who.composites.at(extent.composite.value, 0);
  if (who.composite != paid.composite) arrive(who, whole, paid);
  whole.total = paid.bytes;
  whole.add(extent.length, who.touches, counts);
  room_ = std::min(kAllRoom, room_ + extent.length / kShareOfRoom);

  Advice advice;
  const bool ahead = paid.whole || group.ahead;
  // Whoever brings it may still wait for where it lies, or had not yet asked when this one looked.
  if (found == Found::absent && ahead && (paid.being_asked > 0 || paid.asked_at > looked))
    found = Found::on_its_way;
  if (found != Found::absent) {
    if (ahead) used_ = std::min(asked_, used_ + wanted);
    if (ahead && (paid.whole || is_most(group, paid))) {
      const std::uint64_t saved =
          static_cast<std::uint64_t>(counts * static_cast<double>(worth_.of_a_request())) + wanted;
      paid.saved += saved;
      paid.used += wanted;
      if (paid.whole) returned_ += saved;
    }
    if (ahead && found == Found::in_memory) keep(paid);
  } else if (ahead) {
    lose(group, paid);
    book(Scope::member, extent, group, whole, paid);
  } else {
    advice.scope = choose(who, extent, group, whole, paid);
    book(advice.scope, extent, group, whole, paid);
    if (advice.scope != Scope::member) ++paid.being_asked;
  }
  if (found != Found::absent || paid.whole || group.ahead) advice.hand_over = hands_over(who, extent, group);
  if (found == Found::absent && composite_bytes >= kMeasurable && !was_measured_)
    advice.measure = was_measured_ = true;
  advice.in_order = worth_.of_a_request() >= kInOrder;
  advice.ahead = lead_of(who, whole);
  advice.next = advice.ahead > 0 ? who.step : 0;
  return advice;
}

void ReadAhead::asked(CompositeId composite) {
  const MutexLock guard(mutex_);
  Account& paid = account(composite.value);
  paid.asked_at = asks_.load(std::memory_order_relaxed) + 1;
  asks_.store(paid.asked_at, std::memory_order_release);
  if (paid.being_asked > 0) --paid.being_asked;  // where no other took its place meanwhile
}

bool ReadAhead::is_whole(CompositeId composite) const {
  const MutexLock guard(mutex_);
  const auto first = accounts_.begin() + first_place_of(composite.value);
  return std::any_of(first, first + kPlaces,
                     [&](const Account& a) { return a.composite == composite.value && a.whole; });
}

bool ReadAhead::take_whole(CompositeId composite, std::uint64_t bytes, ReaderId reader) {
  const MutexLock guard(mutex_);
  Account& paid = account(composite.value);
  Reader* const who = known_reader(reader);
  if (paid.whole || !fits(bytes) || (who != nullptr && who->lead.free() == 0)) return false;
  if (who != nullptr) who->lead.took();
  paid.guessed = true;
  paid.bytes = std::max(paid.bytes, bytes);
  paid.whole = true;
  paid.saved = paid.used = 0;
  ++paid.being_asked;
  asked_ += bytes;
  paid.brought = asked_;
  return true;
}

void ReadAhead::took(std::uint64_t bytes, std::uint64_t beyond, std::uint64_t from, std::uint64_t until) {
  const MutexLock guard(mutex_);
  worth_.took(bytes, beyond, from, until);
}

void ReadAhead::measured(const Sample& small, const Sample& large) {
  const MutexLock guard(mutex_);
  worth_.measured(small, large);
}

ReadAheadCounters ReadAhead::counters() const {
  const MutexLock guard(mutex_);
  return {asked_, used_, worth_.to_one_as_measured(), worth_.bytes_per_second(), worth_.of_a_request(),
          handed_files_, handed_bytes_};
}

}  // namespace cffs
