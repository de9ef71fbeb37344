// Inodes that are known, and which of them have a node: how many, and what both cost.
#include <malloc.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <random>
#include <set>
#include <thread>
#include <unordered_map>

#include "core/base/clock.h"
#include "core/fs/file_system.h"
#include "core/fs/known_inodes.h"
#include "core/fs/node_table.h"
#include "core/object/posix_store.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/test_seeds.h"
#include "tests/unit/temporary_directory.h"

namespace cffs::test {
namespace {

NodePtr node_of(InodeId ino, NodePtr parent, Key row) {
  Inode inode;
  inode.ino = ino;
  inode.mode = parent ? S_IFREG : S_IFDIR;
  return std::make_shared<Node>(inode, row, std::move(parent), "name", true);
}

// Bytes that the process has allocated.
std::uint64_t held() {
  const struct mallinfo2 now = ::mallinfo2();
  return now.uordblks + now.hblkhd;
}

// What the table takes for itself: blocks, rows not yet in files, a compaction under way.
constexpr std::uint64_t kTable = 8u << 20;

std::string name(int i) { return "file" + std::to_string(i); }

struct AwakeStore {
  TemporaryDirectory directory;
  std::unique_ptr<PosixStore> medium = std::move(*PosixStore::open_directory(directory.path));
  std::unique_ptr<FileSystem> fs;

  explicit AwakeStore(FileSystemOptions options) {
    options.cache_bytes = 1u << 20;
    options.write_buffer_bytes = 64u << 10;
    REQUIRE(FileSystem::format(*medium, repeatable(), SystemClock()));
    fs = std::move(*FileSystem::open(*medium, std::move(options)));
  }
};

}  // namespace

TEST_CASE("known inodes are what was put there and not erased", "[sleeping]") {
  for (const std::uint64_t seed : seeds(3)) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    KnownInodes inodes;
    std::unordered_map<std::uint64_t, std::uint64_t> expected;
    for (int i = 0; i < 200'000; ++i) {
      // Grows, shrinks to next to nothing, and grows again; neighbours in number, as the kernel has them.
      const bool shrinks = i / 40'000 % 2 == 1;
      const std::uint64_t number = random() % (shrinks ? 3'000 : 30'000) * 64;
      KnownInode* const there = inodes.find(InodeId{number});
      REQUIRE((there != nullptr) == expected.contains(number));
      if (there != nullptr) {
        REQUIRE(there->ino().value == number);
        REQUIRE(there->lower == expected[number]);
        if (shrinks || random() % 4 == 0) {
          inodes.erase(*there);
          expected.erase(number);
        }
      } else if (!shrinks || random() % 16 == 0) {
        inodes.make_room();
        inodes.insert(InodeId{number}).lower = expected[number] = random();
      }
      REQUIRE(inodes.size() == expected.size());
    }
    for (const auto& [number, value] : expected) REQUIRE(inodes.find(InodeId{number})->lower == value);
    while (!expected.empty()) {
      inodes.erase(*inodes.find(InodeId{expected.begin()->first}));
      expected.erase(expected.begin());
    }
    CHECK(inodes.bytes() <= 1024);
  }
}

TEST_CASE("each that sleeps has its turn, and none that is awake or has a sleeper below", "[sleeping]") {
  KnownInodes inodes;
  std::set<std::uint64_t> expected;
  for (std::uint64_t number = 1; number <= 1000; ++number) {
    inodes.make_room();
    KnownInode& there = inodes.insert(InodeId{number});
    if (number % 3 == 0) continue;
    there.state = number % 5 == 0 ? KnownInode::State::asleep_linked : KnownInode::State::asleep;
    there.sleeping_children = number % 7 == 0 ? 1 : 0;
    if (number % 7 != 0) expected.insert(number);
  }
  std::size_t hand = 12'345;  // from when the table was larger
  std::set<std::uint64_t> seen;
  for (std::size_t asked = 0; asked < expected.size(); asked += 10) {
    std::vector<InodeId> some;
    inodes.some_asleep(hand, std::min<std::size_t>(10, expected.size() - asked), some);
    for (const InodeId ino : some) seen.insert(ino.value);
  }
  CHECK(seen == expected);
  std::vector<InodeId> none;
  KnownInodes().some_asleep(hand, 10, none);
  CHECK(none.empty());
}

TEST_CASE("so many nodes are awake, beside those in use", "[sleeping]") {
  NodeTable nodes(10, NameHash::unkeyed());
  const NodePtr root = node_of(kRootInode, nullptr, Key::null_name(kRootInode));
  nodes.acquire(root);
  std::vector<NodePtr> used;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const InodeId ino{kFirstInode + i};
    const Key row = Key::entry(kRootInode, i + 1);
    NodePtr node = nodes.acquire(ino, row, [&] { return node_of(ino, root, row); });
    if (i % 50 == 0) used.push_back(std::move(node));
  }
  nodes.put_rest_to_sleep();
  const NodeTable::Counts counts = nodes.counts();
  CHECK(counts.awake == used.size() + 1);  // more than the bound: all others sleep
  CHECK(counts.asleep == 1000 - used.size());
  CHECK(counts.bytes < 1000 * 100 + 64 * 500);
  for (const NodePtr& node : used) CHECK(nodes.find(node->ino) == node);
  // Its place is remembered, another is refused, and somebody wakes it with a reference more.
  const InodeId sleeper{kFirstInode + 1};
  const Key row = Key::entry(kRootInode, 2);
  CHECK(nodes.look(sleeper).asleep == Asleep{row, row});
  const auto make = [&] { return node_of(sleeper, root, row); };
  CHECK(nodes.acquire(sleeper, Key::entry(kRootInode, 7), make) == nullptr);
  CHECK(nodes.wake(sleeper, Asleep{row, Key::entry(kRootInode, 7)}, make) == nullptr);
  CHECK(nodes.acquire(sleeper, row, make) != nullptr);
  CHECK_FALSE(nodes.release(sleeper, 1));
  CHECK(nodes.release(sleeper, 1));
  // All are forgotten, asleep or awake.
  used.clear();
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const InodeId ino{kFirstInode + i};
    if (ino != sleeper) CHECK(nodes.release(ino, 1));
    const bool awake = nodes.find(ino) != nullptr;
    const NodeTable::Erased erased = awake ? nodes.erase_unreferenced(ino) : nodes.erase_asleep(ino).erased;
    CHECK(erased == NodeTable::Erased::yes);
  }
  CHECK(nodes.counts().awake == 1);
  CHECK(nodes.counts().asleep == 0);
  nodes.clear();
}

