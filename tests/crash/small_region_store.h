// A region store of a few small regions on a device that may lose what was not flushed.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "core/region/region_store.h"
#include "tests/crash/crash_device.h"

namespace cffs::test {

using Create = ObjectStore::Create;

inline std::string contents(const Object& object) {
  std::string bytes(object.info()->size, '\0');
  const auto n = object.read_at(0, as_writable_bytes(bytes));
  REQUIRE(n);
  REQUIRE(*n == bytes.size());
  return bytes;
}

// Nothing is lost of the room: all objects go, and the device is as empty as it was.
inline void check_room(RegionStore& store) {
  const auto names = store.list("");
  for (const std::string& name : *names) REQUIRE(store.remove(name));
  REQUIRE(store.sync_names());
  const SpaceInfo space = *store.space();
  REQUIRE(space.free_bytes == space.total_bytes);
}

inline std::shared_ptr<CrashDevice::State> formatted() {
  auto state = std::make_shared<CrashDevice::State>(SectorMedium(std::uint64_t{9} << 20));
  CrashDevice device(state);
  REQUIRE(RegionStore::format(device, {std::uint64_t{1} << 20, 64 * 1024}));
  return state;
}

inline std::unique_ptr<RegionStore> opened(std::shared_ptr<CrashDevice::State> state) {
  return *RegionStore::open(std::make_unique<CrashDevice>(std::move(state)));
}

}  // namespace cffs::test
