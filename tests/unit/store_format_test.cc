// What the superblock says, and what a program does about features that it does not know.
#include "core/fs/store_format.h"

#include <catch2/catch.hpp>

#include "core/base/checksum.h"
#include "core/fs/file_system.h"
#include "core/inspect/consistency.h"
#include "core/object/memory_store.h"
#include "core/repair/repair.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/unit/object_bytes.h"

namespace cffs::test {
namespace {

constexpr std::size_t kVersionAt = 11;
constexpr std::size_t kFlagsAt = kVersionAt + 4;
constexpr std::size_t kUuidAt = kFlagsAt + 4 + 4 * 8;
constexpr std::size_t kFirstSum = kUuidAt + 1 + 32;
constexpr std::size_t kHashAt = kFirstSum + 8;
constexpr std::size_t kSecondSum = kHashAt + 4;
constexpr std::size_t kThirdAt = kSecondSum + 8;
constexpr SipKey kKey = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

bool says(const std::string& sentence, std::string_view part) {
  return sentence.find(part) != std::string::npos;
}

StoreFormat sample_format() {
  StoreFormat format;
  format.inline_max = 512;
  format.uuid = std::string(32, 'a');
  format.name_hash = NameHash::keyed(kKey);
  return format;
}

std::string written(const StoreFormat& format) {
  MemoryStore store;
  REQUIRE(write_format(store, format));
  return bytes_of(store, "superblock");
}

Result<StoreFormat> read_bytes(std::string_view bytes) {
  MemoryStore store;
  replace(store, "superblock", bytes);
  return read_format(store);
}

// The checksums made anew, after somebody wrote what this program would not.
std::string sealed(std::string bytes) {
  for (const std::size_t at : {kFirstSum, kSecondSum, bytes.size() - 8}) {
    if (at + 8 > bytes.size()) continue;
    std::string sum;
    ByteWriter(sum).u64(checksum(std::string_view(bytes).substr(0, at)));
    bytes.replace(at, 8, sum);
  }
  return bytes;
}

// A store as a later program would make it: a flag of one class, with its name or without.
StoreFormat of_the_future(FeatureClass of, unsigned bit, const std::string& name) {
  StoreFormat format = sample_format();
  format.made_by = "cffs 9.8.7";
  const std::uint32_t flag = std::uint32_t{1} << bit;
  if (of == FeatureClass::compatible) format.unknown.compatible = flag;
  if (of == FeatureClass::read_only_compatible) format.unknown.read_only_compatible = flag;
  if (of == FeatureClass::incompatible) format.unknown.incompatible = flag;
  if (!name.empty()) format.feature_names.push_back({of, static_cast<std::uint8_t>(bit), name});
  return format;
}

}  // namespace

TEST_CASE("the superblock remembers the hash of names, its key, and who made the store") {
  const auto read = read_bytes(written(sample_format()));
  REQUIRE(read);
  REQUIRE(read->inline_max == 512);
  REQUIRE(read->name_hash->id() == NameHashId::siphash_2_4);
  REQUIRE(read->name_hash->key() == kKey);
  REQUIRE((*read->name_hash)("b") == siphash_2_4(kKey, "b"));
  REQUIRE(read->made_by == "cffs " CFFS_VERSION);
  REQUIRE(read->unknown == Features{});

  StoreFormat unkeyed = sample_format();
  unkeyed.name_hash = NameHash::unkeyed();
  REQUIRE((*read_bytes(written(unkeyed))->name_hash)("b") == checksum("b"));
}

TEST_CASE("who makes a store where another one is at it is told who that is, and makes nothing") {
  MemoryStore store;
  const auto other = store.lock("pid 7 on elsewhere");
  REQUIRE(other);
  const Status made = FileSystem::format(store, repeatable(), SystemClock());
  REQUIRE_FALSE(made);
  CHECK(made.error().errno_value == EBUSY);
  CHECK(says(made.error().message(), "is in use by pid 7 on elsewhere; unmount it"));
  CHECK(store.list("")->empty());
}

TEST_CASE("superblocks from before flags had classes, and from before they named the hash, are read") {
  StoreFormat format = sample_format();
  format.name_hash = NameHash::unkeyed();
  const std::string bytes = written(format);
  for (const std::size_t end : {kThirdAt, kHashAt}) {
    const auto read = read_bytes(std::string_view(bytes).substr(0, end));
    REQUIRE(read);
    REQUIRE(read->name_hash->id() == NameHashId::xxh3_64);
    REQUIRE(read->made_by.empty());
    REQUIRE(read->dense_inline);
  }
}

TEST_CASE("a superblock that ends early or has a wrong byte is never taken for an older one") {
  StoreFormat unkeyed = sample_format();
  unkeyed.name_hash = NameHash::unkeyed();
  for (const StoreFormat& format : {sample_format(), unkeyed}) {
    const bool keyed = format.name_hash->id() == NameHashId::siphash_2_4;
    const std::string bytes = written(format);
    for (std::size_t end = kVersionAt; end < bytes.size(); ++end) {
      if (!keyed && (end == kThirdAt || end == kHashAt)) continue;  // those were complete once
      INFO(end);
      REQUIRE_FALSE(read_bytes(std::string_view(bytes).substr(0, end)));
    }
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      INFO(at);
      std::string rotten = bytes;
      rotten[at] = static_cast<char>(rotten[at] ^ 0x20);
      REQUIRE_FALSE(read_bytes(rotten));
    }
  }
}

