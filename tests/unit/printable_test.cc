// Names of strangers in sentences: readable where they are text, and nothing that a terminal would obey.
#include "core/base/printable.h"

#include <catch2/catch.hpp>

namespace cffs::test {

TEST_CASE("names that are text are shown as they are") {
  for (const char* name : {"plain.txt", "caf\u00e9.png", "\u65e5\u672c\u8a9e", "\U0001f600", "a b"}) {
    REQUIRE(printable(name) == name);
  }
}

TEST_CASE("what a terminal would obey, or nobody can see, is shown by its bytes") {
  REQUIRE(printable("a\x1b[31mb") == "a\\x1b[31mb");
  REQUIRE(printable(std::string_view("a\0b", 3)) == "a\\x00b");
  REQUIRE(printable("a\\b") == "a\\x5cb");
  REQUIRE(printable("a\u009bb") == "a\\xc2\\x9bb");                 // a control of one character
  REQUIRE(printable("\u202egpj.exe") == "\\xe2\\x80\\xaegpj.exe");  // right to left
  REQUIRE(printable("a\u200bb") == "a\\xe2\\x80\\x8bb");            // no width
  REQUIRE(printable("\x7f") == "\\x7f");
}

TEST_CASE("bytes that are no UTF-8 are shown one by one") {
  REQUIRE(printable("caf\xe9.png") == "caf\\xe9.png");      // Latin-1
  REQUIRE(printable("\xc0\xaf") == "\\xc0\\xaf");           // overlong
  REQUIRE(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // a surrogate
  REQUIRE(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");
  REQUIRE(printable("\xe2\x82") == "\\xe2\\x82");  // cut short
  REQUIRE(printable("\xff") == "\\xff");
}

}  // namespace cffs::test
