#include "cli/nearest_word.h"

#include <catch2/catch.hpp>

using namespace cffs::cli;

namespace {

const std::vector<std::string> kCommands{"format", "mount", "umount", "import", "export",  "stat",
                                         "stats",  "top",   "fsck",   "scrub",  "regroup", "replay",
                                         "bench",  "trace", "list",   "help"};

}  // namespace

TEST_CASE("letters that are put in, taken out, replaced or swapped are counted") {
  CHECK(letters_apart("export", "export") == 0);
  CHECK(letters_apart("exprot", "export") == 1);
  CHECK(letters_apart("unmount", "umount") == 1);
  CHECK(letters_apart("expart", "export") == 1);
  CHECK(letters_apart("", "top") == 3);
  CHECK(letters_apart("top", "") == 3);
  CHECK(letters_apart("ca", "abc") == 3);  // a pair that was swapped is not taken apart
}

TEST_CASE("the nearest word is what was meant") {
  CHECK(nearest_word("exprot", kCommands) == "export");
  CHECK(nearest_word("unmount", kCommands) == "umount");
  CHECK(nearest_word("regrup", kCommands) == "regroup");
  CHECK(nearest_word("statt", kCommands) == "stat");
  CHECK(nearest_word("imp", kCommands) == "import");  // its beginning
}

TEST_CASE("where nothing is near, nothing is named") {
  CHECK(nearest_word("xyzzy", kCommands).empty());
  CHECK(nearest_word("quota", kCommands).empty());
  CHECK(nearest_word("a", kCommands).empty());
  CHECK(nearest_word("mount", {}).empty());
}