TEST_CASE("a superblock with more behind it than this program knows is read") {
  const auto read = read_bytes(written(sample_format()) + "what a later program put here");
  REQUIRE(read);
  REQUIRE(read->name_hash->key() == kKey);
}

TEST_CASE("an unknown hash of names or version is refused, also by programs that know of no hash") {
  std::string bytes = written(sample_format());
  REQUIRE(bytes[kFlagsAt] == 63);
  bytes[kHashAt] = 7;
  const auto hash = read_bytes(sealed(bytes));
  REQUIRE(hash.error().kind == ErrorKind::usage);
  REQUIRE(says(hash.error().message(),
               "memory hashes names with hash 7, which cffs " CFFS_VERSION " does not know"));

  bytes = written(of_the_future(FeatureClass::compatible, 0, ""));
  bytes[kVersionAt] = 2;
  const auto version = read_bytes(sealed(bytes));
  REQUIRE(version.error().kind == ErrorKind::usage);
  REQUIRE(version.error().message() == "memory has store format 2; cffs " CFFS_VERSION
                                       " reads format 1; it was made by cffs 9.8.7: use that or a newer one");
}

TEST_CASE("a store from before inline data was dense still reads its holes as zeros") {
  for (const bool dense : {false, true}) {
    StoreFormat format = sample_format();
    format.dense_inline = dense;
    REQUIRE(read_bytes(written(format))->dense_inline == dense);
  }
}

TEST_CASE("an unknown incompatible feature is refused by its name, with who made the store") {
  const auto named = read_bytes(written(of_the_future(FeatureClass::incompatible, 7, "trees of blocks")));
  REQUIRE(named.error().kind == ErrorKind::usage);
  REQUIRE(named.error().message() ==
          "memory needs \"trees of blocks\" (incompatible feature 128), which cffs " CFFS_VERSION
          " does not know; it was made by cffs 9.8.7: use that or a newer one");
  StoreFormat two = of_the_future(FeatureClass::incompatible, 31, "");
  two.unknown.incompatible |= 128;
  two.made_by.clear();
  REQUIRE(read_bytes(written(two)).error().message() ==
          "memory needs incompatible feature 128, incompatible feature 2147483648, which cffs " CFFS_VERSION
          " does not know; use a newer cffs");

  MemoryStore store;
  REQUIRE(FileSystem::format(store, of_the_future(FeatureClass::incompatible, 7, "x"), SystemClock()));
  FileSystemOptions options = quiet();
  for (const bool read_only : {false, true}) {
    options.read_only = read_only;
    REQUIRE(FileSystem::open(store, options).error().kind == ErrorKind::usage);
  }
}

