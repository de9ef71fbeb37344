// An object's bytes, to be looked at and damaged.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <string_view>

#include "core/object/object_store.h"

namespace cffs::test {

inline std::string bytes_of(ObjectStore& store, const std::string& name) {
  const auto bytes = read_whole(**store.open(name));
  REQUIRE(bytes);
  return *bytes;
}

inline void replace(ObjectStore& store, const std::string& name, std::string_view bytes) {
  REQUIRE((*store.create(name, ObjectStore::Create::truncate))->write_at(0, as_bytes(bytes)));
}

}  // namespace cffs::test
