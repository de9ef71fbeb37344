// A region store on a device whose power may fail between any two sectors, as a CrashStore is one of objects: it shows each write and
// flush of the device before it happens, and fails on demand.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/region/region_store.h"
#include "tests/crash/crash_device.h"

namespace cffs::test {

class CrashRegions {
 public:
  using Medium = SectorMedium;
  static constexpr bool kOutlivesTheProcess = true;
  CrashRegions();  // formatted
  explicit CrashRegions(Medium medium);
  CrashRegions(const CrashRegions&) = delete;
  CrashRegions& operator=(const CrashRegions&) = delete;

  ObjectStore& objects() { return *store_; }
  // As those of a CrashStore. objects() is another one after revive().
  void on_change(std::function<void(const std::string& what)> told);
  Medium medium();
  void kill();
  void revive();
  // The nth flush, write of the device.
  void fail_sync(std::uint64_t n);
  void tear_write(std::uint64_t n);

 private:
  void open();

  std::shared_ptr<CrashDevice::State> state_;
  std::unique_ptr<RegionStore> store_;
  std::optional<Medium> at_end_;  // of the process that was killed
  std::function<void(const std::string&)> told_;
};

}  // namespace cffs::test