TEST_CASE("a store whose members may be larger than programs know says so") {
  StoreFormat format = sample_format();
  for (const std::uint64_t most : {kSmallFileMax, kMemberMax}) {
    format.composite_file_max = most;
    const std::string bytes = written(format);
    REQUIRE(bytes[kFlagsAt] == (most > kSmallFileMax ? 127 : 63));
    const auto read = read_bytes(bytes);
    REQUIRE((read && read->composite_file_max == most));
  }
  format.composite_file_max = kMemberMax + 1;
  REQUIRE_FALSE(check_format(format));
}

TEST_CASE("a feature's name from a strange store reaches no terminal") {
  const StoreFormat format = of_the_future(FeatureClass::incompatible, 7, "\x1b[2J\" \n");
  REQUIRE(
      says(read_bytes(written(format)).error().message(), "memory needs incompatible feature 128, which"));
}

TEST_CASE("a store with an unknown read-only compatible feature may be looked at, and is not changed") {
  MemoryStore store;
  StoreFormat plain = sample_format();
  REQUIRE(FileSystem::format(store, plain, SystemClock()));
  {
    auto fs = std::move(*FileSystem::open(store, quiet()));
    REQUIRE(fs->mknod(kRootInode, "file", S_IFREG | 0600, 0, kRoot));
    REQUIRE(fs->close());
  }
  replace(store, "superblock",
          written(of_the_future(FeatureClass::read_only_compatible, 1, "directories with a journal")));
  const auto refused = FileSystem::open(store, quiet());
  REQUIRE_FALSE(refused);
  REQUIRE(refused.error().kind == ErrorKind::usage);
  REQUIRE(
      refused.error().message() ==
      "memory has \"directories with a journal\" (read-only compatible feature 2), which cffs " CFFS_VERSION
      " does not know: it may only be looked at (mount -o ro, dump, stat, export, fsck without --repair); "
      "it was made by cffs 9.8.7: use that or a newer one");
  REQUIRE_FALSE(repair_store(store, quiet()));

  FileSystemOptions looking = quiet();
  looking.read_only = true;
  const auto fs = std::move(*FileSystem::open(store, looking));
  REQUIRE(fs->lookup(kRootInode, "file"));
  REQUIRE(fs->mknod(kRootInode, "other", S_IFREG | 0600, 0, kRoot).error().errno_value == EROFS);
  REQUIRE(find_inconsistencies(*fs)->empty());
}

TEST_CASE("an unknown compatible feature is ignored, and stays") {
  MemoryStore store;
  REQUIRE(
      FileSystem::format(store, of_the_future(FeatureClass::compatible, 9, "a catalogue"), SystemClock()));
  const std::string before = bytes_of(store, "superblock") + "and more";
  replace(store, "superblock", before);
  {
    auto fs = std::move(*FileSystem::open(store, quiet()));
    REQUIRE(fs->mknod(kRootInode, "file", S_IFREG | 0600, 0, kRoot));
    REQUIRE(fs->close());
  }
  REQUIRE(repair_store(store, quiet())->empty());
  REQUIRE(bytes_of(store, "superblock") == before);
  const auto read = read_format(store);
  REQUIRE(read->unknown.compatible == 1u << 9);
  // Who writes it elsewhere takes it along, with its name.
  const auto copied = read_bytes(written(*read));
  REQUIRE(copied->unknown == read->unknown);
  REQUIRE(copied->feature_names == read->feature_names);
  REQUIRE(copied->made_by == "cffs 9.8.7");
}

TEST_CASE("each new store has a key of its own") {
  MemoryStore one, other;
  REQUIRE(FileSystem::format(one, {}, SystemClock()));
  REQUIRE(FileSystem::format(other, {}, SystemClock()));
  const NameHash first = *read_format(one)->name_hash;
  REQUIRE(first.id() == NameHashId::siphash_2_4);
  REQUIRE(first.key() != SipKey{});
  REQUIRE(first.key() != read_format(other)->name_hash->key());
}

}  // namespace cffs::test
