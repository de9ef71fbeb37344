// What control groups say of memory, of version 1 and of version 2, in trees made here.
#include "core/base/control_groups.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>

#include "tests/unit/temporary_directory.h"

namespace cffs::test {
namespace {

// A tree of groups: path below the root to content.
std::vector<GroupMemory> of(const std::string& groups, const std::map<std::string, std::string>& files) {
  const TemporaryDirectory root;
  for (const auto& [path, content] : files) {
    const std::filesystem::path at = std::filesystem::path(root.path) / path;
    std::filesystem::create_directories(at.parent_path());
    std::ofstream(at) << content;
  }
  return limited_memory(groups, root.path);
}

}  // namespace

TEST_CASE("a group of version 2 and the ones above it, each with what it holds beside page cache") {
  const std::map<std::string, std::string> files{{"a/b/memory.max", "1000\n"},
                                                 {"a/b/memory.current", "400\n"},
                                                 {"a/b/memory.stat", "anon 100\nfile 300\n"},
                                                 {"a/memory.max", "max\n"},
                                                 {"a/memory.current", "500\n"},
                                                 {"memory.current", "9\n"}};
  const auto found = of("0::/a/b\n", files);
  REQUIRE(found == std::vector<GroupMemory>{{1000, 100}});
  CHECK(found[0].left() == 900);
  auto above = files;
  above["a/memory.max"] = "450\n";
  const auto both = of("0::/a/b\n", above);
  REQUIRE(both == std::vector<GroupMemory>{{1000, 100}, {450, 500}});
  CHECK(both[1].left() == 0);  // it holds more than it may
}

TEST_CASE("a group of version 1 is found by its controller, and no limit is none") {
  const std::string groups = "5:cpu,cpuacct:/x\n4:memory:/jobs/one\n1:name=systemd:/x\n0::/\n";
  const std::map<std::string, std::string> files{
      {"memory/jobs/one/memory.limit_in_bytes", "1000\n"},
      {"memory/jobs/one/memory.usage_in_bytes", "700\n"},
      {"memory/jobs/one/memory.stat", "cache 1\nrss 2\ntotal_cache 600\ntotal_rss 100\n"},
      {"memory/jobs/memory.limit_in_bytes", "9223372036854771712\n"},
      {"memory/jobs/memory.usage_in_bytes", "700\n"}};
  CHECK(of(groups, files) == std::vector<GroupMemory>{{1000, 100}});
}

TEST_CASE("in a container the groups of the host are not seen, and the root's are the process's") {
  CHECK(of("0::/system.slice/of/the/host\n", {{"memory.max", "77\n"}, {"memory.current", "7\n"}}) ==
        std::vector<GroupMemory>{{77, 7}});
  CHECK(of("4:memory:/docker/0123\n",
           {{"memory/memory.limit_in_bytes", "77\n"}, {"memory/memory.usage_in_bytes", "7\n"}}) ==
        std::vector<GroupMemory>{{77, 7}});
}

TEST_CASE("texts that say nothing limit nothing") {
  for (const std::string groups : {"", "\n", "0", "0:", "0::", "0::a", ":::::", "4:memory\n"}) {
    INFO(groups);
    CHECK(of(groups, {{"memory.max", "7\n"}, {"memory.current", ""}}).empty());
  }
  CHECK(of("0::/\n", {{"memory.max", "lots\n"}, {"memory.current", "7\n"}}).empty());
  CHECK(most_memory() > 0);
}

}  // namespace cffs::test
