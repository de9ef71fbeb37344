#include <catch2/catch.hpp>

#include "core/base/readable_text.h"

namespace cffs {
namespace {

TEST_CASE("what cannot be read of a file ends its text, and throws nothing", "[readable]") {
  CHECK(readable_text("/proc/self/comm").value_or("").ends_with("\n"));
  CHECK(readable_text("/proc/self/mem") == "");  // page 0 is nobody's
  CHECK(readable_text("/proc") == "");
  CHECK_FALSE(readable_text("/proc/0/comm"));
}

}  // namespace
}  // namespace cffs
