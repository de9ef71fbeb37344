#include "core/base/checksum.h"

#include <xxhash.h>

#include <new>

namespace cffs {

std::uint64_t checksum(ConstBytes bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

struct RunningChecksum::State {
  State() {
    if (of == nullptr) throw std::bad_alloc();
  }
  ~State() { XXH3_freeState(of); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  XXH3_state_t* const of = XXH3_createState();
};

RunningChecksum::RunningChecksum() : state_(std::make_unique<State>()) { XXH3_64bits_reset(state_->of); }
RunningChecksum::~RunningChecksum() = default;
void RunningChecksum::add(ConstBytes bytes) { XXH3_64bits_update(state_->of, bytes.data(), bytes.size()); }
std::uint64_t RunningChecksum::value() const { return XXH3_64bits_digest(state_->of); }

}  // namespace cffs
