// Damage to what a store holds, for tests of what is said about it.
#pragma once

#include <catch2/catch.hpp>
#include <string>

#include "core/object/object_store.h"

namespace cffs::test {

inline void flip_bit(ObjectStore& store, const std::string& name, std::uint64_t at) {
  const auto object = *store.open(name);
  std::string byte(1, '\0');
  REQUIRE(*object->read_at(at, as_writable_bytes(byte)) == 1);
  byte[0] = static_cast<char>(byte[0] ^ 1);
  REQUIRE(object->write_at(at, as_bytes(byte)));
}

// Flips a bit of a block of rows, at this part (0 to 1) of the largest file that the table was written out to.
inline void flip_in_table(ObjectStore& store, double part) {
  std::string largest;
  std::uint64_t most = 0;
  const auto names = store.list("table");
  for (const std::string& name : *names) {
    const std::uint64_t size = (*store.open(name))->info()->size;
    if (!name.ends_with(".ldb") || size <= most) continue;
    largest = name;
    most = size;
  }
  REQUIRE(most > 0);
  flip_bit(store, largest, static_cast<std::uint64_t>(static_cast<double>(most) * part));
}

}  // namespace cffs::test
