// How much to read when a member is not in memory: itself, its group, or the whole composite (adr/0025).
//
// A wider read pays where what it brings is wanted soon: each request that it saves is worth as many bytes as the medium gives in
// the time that a request takes. What will be wanted follows from what each reader wanted lately: the share of the groups and
// composites it came to, beyond their first member, and from what a plan says of the group. Of a first touch nothing else is known,
// so without either it brings its member alone. And a
// composite whose single requests have cost twice as much as all of it (half as much where an arm moves for each) is read to its
// end, whoever made them: so at most about three times the least is spent where readers keep coming back.
// What went from memory before it had earned what it cost is doubted: until sixteen times as much was paid it is not tried again.
//
// Pure; the clock is its callers'. Allocates nothing once it is made. Thread safety: everything.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/mutex.h"
#include "core/composite/lead.h"
#include "core/composite/read_ahead_counters.h"
#include "core/composite/request_worth.h"
#include "core/composite/visits.h"
#include "core/table/inode.h"

namespace cffs {

class ReadAhead {
 public:
  enum class Scope { member, group, composite };
  // `on_its_way`: somebody has asked the medium for it already.
  enum class Found { in_memory, on_its_way, absent };
  struct Advice {
    Scope scope = Scope::member;
    // Requests cost much more than bytes: from front to back, rather than what is waited for first.
    bool in_order = false;
    // 1, -1: the reader will come to the composites behind this one, or before it; so many of them are to be read whole, at
    // leisure. 0: who knows.
    int next = 0;
    unsigned ahead = 0;
    // All of the member's group is in memory or on its way, and the reader is likely to go through it: his cache may be given it. Said
    // once for each visit of a group.
    bool hand_over = false;
    // Nothing is known of the medium yet: somebody should measure it in this composite, and tell by measured().
    bool measure = false;
  };
  using Sample = RequestWorth::Sample;
  // Bytes of one request of those that bring more than a member.
  static constexpr std::uint64_t kPiece = 512u << 10;
  // Bytes that are ever read at once beyond a member: all of a composite that is full, with its records.
  static constexpr std::uint64_t kMost = 10u << 20;

  ReadAhead();

  // Somebody waits for the medium, from before it touches what is absent until it has that.
  class Wait {
   public:
    explicit Wait(ReadAhead& of)
        : of_(&of),
          found_others_(of.waiting_.fetch_add(1, std::memory_order_relaxed) > 0),
          number_(of.waits_.fetch_add(1, std::memory_order_relaxed) + 1) {}
    // Goes on with the same wait; nothing is asked of the other any more.
    Wait(Wait&& other) noexcept
        : of_(std::exchange(other.of_, nullptr)),
          found_others_(other.found_others_),
          number_(other.number_) {}
    ~Wait() {
      if (of_ != nullptr) of_->waiting_.fetch_sub(1, std::memory_order_relaxed);
    }
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;
    // Nobody else waited when it began, and nobody has begun since.
    bool alone() const { return !found_others_ && of_->waits_.load(std::memory_order_relaxed) == number_; }

   private:
    ReadAhead* of_;
    const bool found_others_;
    const std::uint64_t number_;
  };

  // A reader has come to a member. Where it is absent it is about to be read with what the advice says; where it is not, there is
  // only a `next` to follow. `composite_bytes`: of the object; 0: not known, then it is not read whole. `planned_share`: of the
  // group's bytes, what is wanted by who comes to it, as a plan says; 0: none does.
  // `looked`: what asks() was before somebody looked for it in memory.
  Advice touch(ReaderId reader, const Extent& extent, Found found, std::uint64_t composite_bytes,
               double planned_share = 0, std::uint64_t looked = UINT64_MAX);
  // How often asked() was called.
  std::uint64_t asks() const { return asks_.load(std::memory_order_acquire); }
  // All that an advice said beyond the member, or that take_whole() allowed, has been asked of the medium: from now on what is
  // absent of it was pushed out. Once for each advice of more than a member, and for each take_whole() that was true.
  void asked(CompositeId composite);
  // All of it was read, and is not known to be gone.
  bool is_whole(CompositeId composite) const;
  // A composite that was `next` for that reader is about to be read whole. False: it was, or memory has no room for it.
  bool take_whole(CompositeId composite, std::uint64_t bytes, ReaderId reader);
  // A read of what was absent, from one time to another (nanoseconds of any clock), waited for so many bytes in one request; 0:
  // some of it was in memory. `beyond`: bytes that were asked for besides. Reads beside others wait for them and say nothing of a
  // request.
  void took(std::uint64_t bytes, std::uint64_t beyond, std::uint64_t from, std::uint64_t until);

  // Whether a reader's cache may be given anything at all; before anybody reads, or when nobody does any more.
  void hand_over(bool may) {
    const MutexLock guard(mutex_);
    may_hand_over_ = may;
  }
  // So many bytes of the members beside that one were put into the reader's cache: he will not come for them. What he comes for in that
  // group speaks for them.
  void handed_over(ReaderId reader, const Extent& beside, std::uint64_t bytes, std::uint64_t files);

  // A small and a large request of an idle medium, or nearly.
  void measured(const Sample& small, const Sample& large);
  // Bytes that a composite has at least that a medium is measured in.
  static constexpr std::uint64_t kMeasurable = 2u << 20;

