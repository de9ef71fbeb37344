#include "tests/crash/crash_device.h"

#include <algorithm>
#include <cstring>
#include <random>

namespace cffs::test {
namespace {

constexpr std::uint64_t kSector = BlockDevice::kSector;

}  // namespace

void SectorMedium::write(std::uint64_t offset, std::string_view data) {
  std::memcpy(live_.data() + offset, data.data(), data.size());
  for (std::uint64_t sector = offset / kSector; sector * kSector < offset + data.size(); ++sector)
    unsynced_[sector].push_back(live_.substr(sector * kSector, kSector));
}

void SectorMedium::flush(std::uint64_t offset, std::uint64_t length) {
  auto it = unsynced_.lower_bound(offset / kSector);
  while (it != unsynced_.end() && it->first * kSector < offset + length) {
    std::memcpy(durable_.data() + it->first * kSector, live_.data() + it->first * kSector, kSector);
    it = unsynced_.erase(it);
  }
}

void SectorMedium::flip(std::uint64_t offset, unsigned char bits) {
  live_[offset] = static_cast<char>(live_[offset] ^ static_cast<char>(bits));
  durable_[offset] = static_cast<char>(durable_[offset] ^ static_cast<char>(bits));
}

SectorMedium SectorMedium::cut(std::uint64_t seed) const {
  SectorMedium left(0);
  left.durable_ = durable_;
  std::mt19937_64 random(seed);
  const std::uint64_t bias = random() % 4;  // how much of it survives, on the whole
  for (const auto& [sector, states] : unsynced_) {
    const std::string* survivor = nullptr;
    if (seed == 1) survivor = &states.back();
    if (seed > 1 && random() % 4 <= bias) survivor = &states[random() % states.size()];
    if (survivor != nullptr) std::memcpy(left.durable_.data() + sector * kSector, survivor->data(), kSector);
  }
  left.live_ = left.durable_;
  left.incarnation_ = incarnation_ + 1;
  return left;
}

std::uint64_t CrashDevice::size() const {
  const MutexLock guard(state_->mutex);
  return state_->medium.size();
}

Status CrashDevice::read(std::uint64_t offset, Bytes out) const {
  const MutexLock guard(state_->mutex);
  const std::string_view live = state_->medium.live();
  if (offset > live.size() || out.size() > live.size() - offset) return fail(EIO, "crash");
  std::memcpy(out.data(), live.data() + offset, out.size());
  return {};
}

Status CrashDevice::write(std::uint64_t offset, ConstBytes data) {
  tell("write " + std::to_string(offset) + "+" + std::to_string(data.size()));
  const MutexLock guard(state_->mutex);
  std::string_view text(reinterpret_cast<const char*>(data.data()), data.size());
  if (offset > state_->medium.size() || text.size() > state_->medium.size() - offset)
    return fail(EIO, "crash");
  const bool fails = state_->writes_to_failure > 0 && --state_->writes_to_failure == 0;
  if (fails) text = text.substr(0, text.size() / 2);
  state_->medium.write(offset, text);
  if (fails) return fail(EIO, "crash");
  return {};
}

Status CrashDevice::failing_flush() {
  if (state_->flushes_to_failure > 0 && --state_->flushes_to_failure == 0) return fail(EIO, "crash");
  return {};
}

Status CrashDevice::flush(std::span<const DeviceRange> ranges) {
  tell("flush");
  const MutexLock guard(state_->mutex);
  CFFS_TRY_VOID(failing_flush());
  for (const DeviceRange& range : ranges) state_->medium.flush(range.offset, range.length);
  return {};
}

Status CrashDevice::flush_everything() {
  tell("flush everything");
  const MutexLock guard(state_->mutex);
  CFFS_TRY_VOID(failing_flush());
  state_->medium.flush(0, state_->medium.size());
  return {};
}

std::uint64_t CrashDevice::incarnation() const {
  const MutexLock guard(state_->mutex);
  return state_->medium.incarnation();
}

Result<std::unique_ptr<StoreLock>> CrashDevice::lock(bool writes) {
  return writes ? state_->holders.lock("a writer") : state_->holders.lock_for_reading();
}

}  // namespace cffs::test
