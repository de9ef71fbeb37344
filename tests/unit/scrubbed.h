// What a scrub from the beginning says of a store.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/inspect/scrub.h"

namespace cffs::test {

inline std::vector<std::string> scrubbed(FileSystem& fs) {
  std::vector<std::string> said;
  ScrubOptions options;
  options.anew = true;
  options.on_damage = [&](const std::string& sentence) { said.push_back(sentence); };
  REQUIRE(Scrub(fs, std::move(options)).run());
  return said;
}

}  // namespace cffs::test
