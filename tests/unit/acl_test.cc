#include "core/fs/acl.h"

#include <catch2/catch.hpp>
#include <cstring>

namespace cffs::test {
namespace {

constexpr std::uint32_t kNobody = 0xffffffff;
struct Entry {
  std::uint16_t tag, permissions;
  std::uint32_t id;
};

// The kernel's form: version, then entries, all little-endian (so is this machine).
std::string bytes_of(const std::vector<Entry>& entries, std::uint32_t version = 2) {
  std::string out(4 + 8 * entries.size(), '\0');
  std::memcpy(out.data(), &version, 4);
  for (std::size_t i = 0; i < entries.size(); ++i) std::memcpy(out.data() + 4 + 8 * i, &entries[i], 8);
  return out;
}

const std::vector<Entry> kMinimal{{1, 6, kNobody}, {4, 4, kNobody}, {0x20, 0, kNobody}};
const std::vector<Entry> kNamed{{1, 7, kNobody}, {2, 6, 10},         {4, 5, kNobody},
                                {8, 7, 20},      {0x10, 6, kNobody}, {0x20, 1, kNobody}};

}  // namespace

TEST_CASE("an ACL comes back byte for byte") {
  for (const auto& entries : {kMinimal, kNamed}) {
    const auto acl = Acl::parse(bytes_of(entries));
    REQUIRE(acl);
    REQUIRE((*acl)->bytes() == bytes_of(entries));
  }
  REQUIRE(!Acl::parse(bytes_of({}))->has_value());
}

TEST_CASE("what acl(5) forbids is refused") {
  const auto refused = [](std::vector<Entry> entries) { return !Acl::parse(bytes_of(entries)); };
  REQUIRE(refused({kMinimal[0], kMinimal[1]}));
  REQUIRE(refused({kMinimal[0], kMinimal[1], kMinimal[2], kMinimal[2]}));
  REQUIRE(refused({kMinimal[1], kMinimal[0], kMinimal[2]}));
  REQUIRE(refused({{1, 8, kNobody}, kMinimal[1], kMinimal[2]}));
  REQUIRE(refused({kMinimal[0], {2, 6, 10}, kMinimal[1], kMinimal[2]}));  // a name, no mask
  REQUIRE(refused({kMinimal[0], {2, 6, kNobody}, kMinimal[1], {0x10, 7, kNobody}, kMinimal[2]}));
  REQUIRE(refused({kMinimal[0], kMinimal[1], {0x40, 0, kNobody}, kMinimal[2]}));
  REQUIRE(!Acl::parse(bytes_of(kMinimal, 1)));
  REQUIRE(!Acl::parse(bytes_of(kMinimal).substr(0, 27)));
  REQUIRE(!Acl::parse(""));
}

TEST_CASE("mode and list say the same") {
  Acl minimal = **Acl::parse(bytes_of(kMinimal));
  REQUIRE(minimal.is_minimal());
  REQUIRE(minimal.permissions() == 0640);
  Acl named = **Acl::parse(bytes_of(kNamed));
  REQUIRE(!named.is_minimal());
  REQUIRE(named.permissions() == 0761);  // the mask, not the group
  named.change_mode(S_IFREG | 0750);
  REQUIRE(named.permissions() == 0750);
  auto expected = kNamed;
  expected[4].permissions = 5;
  expected[5].permissions = 0;
  REQUIRE(named.bytes() == bytes_of(expected));  // the group itself keeps its bits
}

TEST_CASE("a new file gets no more than its mode and the default list both allow") {
  const Acl named = **Acl::parse(bytes_of(kNamed));
  mode_t mode = S_IFREG | 04644;
  const Acl made = named.inherited(mode);
  REQUIRE(mode == (S_IFREG | 04640));
  REQUIRE(made.permissions() == 0640);
  REQUIRE(named.permissions() == 0761);
}

}  // namespace cffs::test
