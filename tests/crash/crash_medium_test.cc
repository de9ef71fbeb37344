// The medium of the crash explorer loses, reorders and tears what it may, and nothing else.
#include "tests/crash/crash_medium.h"

#include <catch2/catch.hpp>
#include <set>

namespace cffs::test {
namespace {

constexpr std::uint64_t kCuts = 400;

std::string bytes_of(const CrashMedium& medium, const std::string& name) {
  const auto body = medium.find(name);
  return body ? body->live : "(none)";
}

}  // namespace

TEST_CASE("what was synced survives every cut, whatever follows it", "[explorer]") {
  CrashMedium medium;
  const auto body = medium.create("blobs/0/1");
  CrashMedium::write(*body, 0, std::string(2'000, 'a'));
  medium.sync(body);
  CrashMedium::write(*body, 512, std::string(512, 'b'));
  for (std::uint64_t seed = 0; seed < kCuts; ++seed) {
    const std::string found = bytes_of(medium.cut(seed), "blobs/0/1");
    REQUIRE(found.size() == 2'000);
    REQUIRE(found.substr(0, 512) == std::string(512, 'a'));
    REQUIRE(found.substr(1'024) == std::string(976, 'a'));
    REQUIRE(
        (found.substr(512, 512) == std::string(512, 'a') || found.substr(512, 512) == std::string(512, 'b')));
  }
}

TEST_CASE("sectors survive apart from each other and from the size", "[explorer]") {
  CrashMedium medium;
  const auto body = medium.create("log");
  medium.sync(body);
  for (int i = 0; i < 4; ++i) {
    CrashMedium::write(*body, static_cast<std::uint64_t>(i) * 512,
                       std::string(512, static_cast<char>('a' + i)));
  }
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < kCuts; ++seed) {
    std::string shape;
    const std::string found = bytes_of(medium.cut(seed), "log");
    REQUIRE(found.size() % 512 == 0);
    for (std::size_t at = 0; at < found.size(); at += 512) shape += found[at] == '\0' ? '0' : found[at];
    seen.insert(shape);
  }
  for (const char* shape : {"", "0000", "abcd", "0bcd", "a0cd", "ab", "000d"}) {
    INFO(shape);
    REQUIRE(seen.contains(shape));
  }
}

TEST_CASE("what was written behind a cut that is lost does not survive it", "[explorer]") {
  CrashMedium medium;
  const auto body = medium.create("blob");
  CrashMedium::write(*body, 0, std::string(1'024, 'o'));
  medium.sync(body);
  CrashMedium::resize(*body, 0);
  CrashMedium::write(*body, 0, std::string(1'024, 'n'));
  for (std::uint64_t seed = 0; seed < kCuts; ++seed) {
    const std::string found = bytes_of(medium.cut(seed), "blob");
    const bool is_old = found.find('o') != std::string::npos;
    if (is_old) REQUIRE(found == std::string(1'024, 'o'));
  }
}

TEST_CASE("names survive in any order that a journal permits", "[explorer]") {
  CrashMedium medium;
  const auto a = medium.create("x/a");
  medium.create("y/b");
  medium.sync_names();
  CrashMedium::write(*a, 0, "bytes");
  medium.rename("x/a", "x/c");
  medium.remove("y/b");
  medium.create("x/d");
  std::set<std::set<std::string>> seen;
  for (std::uint64_t seed = 0; seed < kCuts; ++seed) {
    std::set<std::string> names;
    const CrashMedium after = medium.cut(seed);
    for (const auto& [name, body] : after.live()) names.insert(name);
    REQUIRE(names.contains("x/a") != names.contains("x/c"));  // a rename is whole
    seen.insert(names);
  }
  REQUIRE(seen.size() == 8);  // the rename, the removal and the creation, each by itself
  medium.sync(a);             // by whatever name: the bytes
  for (std::uint64_t seed = 0; seed < kCuts; ++seed) {
    const CrashMedium after = medium.cut(seed);
    REQUIRE(bytes_of(after, after.find("x/a") ? "x/a" : "x/c") == "bytes");
  }
  medium.sync_everything();
  REQUIRE(medium.cut(1).live().size() == 2);
}

TEST_CASE("the name that an object was made with is durable with it, no other", "[explorer]") {
  CrashMedium medium;
  const auto body = medium.create("made");
  medium.create("beside");
  medium.rename("made", "renamed");
  medium.sync(body);
  std::set<std::set<std::string>> seen;
  for (std::uint64_t seed = 0; seed < kCuts; ++seed) {
    std::set<std::string> names;
    const CrashMedium after = medium.cut(seed);
    for (const auto& [name, each] : after.live()) names.insert(name);
    REQUIRE(names.contains("made") != names.contains("renamed"));
    seen.insert(names);
  }
  REQUIRE(seen.size() == 4);
}

}  // namespace cffs::test
