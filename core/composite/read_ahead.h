// How much to read when a member is read for the first time: itself, its group, or the whole composite (adr/0025).
//
// A wider read pays where what it brings is wanted soon: each request that it saves is worth `break_even` bytes, as many as the
// medium gives in the time that a request takes. What will be wanted follows from what each reader wanted lately: the share of the
// groups and composites it came to, beyond their first member. Nothing is known of a first touch, so it brings its member alone.
// And whatever readers do, a composite whose single requests have cost twice as much as all of it is read to its end: so at most
// three times the least is spent where readers keep coming back.
//
// Pure but for the clock of its callers. Thread safety: everything.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/base/mutex.h"
#include "core/composite/read_ahead_counters.h"
#include "core/table/inode.h"

namespace cffs {

class ReadAhead {
 public:
  enum class Scope { member, group, composite };
  struct Advice {
    Scope scope = Scope::member;
    // 1, -1: the reader will come to the composite behind this one, or before it; to be read whole, at leisure. 0: who knows.
    int next = 0;
  };
  using Counters = ReadAheadCounters;

  // A member's first read since somebody looked it up. `cold`: it is not in memory, and is about to be read with what the
  // advice says; where it is not, there is only a `next` to follow. `composite_bytes`: of the object.
  Advice touch(ReaderId reader, const Extent& extent, bool cold, std::uint64_t composite_bytes);
  // It is about to be read whole. False: it was.
  bool take_whole(CompositeId composite, std::uint64_t bytes);
  // So long it took until the last of so many bytes that were asked for at once was there.
  void took(std::uint64_t bytes, std::uint64_t nanoseconds);

  std::uint64_t break_even() const;
  Counters counters() const;

 private:
  // What one reader wanted of a range of bytes that it came to.
  struct Visit {
    std::uint64_t composite = 0, offset = 0;  // offset of the range; composite 0: none
    std::uint64_t total = 0, first = 0,
                  touched = 0;     // bytes: all, the first member's, all members' that were touched
    std::uint64_t last_touch = 0;  // of the reader's touches, which
    std::uint32_t members = 0;     // touched
    bool twice = false;            // a second touch came soon after the first
    bool ahead = false;            // all of it was read; of a composite: the next one was asked for
    bool is_at(std::uint64_t c, std::uint64_t o) const { return composite == c && offset == o; }
    bool tells() const;  // there was a rest that could be wanted
    double share_of_rest() const;
  };
  static constexpr std::size_t kVisits = 8;
  struct Visits {
    std::array<Visit, kVisits> all;
    std::size_t next = 0;
    Visit& at(std::uint64_t composite, std::uint64_t offset, std::uint64_t total, std::uint64_t first);
    double expected(const Visit& but) const;
    double expected_after_two(const Visit& but) const;
  };
  struct Reader {
    ReaderId id = 0;
    std::uint64_t last_use = 0, touches = 0;
    Visits groups, composites;
    std::uint64_t composite = 0;  // the last one
    int step = 0;                 // where it lay from the one before: 1 behind, -1 before
  };
  // What all readers together paid for a composite.
  struct Account {
    std::uint64_t paid =
        0;  // bytes: what the single requests cost, those that were read, and break-even for each
    bool whole = false;  // all of it was read
  };

  static constexpr std::size_t kReaders = 32;
  static constexpr std::size_t kAccounts = 4096;

  Reader& reader(ReaderId id) CFFS_REQUIRES(mutex_);
  Account& account(std::uint64_t composite) CFFS_REQUIRES(mutex_);
  std::uint64_t worth_of_a_request() const CFFS_REQUIRES(mutex_);
  static double chance(const Visits& visits, const Visit& visit);
  bool pays(double chance, std::uint64_t item) const CFFS_REQUIRES(mutex_);
  Scope choose(const Reader& reader, const Extent& extent, const Visit& group, const Visit& whole,
               const Account& account) const CFFS_REQUIRES(mutex_);
  static int next_of(Reader& reader, Visit& whole);

  mutable Mutex mutex_;  // leaf
  std::vector<Reader> readers_ CFFS_GUARDED_BY(mutex_);
  std::unordered_map<std::uint64_t, Account> accounts_ CFFS_GUARDED_BY(mutex_);
  std::uint64_t uses_ CFFS_GUARDED_BY(mutex_) = 0;
  Counters counters_ CFFS_GUARDED_BY(mutex_);
  // Of took(): means that forget, of bytes, time, and their products.
  double bytes_ CFFS_GUARDED_BY(mutex_) = 0, time_ CFFS_GUARDED_BY(mutex_) = 0;
  double bytes2_ CFFS_GUARDED_BY(mutex_) = 0, product_ CFFS_GUARDED_BY(mutex_) = 0;
  std::uint64_t samples_ CFFS_GUARDED_BY(mutex_) = 0;
};

}  // namespace cffs
