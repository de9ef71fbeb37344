// An object's bytes, to be looked at and damaged.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "core/object/memory_store.h"

namespace cffs::test {

inline std::string bytes_of(ObjectStore& store, const std::string& name) {
  const auto bytes = read_whole(**store.open(name));
  REQUIRE(bytes);
  return *bytes;
}

inline void replace(ObjectStore& store, const std::string& name, std::string_view bytes) {
  REQUIRE((*store.create(name, ObjectStore::Create::truncate))->write_at(0, as_bytes(bytes)));
}

// As somebody finds the store whose user was killed now.
inline std::unique_ptr<MemoryStore> copy_of(ObjectStore& store) {
  auto copy = std::make_unique<MemoryStore>();
  const auto names = store.list("");
  for (const std::string& name : *names) replace(*copy, name, bytes_of(store, name));
  return copy;
}

// The one of the table's objects whose name ends so.
inline std::string only_object(ObjectStore& store, const std::string& ending) {
  const auto names = *store.list("table");
  std::string found;
  for (const std::string& name : names) {
    if (name.ends_with(ending) || name.find(ending) != std::string::npos) found = name;
  }
  REQUIRE(!found.empty());
  return found;
}

// What a salvage finds: all but the table and the superblock.
inline void lose_the_table(ObjectStore& store) {
  const auto names = store.list("");
  for (const std::string& name : *names) {
    if (name.starts_with("table/") || name == "superblock") REQUIRE(store.remove(name));
  }
}

}  // namespace cffs::test
