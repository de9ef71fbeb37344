// How many entries a directory has at most: never less than there are, so that whoever finds none counted need not look for any.
//
// The table is slow to say that there is nothing: a scan walks over the deletion marks of all that was there and behind it
// (docs/PERFORMANCE.md). Counting begins with mkdir, or with a listing from the first entry to the last (listed_entries.h);
// until then nobody knows.
#pragma once

#include <atomic>
#include <cstdint>

namespace cffs {

// Node::entries is the lock that is spoken of.
class EntryCount {
 public:
  // Held in whichever way: before an entry is written, and after one has gone.
  void comes() {
    came_.fetch_add(1);
    at_most_.fetch_add(1);
  }
  void went() { at_most_.fetch_sub(1); }

  // Held exclusively. False: there may be some, the rows know.
  bool is_zero() const { return at_most_.load() == 0; }

  // Of a directory that nobody else knows yet.
  void starts_empty() { at_most_ = 0; }
  // Entries come without being counted: from now on nobody counts.
  void stop() {
    stopped_ = true;
    at_most_ = kUnknown;
  }

  bool is_unknown() const { return !stopped_ && at_most_.load() > kUnknown / 2; }
  // Held exclusively, so that nobody is half way: how many have come so far, modulo 2^32.
  std::uint32_t came() const { return came_.load(); }
  // Held exclusively: a look at all of the directory saw so many, and began when `came_before` had come.
  void settle(std::uint64_t seen, std::uint32_t came_before) {
    at_most_ = seen + static_cast<std::uint32_t>(came_.load() - came_before);
    if (stopped_) at_most_ = kUnknown;  // in between
  }

 private:
  static constexpr std::uint64_t kUnknown = std::uint64_t{1} << 62;

  std::atomic<std::uint64_t> at_most_{kUnknown};
  std::atomic<std::uint32_t> came_{0};
  std::atomic<bool> stopped_{false};
};

}  // namespace cffs
