#include "core/composite/medium_measure.h"

#include <algorithm>
#include <string>
#include <tuple>

#include "core/base/clock.h"
#include "core/base/thread.h"
#include "core/object/blocking_section.h"

namespace cffs {
namespace {

constexpr std::uint64_t kSmall = 4096, kLarge = ReadAhead::kPiece;
constexpr int kRounds = 4;
constexpr std::uint64_t kStep = 64u << 10;  // from a round's places to the next one's

constexpr double kAlike = 1.25;

}  // namespace

void ShortestTime::add(std::uint64_t ns) {
  second_ = std::min(second_, std::max(least_, ns));
  least_ = std::min(least_, ns);
}

bool ShortestTime::confirmed() const {
  return static_cast<double>(second_) <= kAlike * static_cast<double>(least_);
}

void MediumMeasure::begin(CompositeId composite) {
  const MutexLock guard(mutex_);
  if (begun_ || stopped_) return;
  begun_ = true;
  hold_until_ = std::chrono::steady_clock::now() + most_held_;
  holding_ = true;
  auto made = make_thread("a thread that measures the medium", [this, composite] {
    try {
      measure(composite);
    } catch (const std::exception&) {  // no memory: it is not measured
    }
    let_go();
  });
  if (made)
    thread_ = std::move(*made);
  else
    holding_ = false;
}

void MediumMeasure::hold() {
  announce_blocking();
  MutexLock guard(mutex_);
  while (holding_) {
    if (over_.wait_until(mutex_, hold_until_)) continue;
    holding_ = false;
    over_.notify_all();
  }
}

void MediumMeasure::let_go() {
  const MutexLock guard(mutex_);
  holding_ = false;
  over_.notify_all();
}

void MediumMeasure::stop() {
  stopped_ = true;
  let_go();
  std::thread thread;
  {
    const MutexLock guard(mutex_);
    thread.swap(thread_);
  }
  if (thread.joinable()) thread.join();
}

void MediumMeasure::measure(CompositeId composite) {
  const auto object = open_(composite);
  if (!object) return;
  std::string memory(kLarge, '\0');
  ShortestTime small, large;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    // Each as far from the one before as it gets.
    for (auto& [time, bytes, offset] :
         {std::tuple{&small, kSmall, round * kStep},
          std::tuple{&large, kLarge, ReadAhead::kMeasurable / 2 + round * kStep}}) {
      if (stopped_) return;
      const auto ns = time_of(**object, offset, as_writable_bytes(memory).first(bytes));
      if (!ns) return;
      time->add(*ns);
    }
    if (small.confirmed() && large.confirmed()) break;
  }
  read_ahead_.measured({kSmall, small.least()}, {kLarge, large.least()});
}

std::optional<std::uint64_t> MediumMeasure::time_of(const Object& object, std::uint64_t offset, Bytes out) {
  const std::uint64_t start = elapsed_ns();
  const auto n = object.read_medium(offset, out);
  if (!n || *n != out.size()) return std::nullopt;
  return elapsed_ns() - start;
}

}  // namespace cffs
