#include "fusefs/mount_table.h"

#include <catch2/catch.hpp>

using namespace cffs;

TEST_CASE("a line of mountinfo, with optional fields and escapes") {
  const auto entry = parse_mount_line(
      "36 35 0:53 /store /mnt\\040with\\134odd\\011name rw,noatime shared:1 master:2 - fuse.cffs "
      "/srv/a\\040b rw");
  REQUIRE(entry);
  CHECK(entry->id == 36);
  CHECK(entry->parent == 35);
  CHECK(entry->device == "0:53");
  CHECK(entry->root == "/store");
  CHECK(entry->point == "/mnt with\\odd\tname");
  CHECK(entry->type == "fuse.cffs");
  CHECK(entry->source == "/srv/a b");
  CHECK_FALSE(entry->user);
}

TEST_CASE("who mounted it, where FUSE says so") {
  const auto entry = parse_mount_line(
      "40 35 0:54 / /mnt rw - fuse.cffs /srv/store rw,user_id=1000,group_id=100,default_permissions");
  REQUIRE(entry);
  CHECK(entry->user == 1000u);
}

TEST_CASE("a line of mountinfo without optional fields; what is no such line") {
  const auto entry = parse_mount_line("1 0 8:1 / / rw - ext4 /dev/sda1 rw");
  REQUIRE(entry);
  CHECK(entry->point == "/");
  CHECK(entry->type == "ext4");
  CHECK_FALSE(parse_mount_line(""));
  CHECK_FALSE(parse_mount_line("proc /proc proc rw 0 0"));
  CHECK_FALSE(parse_mount_line("36 35 0:53 / /mnt rw shared:1"));
}

TEST_CASE("the root is mounted, and no cffs mount") {
  CHECK(mounted_at("/"));
  CHECK_FALSE(cffs_mount_of("/"));
  CHECK_FALSE(mounted_at("/nonexistent"));
}
