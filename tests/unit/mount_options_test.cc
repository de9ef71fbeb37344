// The words of -o, as mount(8) and people write them.
#include "fusefs/mount_options.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "fusefs/serving.h"

namespace cffs::test {
namespace {

MountOptions options_of(const std::string& list) {
  MountOptions options;
  const Status done = apply_option_list(list, options);
  INFO((done ? std::string() : done.error().message()));
  REQUIRE(done);
  return options;
}

}  // namespace

TEST_CASE("a quoted value of a mount option has its commas, and no quotes", "[options]") {
  const MountOptions o = options_of(R"(ro,plan="/plans/a,b.db",site_root="/www",fsname="a,b\c",noatime)");
  CHECK(o.policy.plan == "/plans/a,b.db");
  CHECK(o.policy.site_root == "/www");
  CHECK(o.read_only);
  CHECK(o.access_times == AccessTimes::never);
  const auto words = fuse_arguments(o, "/srv/store", true, false);
  CHECK(std::find(words.begin(), words.end(), R"(fsname=a\,b\\c)") != words.end());  // as libfuse takes it
  CHECK(
      std::none_of(words.begin(), words.end(), [](const auto& word) { return word == "fsname=/srv/store"; }));
  CHECK(options_of(R"(plan=/a"b"c)").policy.plan == R"(/a"b"c)");
  CHECK(options_of("fsname=name").fuse_options == std::vector<std::string>{"fsname=name"});
}

TEST_CASE("allow_root, which would keep nobody out, is refused with what does", "[options]") {
  MountOptions options;
  const Status refused = apply_option_list("rw,allow_root", options);
  REQUIRE(!refused);
  CHECK(refused.error().of_command_line);
  CHECK(refused.error().message().find("allow_other") != std::string::npos);
  CHECK(options_of("allow_other").fuse_options == std::vector<std::string>{"allow_other"});
}

}  // namespace cffs::test
