// Cuts streams of accesses into sessions, the transactions of frequency mining: the distinct files that one client,
// process or user accessed with no gap longer than the session gap.
//
// Repeats inside a session count once, so bursts and reloads do not weigh. A session of more than max_files is set apart,
// as is one of a stream that marks itself as a crawler: neither says what people use together. Small steps back in time
// count as no gap, large ones (another log) as one. Memory: the open sessions; idle ones are closed as time goes on.
#pragma once

#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "grouping/mining/itemset.h"

namespace cffs::grouping {

struct Access {
  std::int64_t time_ms = 0;
  std::uint64_t stream = 0;  // client, process or user
  Item item = 0;
  bool crawler = false;  // the stream has given itself away
};

struct SessionOptions {
  std::int64_t gap_ms = 30 * 60 * 1000;
  std::size_t max_files = 400;
  std::size_t most_open = 1u << 20;  // streams at a time: one more ends the sessions of all
  bool cut = false;                  // a session of more files becomes several, instead of being set apart
};

struct SessionCounts {
  std::uint64_t sessions = 0;        // given out
  std::uint64_t apart_crawlers = 0;  // set apart
  std::uint64_t apart_too_large = 0;
  std::uint64_t repeats = 0;  // accesses that collapsed
};

class Sessions {
 public:
  // Idle sessions are looked for at the first access and at each so many after it: where that is does not depend on the streams,
  // so that who cuts them apart from each other (replay/spark) cuts them at the same places.
  static constexpr std::uint64_t kSweepEvery = 1u << 16;
  // Items in the order of their first access.
  using Emit = std::function<void(std::span<const Item>)>;

  Sessions(const SessionOptions& options, Emit emit) : options_(options), emit_(std::move(emit)) {}

  void add(const Access& access);
  // Closes all. Sessions come out in the order in which they began, as far as they end together.
  void finish();
  const SessionCounts& counts() const { return counts_; }

 private:
  struct Open {
    std::uint64_t number = 0;  // in order of beginning
    std::int64_t last_ms = 0;
    bool crawler = false;
    std::vector<Item> items;
    std::unordered_set<Item> seen;  // only where items are many
  };
  static bool insert(Open& open, Item item);
  void close(Open& open);
  void close_idle(std::int64_t now_ms);

  const SessionOptions options_;
  const Emit emit_;
  std::unordered_map<std::uint64_t, Open> open_;
  std::uint64_t begun_ = 0;
  std::uint64_t added_ = 0;
  SessionCounts counts_;
};

}  // namespace cffs::grouping
