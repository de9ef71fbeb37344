#include "core/composite/medium_measure.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/clock.h"
#include "core/base/thread.h"

namespace cffs {
namespace {

constexpr std::uint64_t kSmall = 4096, kLarge = ReadAhead::kPiece;
constexpr int kRounds = 4;
constexpr std::uint64_t kStep = 64u << 10;  // from a round's places to the next one's

}  // namespace

void MediumMeasure::begin(CompositeId composite) {
  const MutexLock guard(mutex_);
  if (begun_ || stopped_) return;
  begun_ = true;
  auto made = make_thread("a thread that measures the medium", [this, composite] {
    try {
      measure(composite);
    } catch (const std::exception&) {  // no memory: it is not measured
    }
  });
  if (made) thread_ = std::move(*made);
}

void MediumMeasure::stop() {
  stopped_ = true;
  std::thread thread;
  {
    const MutexLock guard(mutex_);
    thread.swap(thread_);
  }
  if (thread.joinable()) thread.join();
}

// The least of a few: others may be reading.
void MediumMeasure::measure(CompositeId composite) {
  const auto object = open_(composite);
  if (!object) return;
  std::string memory(kLarge, '\0');
  ReadAhead::Sample small{kSmall, 0}, large{kLarge, 0};
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    // Each as far from the one before as it gets.
    for (auto& [sample, offset] :
         {std::pair{&small, round * kStep}, std::pair{&large, ReadAhead::kMeasurable / 2 + round * kStep}}) {
      if (stopped_) return;
      const auto time = time_of(**object, offset, as_writable_bytes(memory).first(sample->bytes));
      if (!time) return;
      sample->nanoseconds = round == 0 ? *time : std::min(sample->nanoseconds, *time);
    }
  }
  read_ahead_.measured(small, large);
}

std::optional<std::uint64_t> MediumMeasure::time_of(const Object& object, std::uint64_t offset, Bytes out) {
  const std::uint64_t start = elapsed_ns();
  const auto n = object.read_medium(offset, out);
  if (!n || *n != out.size()) return std::nullopt;
  return elapsed_ns() - start;
}

}  // namespace cffs
