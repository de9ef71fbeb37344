// What images of peers are called, and how they are made. That they are read as the tree they were made of is a benchmark's to find
// (tests/mount/benchmarks.sh).
#include "bench/rig/peer_image.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "bench/rig/target_name.h"

namespace cffs::bench {
namespace {

bool is_refused(const char* name) { return !peer_name_of(name); }

TEST_CASE("a peer's name is its file system, a codec, and a level where the codec has some", "[peers]") {
  const auto plain = peer_name_of("squashfs:lz4");
  REQUIRE((plain && *plain));
  CHECK((*plain)->type == "squashfs");
  CHECK((*plain)->codec == "lz4");
  CHECK((*plain)->level.empty());
  const auto leveled = peer_name_of("erofs:zstd:9");
  REQUIRE((leveled && *leveled));
  CHECK((*leveled)->codec == "zstd");
  CHECK((*leveled)->level == "9");
  for (const char* other : {"ext4", "directory", "floor", "", "squash", "dir:/squashfs:zstd"}) {
    const auto found = peer_name_of(other);
    INFO(other);
    REQUIRE(found);
    CHECK_FALSE(*found);
  }
}

TEST_CASE("what no program could make is refused in words, before anything is set up", "[peers]") {
  for (const char* name : {"squashfs", "squashfs:", "squashfs:lz4:", "squashfs:lz4:3", "squashfs:zip",
                           "erofs:xz", "erofs:zstd:0", "erofs:zstd:100", "erofs:zstd:x", "erofs:zstd:3:4"}) {
    INFO(name);
    CHECK(is_refused(name));
    CHECK_FALSE(check_target(name));
  }
  CHECK(peer_name_of("erofs:xz").error().message().find("zstd, lz4 or lz4hc") != std::string::npos);
}

TEST_CASE("a peer's image lies on any file system of a disk, and is compressed by nobody else", "[peers]") {
  CHECK(check_target("squashfs:zstd"));
  CHECK(check_target("squashfs:zstd:3@xfs"));
  CHECK(is_peer("squashfs:zstd:3@xfs"));
  CHECK_FALSE(is_peer("directory+zstd@xfs"));
  CHECK_FALSE(check_target("erofs:lz4@region"));
  CHECK_FALSE(check_target("erofs:lz4+zstd"));
}

TEST_CASE("levels reach the programs that make images", "[peers]") {
  const auto has = [](const std::vector<std::string>& words, const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  const auto squashfs = peer_command({"squashfs", "zstd", "3"}, "tree", "image");
  CHECK(squashfs.front() == "mksquashfs");
  CHECK(has(squashfs, "-Xcompression-level"));
  CHECK(has(squashfs, "3"));
  CHECK_FALSE(has(peer_command({"squashfs", "lz4", ""}, "tree", "image"), "-Xcompression-level"));
  const auto erofs = peer_command({"erofs", "zstd", "9"}, "tree", "image");
  CHECK(has(erofs, "-zzstd,9"));
  CHECK(erofs.back() == "tree");  // behind the image
}

}  // namespace
}  // namespace cffs::bench
