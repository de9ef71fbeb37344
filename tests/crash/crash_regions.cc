#include "tests/crash/crash_regions.h"

#include <stdexcept>
#include <utility>

namespace cffs::test {
namespace {

constexpr std::uint64_t kBytes = std::uint64_t{128} << 20;  // hardly any of it is written to
constexpr std::uint64_t kRegion = std::uint64_t{1} << 20, kLarge = 64 * 1024;

}  // namespace

CrashRegions::CrashRegions() : state_(std::make_shared<CrashDevice::State>(SectorMedium(kBytes))) {
  CrashDevice device(state_);
  if (!RegionStore::format(device, {kRegion, kLarge})) throw std::runtime_error("no regions can be made");
  open();
}

CrashRegions::CrashRegions(Medium medium) : state_(std::make_shared<CrashDevice::State>(std::move(medium))) {
  open();
}

void CrashRegions::open() {
  auto opened = RegionStore::open(std::make_unique<CrashDevice>(state_));
  if (!opened) throw std::runtime_error(opened.error().message());
  store_ = std::move(*opened);
  state_->told = told_;
}

void CrashRegions::on_change(std::function<void(const std::string&)> told) {
  told_ = std::move(told);
  state_->told = told_;
}

CrashRegions::Medium CrashRegions::medium() {
  const MutexLock guard(state_->mutex);
  return state_->medium;
}

// What its end writes, it writes to nowhere.
void CrashRegions::kill() {
  at_end_ = medium();
  state_->told = nullptr;
}

void CrashRegions::revive() {
  store_->abandon();
  store_.reset();
  state_ = std::make_shared<CrashDevice::State>(std::move(*at_end_));
  at_end_.reset();
  open();
}

void CrashRegions::fail_sync(std::uint64_t n) {
  const MutexLock guard(state_->mutex);
  state_->flushes_to_failure = n;
}

void CrashRegions::tear_write(std::uint64_t n) {
  const MutexLock guard(state_->mutex);
  state_->writes_to_failure = n;
}

}  // namespace cffs::test
