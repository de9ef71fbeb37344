// A directory that goes with the test.
#pragma once

#include <stdlib.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

namespace cffs::test {

struct TemporaryDirectory {
  std::string path = "/tmp/cffs-unit.XXXXXX";
  TemporaryDirectory() { REQUIRE(::mkdtemp(path.data()) != nullptr); }
  ~TemporaryDirectory() { std::filesystem::remove_all(path); }
};

}  // namespace cffs::test
