#include "tests/crash/crash_device.h"

#include <algorithm>
#include <cstring>
#include <random>

namespace cffs::test {
void SectorMedium::read(std::uint64_t offset, char* out, std::size_t bytes) const {
  std::memset(out, 0, bytes);
  const std::uint64_t end = offset + bytes;
  for (auto it = live_.lower_bound(offset / BlockDevice::kSector);
       it != live_.end() && it->first * BlockDevice::kSector < end; ++it) {
    const std::uint64_t begin = it->first * BlockDevice::kSector, from = std::max(begin, offset);
    std::memcpy(out + (from - offset), it->second->data() + (from - begin),
                std::min(begin + BlockDevice::kSector, end) - from);
  }
}

void SectorMedium::write(std::uint64_t offset, std::string_view data) {
  const std::uint64_t end = offset + data.size();
  for (std::uint64_t sector = offset / BlockDevice::kSector; sector * BlockDevice::kSector < end; ++sector) {
    const auto it = live_.find(sector);
    std::string bytes = it != live_.end() ? *it->second : std::string(BlockDevice::kSector, '\0');
    const std::uint64_t begin = sector * BlockDevice::kSector, from = std::max(begin, offset),
                        to = std::min(begin + BlockDevice::kSector, end);
    bytes.replace(from - begin, to - from, data.substr(from - offset, to - from));
    unsynced_[sector].push_back(live_[sector] = std::make_shared<const std::string>(std::move(bytes)));
  }
}

void SectorMedium::flush(std::uint64_t offset, std::uint64_t length) {
  auto it = unsynced_.lower_bound(offset / BlockDevice::kSector);
  while (it != unsynced_.end() && it->first * BlockDevice::kSector < offset + length) {
    durable_[it->first] = live_[it->first];
    it = unsynced_.erase(it);
  }
}

void SectorMedium::lose(std::uint64_t offset, std::uint64_t length, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  auto it = unsynced_.lower_bound(offset / BlockDevice::kSector);
  while (it != unsynced_.end() && it->first * BlockDevice::kSector < offset + length) {
    if (random() % 2 == 0) durable_[it->first] = live_[it->first];
    it = unsynced_.erase(it);
  }
}

void SectorMedium::forget() {
  Sectors left = durable_;
  for (const auto& [sector, states] : unsynced_) left[sector] = live_[sector];
  live_ = std::move(left);
}

void SectorMedium::flip(std::uint64_t offset, unsigned char bits) {
  std::string sector(BlockDevice::kSector, '\0');
  const std::uint64_t begin = offset / BlockDevice::kSector * BlockDevice::kSector;
  read(begin, sector.data(), BlockDevice::kSector);
  char& byte = sector[offset - begin];
  byte = static_cast<char>(byte ^ static_cast<char>(bits));
  live_[offset / BlockDevice::kSector] = durable_[offset / BlockDevice::kSector] =
      std::make_shared<const std::string>(std::move(sector));
}

SectorMedium SectorMedium::cut(std::uint64_t seed) const {
  SectorMedium left(size_);
  left.durable_ = durable_;
  std::mt19937_64 random(seed);
  const std::uint64_t bias = random() % 4;  // how much of it survives, on the whole
  for (const auto& [sector, states] : unsynced_) {
    if (seed == 1) left.durable_[sector] = states.back();
    if (seed > 1 && random() % 4 <= bias) left.durable_[sector] = states[random() % states.size()];
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
  const std::uint64_t size = state_->medium.size();
  if (offset > size || out.size() > size - offset) return fail(EIO, "crash");
  state_->medium.read(offset, reinterpret_cast<char*>(out.data()), out.size());
  return {};
}

Status CrashDevice::write(std::uint64_t offset, ConstBytes data) {
  tell("write " + std::to_string(offset) + "+" + std::to_string(data.size()));
  if (state_->refuses)
    if (const int reason = state_->refuses(offset, data.size()); reason != 0) return fail(reason, "crash");
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

Status CrashDevice::failing_flush(std::span<const DeviceRange> ranges) {
  if (state_->flushes_to_failure == 0 || --state_->flushes_to_failure > 0) return {};
  if (state_->losing)
    for (const DeviceRange& range : ranges)
      state_->medium.lose(range.offset, range.length, *state_->losing + range.offset);
  return fail(EIO, "crash");
}

void CrashDevice::forget_memory() {
  const MutexLock guard(state_->mutex);
  state_->medium.forget();
}

Status CrashDevice::flush(std::span<const DeviceRange> ranges) {
  tell("flush");
  const MutexLock guard(state_->mutex);
  CFFS_TRY_VOID(failing_flush(ranges));
  for (const DeviceRange& range : ranges) state_->medium.flush(range.offset, range.length);
  return {};
}

Status CrashDevice::flush_everything() {
  tell("flush everything");
  const MutexLock guard(state_->mutex);
  const DeviceRange everything{0, state_->medium.size()};
  CFFS_TRY_VOID(failing_flush({&everything, 1}));
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