  ReadAheadCounters counters() const;

 private:
  struct Reader {
    ReaderId id = 0;
    std::uint64_t last_use = 0, touches = 0;
    Visits groups{8, {}};
    Visits composites{32, {}};    // a large directory is in several, all of which are visited at once by name
    std::uint64_t composite = 0;  // the last one
    int step = 1;                 // where it lay from the one before: 1 behind, -1 before
    Lead lead;
    bool knows(std::uint64_t number) const;
  };
  // Of a composite, for all readers.
  struct Account {
    std::uint64_t composite = 0;
    std::uint64_t bytes = 0;  // of the object, as far as is known
    std::uint64_t paid =
        0;  // bytes: those of single requests and of groups, and what a request is worth for each
    std::uint64_t brought = 0;  // Counters::asked when it was read ahead last
    std::uint64_t saved =
        0;  // the same of what was wanted since all or most of it was brought, had it been absent
    std::uint64_t used = 0;      // bytes that were, each time
    std::uint64_t asked_at = 0;  // asks_ when the medium was asked for it last
    unsigned being_asked = 0;    // by how many who have not asked the medium for all of it yet
    bool whole = false;
    bool guessed = false;  // it was read ahead, and nobody has come to it
    bool doubted = false;  // it went from memory before it had saved what it cost, the last time
  };
  Reader& reader(ReaderId id, const Extent& extent) CFFS_REQUIRES(mutex_);
  static std::ptrdiff_t first_place_of(std::uint64_t composite);
  Account& account(std::uint64_t composite) CFFS_REQUIRES(mutex_);
  static double chance(const Visits& visits, const Visit& visit);
  static double chance_of_group(const Visits& visits, const Visit& group);
  static double chance_of_composite(const Visits& visits, const Visit& whole);
  bool pays(double chance, std::uint64_t item) const CFFS_REQUIRES(mutex_);
  bool fits(std::uint64_t bytes) const CFFS_REQUIRES(mutex_) { return bytes <= kMost && bytes <= room_; }
  bool is_curious(const Extent& extent) CFFS_REQUIRES(mutex_);
  bool is_paid(const Account& account, std::uint64_t total) const CFFS_REQUIRES(mutex_);
  Scope choose(const Reader& reader, const Extent& extent, const Visit& group, const Visit& whole,
               const Account& account) CFFS_REQUIRES(mutex_);
  void book(Scope scope, const Extent& extent, Visit& group, const Visit& whole, Account& account)
      CFFS_REQUIRES(mutex_);
  static bool is_most(const Visit& group, const Account& account);
  void lose(Visit& group, Account& account) CFFS_REQUIRES(mutex_);
  void keep(const Account& account) CFFS_REQUIRES(mutex_);
  bool hands_over(const Reader& reader, const Extent& extent, Visit& group) const CFFS_REQUIRES(mutex_);
  static void arrive(Reader& reader, const Visit& whole, Account& account);
  unsigned lead_of(Reader& reader, Visit& whole) const CFFS_REQUIRES(mutex_);
  Reader* known_reader(ReaderId id) CFFS_REQUIRES(mutex_);

  std::atomic<unsigned> waiting_{0};
  std::atomic<std::uint64_t> waits_{0};  // that there ever were
  std::atomic<std::uint64_t> asks_{0};   // changed under mutex_
  mutable Mutex mutex_;                  // leaf
  std::vector<Reader> readers_ CFFS_GUARDED_BY(mutex_);
  std::vector<Account> accounts_ CFFS_GUARDED_BY(mutex_);  // where its number says; the latest take others' places
  std::uint64_t uses_ CFFS_GUARDED_BY(mutex_) = 0;
  std::uint64_t room_ CFFS_GUARDED_BY(mutex_);  // bytes that memory was seen to keep until they are wanted
  std::uint64_t asked_ CFFS_GUARDED_BY(mutex_) = 0, used_ CFFS_GUARDED_BY(mutex_) = 0;
  std::uint64_t handed_files_ CFFS_GUARDED_BY(mutex_) = 0, handed_bytes_ CFFS_GUARDED_BY(mutex_) = 0;
  std::uint64_t dropped_ CFFS_GUARDED_BY(mutex_) = 0;  // asked_ when memory had lost what it had room for
  std::uint64_t kept_ CFFS_GUARDED_BY(mutex_) =
      0;  // bytes read ahead beside which memory kept others since then
  std::uint64_t bought_ CFFS_GUARDED_BY(mutex_) = 0;    // bytes of composites that were read whole, lately
  std::uint64_t returned_ CFFS_GUARDED_BY(mutex_) = 0;  // what their requests would have cost since
  double stays_ CFFS_GUARDED_BY(mutex_) = 0;  // share of what was read ahead that is there when it is wanted
  bool may_hand_over_ CFFS_GUARDED_BY(mutex_) = false;
  bool was_measured_ CFFS_GUARDED_BY(mutex_) = false;  // or is about to be
  unsigned curiosity_ CFFS_GUARDED_BY(mutex_) = 16;    // requests
  RequestWorth worth_ CFFS_GUARDED_BY(mutex_);
};

}  // namespace cffs
