// Repairs that end at a write, for tests of what the next one makes of it.
#pragma once

#include <catch2/catch.hpp>
#include <cerrno>
#include <memory>

#include "core/object/faulty_store.h"
#include "core/object/memory_store.h"
#include "core/repair/repair.h"
#include "tests/test_options.h"
#include "tests/unit/object_bytes.h"

namespace cffs::test {

struct CutRepair {
  bool finished = false;  // before it came to that write
  std::unique_ptr<MemoryStore> left;
};

// Of a copy: from its nth operation on nothing is done; where the power goes with it, what was not durable may be lost.
inline CutRepair repair_cut_at(std::uint64_t n, ObjectStore& damaged, bool loses_power) {
  FaultyStore medium(copy_of(damaged));
  medium.fail_operation(n, EIO, FaultyStore::Persistence::from_then_on);
  CutRepair cut;
  cut.finished = repair_store(medium, quiet()).has_value();
  medium.fail_operation(0, 0, FaultyStore::Persistence::once);
  cut.left = loses_power ? medium.power_cut(n) : copy_of(medium);
  return cut;
}

inline void require_repair(ObjectStore& store) {
  const auto mended = repair_store(store, quiet());
  INFO((mended ? "" : mended.error().message()));
  REQUIRE(mended);
}

}  // namespace cffs::test
