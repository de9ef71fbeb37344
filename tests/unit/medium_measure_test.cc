// Measuring what the medium costs, and those who read meanwhile.
#include "core/composite/medium_measure.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "core/base/thread.h"
#include "core/object/memory_store.h"
#include "tests/passing_object.h"

namespace cffs {
namespace {

constexpr std::chrono::milliseconds kForever = std::chrono::hours(1);

// A composite on a medium that stands still when it is measured, until it is let go.
class StandingObject final : public test::PassingObject {
 public:
  StandingObject() : PassingObject(make_memory_object()) {
    REQUIRE(below_->write_at(0, as_bytes(std::string(ReadAhead::kMeasurable, 'x'))));
  }
  Result<std::size_t> read_medium(std::uint64_t offset, Bytes out) const override {
    {
      MutexLock guard(mutex_);
      ++reads_;
      changed_.notify_all();
      while (stands_) changed_.wait(mutex_);
    }
    return below_->read_at(offset, out);
  }
  void wait_until_measured() const {
    MutexLock guard(mutex_);
    while (reads_ == 0) changed_.wait(mutex_);
  }
  void let_go() const {
    const MutexLock guard(mutex_);
    stands_ = false;
    changed_.notify_all();
  }
  int reads() const {
    const MutexLock guard(mutex_);
    return reads_;
  }

 private:
  mutable Mutex mutex_;
  mutable CondVar changed_;
  mutable int reads_ CFFS_GUARDED_BY(mutex_) = 0;
  mutable bool stands_ CFFS_GUARDED_BY(mutex_) = true;
};

struct Measured {
  explicit Measured(std::chrono::milliseconds most_held)
      : measure([this](CompositeId) -> Result<std::shared_ptr<Object>> { return object; }, ahead, most_held) {
  }
  ~Measured() { object->let_go(); }

  std::shared_ptr<StandingObject> object = std::make_shared<StandingObject>();
  ReadAhead ahead;
  MediumMeasure measure;
};

}  // namespace

TEST_CASE("who would ask the medium while it is measured waits until that is over") {
  Measured medium(kForever);
  medium.measure.begin(CompositeId{1});
  medium.object->wait_until_measured();
  std::atomic<bool> came{false}, passed{false};
  std::thread reader([&] {
    came = true;
    medium.measure.wait_while_measured();
    passed = true;
  });
  while (!came) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(30));  // for one who would not wait
  CHECK(!passed);
  medium.object->let_go();
  reader.join();
  CHECK(medium.object->reads() >= 4);
  medium.measure.wait_while_measured();  // and from then on nobody does
}

TEST_CASE("a medium that takes long to measure holds nobody back for longer than the bound, and once") {
  Measured medium(std::chrono::milliseconds(1));
  medium.measure.begin(CompositeId{1});
  medium.object->wait_until_measured();
  for (int i = 0; i < 3; ++i) medium.measure.wait_while_measured();
  medium.measure.begin(CompositeId{1});
  medium.measure.wait_while_measured();
  CHECK(medium.object->reads() == 1);  // it is being measured still
}

TEST_CASE("where nothing can be measured nobody waits") {
  SECTION("no thread") {
    Measured medium(kForever);
    allow_threads(0);
    medium.measure.begin(CompositeId{1});
    allow_threads(-1);
    medium.measure.wait_while_measured();
  }
  SECTION("no composite") {
    ReadAhead ahead;
    const std::uint64_t usual = ahead.counters().break_even;
    MediumMeasure measure(
        [](CompositeId) -> Result<std::shared_ptr<Object>> { return fail(Error::corruption("gone")); }, ahead,
        kForever);
    measure.begin(CompositeId{1});
    measure.wait_while_measured();
    measure.stop();
    CHECK(ahead.counters().break_even == usual);
  }
  SECTION("the store is being closed") {
    Measured medium(kForever);
    medium.measure.begin(CompositeId{1});
    medium.object->wait_until_measured();
    std::thread reader([&] { medium.measure.wait_while_measured(); });
    std::thread closing([&] { medium.measure.stop(); });
    reader.join();
    medium.object->let_go();
    closing.join();
    medium.measure.begin(CompositeId{1});
    medium.measure.wait_while_measured();
  }
}

TEST_CASE("the shortest time is believed when another one was about as short") {
  ShortestTime time;
  time.add(20);
  CHECK(!time.confirmed());
  time.add(10);
  CHECK(!time.confirmed());
  time.add(30);
  CHECK(!time.confirmed());
  time.add(12);
  CHECK(time.confirmed());
  CHECK(time.least() == 10);
}

}  // namespace cffs