TEST_CASE("a crowd that was in use goes to sleep step by step, and gives its memory back", "[sleeping]") {
  NodeTable nodes(10, NameHash::unkeyed());
  const NodePtr root = node_of(kRootInode, nullptr, Key::null_name(kRootInode));
  nodes.acquire(root);
  constexpr std::size_t kCrowd = 12'000;
  std::vector<NodePtr> used;
  for (std::uint64_t i = 0; i < kCrowd; ++i) {
    const InodeId ino{kFirstInode + i};
    const Key row = Key::entry(kRootInode, i + 1);
    used.push_back(nodes.acquire(ino, row, [&] { return node_of(ino, root, row); }));
  }
  nodes.put_rest_to_sleep();
  CHECK(nodes.counts().asleep == 0);
  used.clear();
  constexpr std::size_t kStep = 2000;
  int steps = 0;
  for (std::size_t before = 0; nodes.counts().awake > 10; ++steps) {
    nodes.put_rest_to_sleep(kStep);
    const std::size_t asleep = nodes.counts().asleep;
    REQUIRE(asleep - before <= kStep);
    REQUIRE(steps < 20);  // each is looked at twice, the first time it was used just before
    before = asleep;
  }
  CHECK(steps >= 6);
  CHECK(nodes.counts().asleep >= kCrowd - 10);
  CHECK(nodes.counts().bytes < kCrowd * 64);
  nodes.clear();
}

TEST_CASE("an inode that nobody uses costs less than 128 bytes", "[memory]") {
  FileSystemOptions options = quiet();
  options.awake_nodes = 1024;
  AwakeStore store(options);
  constexpr int kDirectories = 200, kFiles = 200'000;
  constexpr std::uint64_t kOfEach = 128;
  const std::uint64_t before = held();
  std::vector<InodeId> directories, files;
  directories.reserve(kDirectories);
  files.reserve(kFiles);
  const std::uint64_t of_test = held() - before;
  for (int i = 0; i < kDirectories; ++i)
    directories.push_back(store.fs->mkdir(kRootInode, name(i), 0755, kRoot)->ino);
  for (int i = 0; i < kFiles; ++i) {
    const InodeId in = directories[static_cast<std::size_t>(i % kDirectories)];
    files.push_back(store.fs->mknod(in, name(i), S_IFREG | 0600, 0, kRoot)->ino);
  }
  REQUIRE(store.fs->sync());
  const std::uint64_t of_inodes = held() - before - of_test;
  INFO(of_inodes << " bytes for " << kDirectories + kFiles << " inodes");
  CHECK(of_inodes < kTable + (kDirectories + kFiles) * kOfEach);
  // They are all there, and remain as cheap when each was used.
  for (const InodeId ino : files) REQUIRE(store.fs->getattr(ino)->ino == ino);
  INFO(held() - before - of_test << " bytes when each was looked at");
  CHECK(held() - before - of_test < kTable + (kDirectories + kFiles) * kOfEach);
  for (const InodeId ino : files) store.fs->forget(ino, 1);
  for (const InodeId ino : directories) store.fs->forget(ino, 1);
  INFO(held() - before - of_test << " bytes when they are forgotten");
  CHECK(held() - before - of_test < kTable);
}

TEST_CASE("inodes whose times are newer than their rows do not stay awake until the next commit",
          "[memory]") {
  FileSystemOptions options = quiet();
  options.background = true;
  options.commit_interval_ms = 3'600'000;
  options.awake_nodes = 1024;
  options.access_times = AccessTimes::strict;
  AwakeStore store(options);
  constexpr int kFiles = 100'000;
  constexpr std::uint64_t kMost = kTable + kFiles * std::uint64_t{128};
  std::vector<InodeId> files;
  files.reserve(kFiles);
  const std::uint64_t before = held();
  for (int i = 0; i < kFiles; ++i)
    files.push_back(store.fs->mknod(kRootInode, name(i), S_IFREG | 0600, 0, kRoot)->ino);
  REQUIRE(store.fs->sync());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the clock's coarse step
  for (const InodeId ino : files) store.fs->accessed(ino);
  // Another thread writes the rows; it may be behind for a moment.
  for (int tries = 0; tries < 600 && held() - before > kMost; ++tries)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  INFO(held() - before << " bytes for " << kFiles << " inodes");
  CHECK(held() - before <= kMost);
  CHECK(store.fs->getattr(files[1])->atime_ns > store.fs->getattr(files[1])->btime_ns);
}

}  // namespace cffs::test
