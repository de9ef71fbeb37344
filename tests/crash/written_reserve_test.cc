// The reserve on a medium that reserves nothing for objects without data (no fallocate): it has zeros, written bit by bit.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "core/fs/space_guard.h"
#include "core/object/memory_store.h"
#include "tests/crash/crash_store.h"
#include "tests/passing_object.h"
#include "tests/passing_store.h"

namespace cffs::test {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;

// What a file system does with zeros, and what was asked of it.
struct Zeros {
  bool keeps = true;  // they take room
  std::uint64_t allocated = 0, written = 0;
};

class UnreservedObject final : public PassingObject {
 public:
  UnreservedObject(std::shared_ptr<Object> below, Zeros& zeros)
      : PassingObject(std::move(below)), zeros_(zeros) {}
  Status allocate(std::uint64_t, std::uint64_t) override { return fail(EOPNOTSUPP); }
  Status write_at(std::uint64_t offset, ConstBytes data) override {
    zeros_.written += data.size();
    if (zeros_.keeps && offset == zeros_.allocated) zeros_.allocated += data.size();
    return PassingObject::write_at(offset, data);
  }
  Status truncate(std::uint64_t size) override {
    zeros_.allocated = std::min(zeros_.allocated, size);
    return PassingObject::truncate(size);
  }
  Result<ObjectInfo> info() const override {
    CFFS_TRY(ObjectInfo info, PassingObject::info());
    info.allocated = zeros_.allocated;
    return info;
  }

 private:
  Zeros& zeros_;
};

class UnreservedStore final : public PassingStore {
 public:
  UnreservedStore(ObjectStore& below, Zeros& zeros) : PassingStore(below), zeros_(zeros) {}
  Result<std::shared_ptr<Object>> create(std::string_view name, Create how) override {
    CFFS_TRY(std::shared_ptr<Object> made, PassingStore::create(name, how));
    return std::shared_ptr<Object>(std::make_shared<UnreservedObject>(std::move(made), zeros_));
  }
  bool zeros_hold_room() const override { return true; }

 private:
  Zeros& zeros_;
};

std::uint64_t size_of(ObjectStore& store) {
  const auto object = store.open(SpaceGuard::kObjectName);
  if (!object) return 0;
  const auto info = (*object)->info();
  REQUIRE(info);
  return info->size;
}

void hold_all(SpaceGuard& guard, ObjectStore& store) {
  std::uint64_t before = 0;
  for (guard.hold(); size_of(store) != before; guard.hold()) before = size_of(store);
}

}  // namespace

TEST_CASE("where none is reserved zeros hold the reserve's room, and come back little by little",
          "[reserve]") {
  MemoryStore store;
  Zeros zeros;
  UnreservedStore host(store, zeros);
  SpaceGuard guard(host);
  guard.hold();
  CHECK(size_of(store) >= kMiB);
  hold_all(guard, store);
  CHECK(zeros.allocated == SpaceGuard::kReserveBytes);
  CHECK(size_of(store) == SpaceGuard::kReserveBytes);
  CHECK(zeros.written == SpaceGuard::kReserveBytes);
  REQUIRE(guard.give());
  REQUIRE(guard.give());
  const std::uint64_t given = SpaceGuard::kReserveBytes - size_of(store);
  CHECK(given == 8 * kMiB);
  REQUIRE(
      guard.try_charge(32 * kMiB));  // looks at the medium; whoever does may hold locks, and writes nothing
  CHECK(zeros.written == SpaceGuard::kReserveBytes);
  guard.take_back();
  CHECK(zeros.written >= SpaceGuard::kReserveBytes + kMiB);
  hold_all(guard, store);
  CHECK(zeros.written == SpaceGuard::kReserveBytes + given);
  SECTION("another user of the store finds it, and writes nothing") {
    SpaceGuard next(host);
    next.hold();
    CHECK(zeros.written == SpaceGuard::kReserveBytes + given);
    CHECK(size_of(store) == SpaceGuard::kReserveBytes);
  }
}

TEST_CASE("what was granted before a piece of the reserve was given is looked at again", "[reserve]") {
  MemoryStore store;
  Zeros zeros;
  UnreservedStore host(store, zeros);
  SpaceGuard guard(host);
  hold_all(guard, store);
  REQUIRE(guard.try_charge(4096));
  store.show_available(1000);
  CHECK(guard.try_charge(4096));  // granted with what was asked for before it
  REQUIRE(guard.give());
  CHECK_FALSE(guard.try_charge(4096));
}

TEST_CASE("where zeros take no room there is no reserve, and few are written", "[reserve]") {
  MemoryStore store;
  Zeros zeros;
  zeros.keeps = false;
  UnreservedStore host(store, zeros);
  SpaceGuard guard(host);
  for (int i = 0; i < 10; ++i) guard.hold();
  const auto there = store.exists(SpaceGuard::kObjectName);
  REQUIRE(there);
  CHECK_FALSE(*there);
  CHECK(zeros.written <= kMiB);
}

TEST_CASE("holes of a copied reserve are filled", "[reserve]") {
  MemoryStore store;
  Zeros zeros;
  UnreservedStore host(store, zeros);
  REQUIRE((*store.create(SpaceGuard::kObjectName, ObjectStore::Create::exclusive))->truncate(20 * kMiB));
  zeros.allocated = 5 * kMiB;
  SpaceGuard guard(host);
  hold_all(guard, store);
  CHECK(zeros.allocated == SpaceGuard::kReserveBytes);
  CHECK(size_of(store) == SpaceGuard::kReserveBytes);
}

TEST_CASE("zeros of the reserve stop at a quota, and at the end of the room", "[reserve]") {
  CrashStore store;
  store.refuse_to_allocate();
  SpaceGuard guard(store);
  SECTION("a quota") {
    store.set_quota(10 * kMiB + 5000);
    hold_all(guard, store);
    CHECK(size_of(store) >= 4 * kMiB);
    CHECK(store.used() <= 10 * kMiB);  // what did not fit as a whole is not kept
  }
  SECTION("a small medium, others have most of it") {
    store.set_capacity(64 * kMiB);
    const auto other = store.create("other", ObjectStore::Create::exclusive);
    REQUIRE(other);
    REQUIRE((*other)->write_at(0, as_bytes(std::string(60 * kMiB, 'o'))));
    hold_all(guard, store);
    CHECK(size_of(store) >= 2 * kMiB);
    CHECK(store.used() < 64 * kMiB);
    REQUIRE((*other)->truncate(0));
    hold_all(guard, store);
    CHECK(size_of(store) == 8 * kMiB);
  }
}

}  // namespace cffs::test
