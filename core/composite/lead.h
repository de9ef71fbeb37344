// How many composites are read ahead of a reader that goes from one to the next: one at first, twice as many each time that it came to
// one of them, none for a while where it came to others (adr/0025). So beyond eight at most an eighth as many are read in vain as
// it came to that were not expected.
//
// Pure. Thread safety: its owner's.
#pragma once

#include <algorithm>
#include <optional>

namespace cffs {

class Lead {
 public:
  // 32 MiB of composites of full size: what a disk with an arm gives in a quarter of a second. With as many requests at hand it
  // need not wait for the reader, and takes what lies near first.
  static constexpr unsigned kMost = 8;
  // From neighbour to neighbour until so many are taken, passing 32 at most that were read already. `take_next()`: whether the next
  // one was taken; nullopt: there is none.
  template <typename TakeNext>
  static void walk(unsigned count, const TakeNext& take_next) {
    constexpr unsigned kPassed = 32;
    unsigned taken = 0;
    for (unsigned looked = 0; taken < count && looked < count + kPassed; ++looked) {
      const std::optional<bool> next = take_next();
      if (!next) return;
      if (*next) ++taken;
    }
  }

  // How many more may be read now.
  unsigned free() const { return rest_ > 0 ? 0 : length_ - std::min(length_, unused_); }
  // Readers of more than one composite ahead need not be waited for until they are through the half of theirs.
  bool is_proven() const { return length_ > 1; }
  void took() { ++unused_; }
  // The reader came to a composite that it had not come to lately. `expected`: it was read ahead.
  void came(bool expected) {
    if (rest_ > 0) --rest_;
    if (expected) {
      length_ = std::min(kMost, 2 * length_);
      unused_ -= std::min(1u, unused_);
      since_hit_ = 0;
    } else if (unused_ > 0) {
      miss();
    }
  }

 private:
  // Who goes by name through what lies in the order of a listing comes to most of it later.
  static constexpr unsigned kPatience = 16;
  static constexpr unsigned kRest = 16;
  // So many are waited for until one that was read ahead is not any more.
  static constexpr unsigned kMissesEach = 8;

  void miss() {
    if (++since_hit_ >= kPatience) {
      unused_ = since_hit_ = 0;
      length_ = 1;
      rest_ = kRest;
    } else if (++misses_ % kMissesEach == 0) {
      --unused_;
    }
  }

  unsigned length_ = 1;
  unsigned unused_ = 0;     // read ahead, and not come to
  unsigned since_hit_ = 0;  // composites it came to since one of those
  unsigned misses_ = 0;
  unsigned rest_ = 0;  // composites to come to before the next guess
};

}  // namespace cffs
