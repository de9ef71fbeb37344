// Large files that grow: whole steps of them are asked for, in order, and nothing of what is gone, small or stopped.
#include "core/fs/early_writeback.h"

#include <catch2/catch.hpp>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include "core/base/thread.h"
#include "core/object/memory_store.h"
#include "tests/passing_object.h"

namespace cffs::test {
namespace {

using Range = std::pair<std::uint64_t, std::uint64_t>;

// Tells what was asked of it; the medium answers when it is let.
class ToldOfWriteback final : public PassingObject {
 public:
  ToldOfWriteback() : PassingObject(make_memory_object()) {}
  void begin_writeback(std::uint64_t offset, std::uint64_t length) override {
    std::unique_lock<std::mutex> guard(mutex_);
    told_.emplace_back(offset, length);
    changed_.notify_all();
    changed_.wait(guard, [&] { return !held_; });
  }
  void hold(bool held) {
    const std::lock_guard<std::mutex> guard(mutex_);
    held_ = held;
    changed_.notify_all();
  }
  std::vector<Range> wait_for(std::size_t count) {
    std::unique_lock<std::mutex> guard(mutex_);
    changed_.wait(guard, [&] { return told_.size() >= count; });
    return told_;
  }
  std::vector<Range> told() {
    const std::lock_guard<std::mutex> guard(mutex_);
    return told_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  std::vector<Range> told_;
};

constexpr std::uint64_t kStep = EarlyWriteback::kStep;

}  // namespace

TEST_CASE("early writeback: whole steps of a file that has grown by two, each byte once, in order") {
  const auto object = std::make_shared<ToldOfWriteback>();
  EarlyWriteback early;
  constexpr std::uint64_t kWrite = 1u << 20;
  for (std::uint64_t at = 0; at < 5 * kStep + 3 * kWrite; at += kWrite) early.grew(object, at, at + kWrite);
  REQUIRE(object->wait_for(4) ==
          std::vector<Range>{{0, 2 * kStep}, {2 * kStep, kStep}, {3 * kStep, kStep}, {4 * kStep, kStep}});
  early.stop();
  REQUIRE(object->told().size() == 4);
}

TEST_CASE("early writeback: a write over several steps asks for all of them, one within a step for none") {
  const auto object = std::make_shared<ToldOfWriteback>();
  EarlyWriteback early;
  early.grew(object, 100, 2 * kStep - 1);
  early.grew(object, 2 * kStep, 3 * kStep - 1);
  early.grew(object, 3 * kStep, 3 * kStep);
  early.grew(object, 3 * kStep - 1, 7 * kStep + 5);
  REQUIRE(object->wait_for(1) == std::vector<Range>{{2 * kStep, 5 * kStep}});
  early.stop();
  REQUIRE(object->told().size() == 1);
}

TEST_CASE("early writeback: who writes waits for nothing, what is gone or left at the end is not asked for") {
  const auto slow = std::make_shared<ToldOfWriteback>();
  slow->hold(true);
  auto gone = std::make_shared<ToldOfWriteback>();
  const std::weak_ptr<ToldOfWriteback> seen = gone;
  EarlyWriteback early;
  early.grew(slow, kStep, 2 * kStep);
  REQUIRE(slow->wait_for(1).size() == 1);  // the medium is at it
  early.grew(gone, kStep, 2 * kStep);
  gone.reset();
  REQUIRE(seen.expired());  // nobody keeps it for this
  const auto last = std::make_shared<ToldOfWriteback>();
  early.grew(last, kStep, 2 * kStep);
  slow->hold(false);
  REQUIRE(last->wait_for(1).size() == 1);
  for (std::uint64_t n = 2; n < 10'000; ++n)
    early.grew(last, n * kStep, (n + 1) * kStep);  // more than is kept
  early.stop();
  const std::size_t asked = last->told().size();
  early.grew(last, kStep, 2 * kStep);
  REQUIRE(last->told().size() == asked);
}

TEST_CASE("early writeback: without a thread nothing is asked for") {
  const auto object = std::make_shared<ToldOfWriteback>();
  EarlyWriteback early;
  allow_threads(0);
  early.grew(object, kStep, 2 * kStep);
  allow_threads(-1);
  early.grew(object, 2 * kStep, 3 * kStep);
  early.stop();
  REQUIRE(object->told().empty());
}

}  // namespace cffs::test
