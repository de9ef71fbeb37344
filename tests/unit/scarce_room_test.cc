// Where room is scarce: what cannot be is refused and costs nobody else anything, and files that lose their last name in use
// take no handle each.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "core/fs/file_system.h"
#include "core/fs/moment.h"
#include "core/fs/parting_files.h"
#include "core/fs/space_guard.h"
#include "core/inspect/consistency.h"
#include "core/object/blocking_section.h"
#include "core/object/memory_store.h"
#include "core/reorganise/reorganiser.h"
#include "tests/passing_object.h"
#include "tests/passing_store.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"

namespace cffs::test {
namespace {

constexpr std::uint64_t kMedium = std::uint64_t{1} << 40;  // of a store in memory

InodeId make(FileSystem& fs, const std::string& name, const std::string& content) {
  const auto made = fs.mknod(kRootInode, name, S_IFREG | 0644, 0, kRoot);
  REQUIRE(made);
  REQUIRE(fs.write(made->ino, 0, as_bytes(content), kRoot));
  return made->ino;
}

// Its reserve has the room that it asks for, as on a file system with fallocate.
class RoomHoldingStore final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<std::shared_ptr<Object>> create(std::string_view name, Create how) override {
    CFFS_TRY(std::shared_ptr<Object> made, PassingStore::create(name, how));
    if (name != SpaceGuard::kObjectName) return made;
    return std::shared_ptr<Object>(std::make_shared<Reserve>(std::move(made)));
  }

 private:
  struct Reserve final : PassingObject {
    using PassingObject::PassingObject;
    Status allocate(std::uint64_t offset, std::uint64_t length) override { return truncate(offset + length); }
  };
};

struct KeepsNothing final : BlobKeeper {
  void keep(InodeId, const std::shared_ptr<Object>&, std::uint64_t, std::uint64_t, std::uint64_t) override {}
};

// A moment for which something that was removed stays.
std::unique_ptr<Moment> moment_that_holds_some(FileSystem& fs, ObjectStore& store, BlobKeeper& keeper) {
  const InodeId large = make(fs, "large", std::string(300'000, 'l'));
  REQUIRE(fs.sync());
  auto moment = fs.hold_moment(keeper);
  REQUIRE(moment);
  REQUIRE(fs.unlink(kRootInode, "large"));
  fs.forget(large, 1);
  REQUIRE(fs.sync());
  REQUIRE(store.list("held")->size() == 1);
  return std::move(*moment);
}

}  // namespace

TEST_CASE("what is far more than there is is refused, asks nobody, and leaves the account of room as it was",
          "[room]") {
  MemoryStore store;
  store.show_available(1000);
  SpaceGuard guard(store);
  int asked = 0;
  guard.on_shortage([&](std::uint64_t) { return ++asked, true; });
  guard.on_lasting_shortage([&](std::uint64_t) { return ++asked, true; });
  for (const std::uint64_t bytes : {kMedium / 2, kMedium + 1, kMedium * 100,
                                    static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()),
                                    std::numeric_limits<std::uint64_t>::max()}) {
    for (int i = 0; i < 20; ++i) {
      CHECK_FALSE(guard.charge(bytes));
      CHECK_FALSE(guard.charge_mover(bytes));
      CHECK_FALSE(guard.try_charge(bytes));
      CHECK_FALSE(guard.try_charge(4096));  // there is no room, whatever was asked before
    }
  }
  CHECK(asked == 0);
  CHECK_FALSE(guard.charge(4096));
  CHECK(asked > 0);
}

// The kernel gives its reference back (FORGET) after it has answered who removed the file.
TEST_CASE(
    "room of a file that was just removed is there for who writes next, whenever the kernel lets go of it",
    "[room]") {
  struct Kernel final : BlockingObserver {
    Kernel(FileSystem& fs_, MemoryStore& store_, InodeId file_) : fs(fs_), store(store_), file(file_) {
      set_for_this_thread(this);
    }
    ~Kernel() override { set_for_this_thread(nullptr); }
    void about_to_block() override {
      if (told++ > 0) return;
      fs.forget(file, 1);
      store.show_available(kMedium / 2);
    }
    FileSystem& fs;
    MemoryStore& store;
    InodeId file;
    int told = 0;
  };
  MemoryStore store;
  REQUIRE(FileSystem::format(store, repeatable(StoreFormat()), SystemClock()));
  auto fs = std::move(*FileSystem::open(store, quiet()));
  const InodeId large = make(*fs, "large", std::string(300'000, 'l'));
  const InodeId other = make(*fs, "other", "o");
  store.show_available(0);
  CHECK_FALSE(fs->allocate(other, 0, 2 * kMedium, AllocateMode::reserve, true, kRoot));
  REQUIRE(fs->unlink(kRootInode, "large"));
  Kernel kernel(*fs, store, large);
  CHECK(fs->write(other, 0, as_bytes(std::string(1'000, 'o')), kRoot));
  CHECK(kernel.told > 0);
  const auto blobs = store.list("blobs");
  REQUIRE(blobs);
  CHECK(blobs->empty());
}

TEST_CASE("what has its room already is changed in place on a full medium", "[room]") {
  MemoryStore memory;
  RoomHoldingStore store(memory);
  REQUIRE(FileSystem::format(store, repeatable(StoreFormat()), SystemClock()));
  auto fs = std::move(*FileSystem::open(store, quiet()));
  const InodeId large = make(*fs, "large", std::string(300'000, 'l'));
  const InodeId other = make(*fs, "other", "o");
  REQUIRE(fs->sync());
  memory.show_available(0);
  CHECK_FALSE(fs->allocate(other, 0, 2 * kMedium, AllocateMode::reserve, true, kRoot));
  const std::string changed(1'000, 'c');
  CHECK(fs->write(large, 1'000, as_bytes(changed), kRoot));
  CHECK(fs->allocate(large, 0, 300'000, AllocateMode::reserve, false, kRoot));
  CHECK(fs->allocate(large, 65'536, 65'536, AllocateMode::zero_range, true, kRoot));
  CHECK_FALSE(fs->write(large, 400'000, as_bytes(changed), kRoot));
  CHECK_FALSE(fs->write(other, 0, as_bytes(changed), kRoot));
  std::string bytes(1'000, '\0');
  REQUIRE(fs->read(large, 1'000, as_writable_bytes(bytes)));
  CHECK(bytes == changed);
}

// A file system that holds none for us copies what is changed, as like as not: its last room is LevelDB's.
TEST_CASE("where nothing holds the table's room a change in place does not take it", "[room]") {
  MemoryStore store;
  REQUIRE(FileSystem::format(store, repeatable(StoreFormat()), SystemClock()));
  auto fs = std::move(*FileSystem::open(store, quiet()));
  const InodeId large = make(*fs, "large", std::string(300'000, 'l'));
  REQUIRE(fs->sync());
  store.show_available(0);
  CHECK_FALSE(fs->allocate(large, 0, 2 * kMedium, AllocateMode::reserve, true, kRoot));
  const Status changed = fs->write(large, 1'000, as_bytes(std::string(1'000, 'c')), kRoot);
  REQUIRE_FALSE(changed);
  CHECK(changed.error().errno_value == ENOSPC);
}

TEST_CASE("new names do not take what the table needs of a full medium", "[room]") {
  MemoryStore store;
  REQUIRE(FileSystem::format(store, repeatable(StoreFormat()), SystemClock()));
  auto fs = std::move(*FileSystem::open(store, quiet()));
  const InodeId file = make(*fs, "file", "f");
  REQUIRE(fs->sync());
  store.show_available(0);
  CHECK_FALSE(fs->allocate(file, 0, 2 * kMedium, AllocateMode::reserve, true, kRoot));
  const std::string name(255, 'n');
  const Status renamed = fs->rename(kRootInode, "file", kRootInode, name, RenameMode::replace, kRoot);
  REQUIRE_FALSE(renamed);
  CHECK(renamed.error().errno_value == ENOSPC);
  CHECK(fs->unlink(kRootInode, "file"));
  CHECK(fs->sync());
}

TEST_CASE("who wants far more room than there is takes none from who holds some", "[room]") {
  MemoryStore store;
  REQUIRE(FileSystem::format(store, repeatable(StoreFormat()), SystemClock()));
  auto fs = std::move(*FileSystem::open(store, quiet()));
  const InodeId file = make(*fs, "file", "f");
  KeepsNothing keeper;
  auto moment = moment_that_holds_some(*fs, store, keeper);
  store.show_available(kMedium / 2);
  CHECK_FALSE(fs->allocate(file, 0, kMedium / 4 * 3, AllocateMode::reserve, true, kRoot));
  CHECK(moment->good());
  store.show_available(0);
  CHECK_FALSE(fs->write(file, 0, as_bytes(std::string(100'000, 'f')), kRoot));
  CHECK_FALSE(moment->good());
  moment.reset();
}

TEST_CASE("a rename that what is kept free suffices for takes nothing from who holds a moment", "[room]") {
  MemoryStore store;
  REQUIRE(FileSystem::format(store, repeatable(StoreFormat()), SystemClock()));
  auto fs = std::move(*FileSystem::open(store, quiet()));
  const InodeId file = make(*fs, "file", "f");
  KeepsNothing keeper;
  auto moment = moment_that_holds_some(*fs, store, keeper);
  store.show_available(2 << 20);  // less than users may have
  CHECK_FALSE(fs->allocate(file, 0, kMedium / 4 * 3, AllocateMode::reserve, true, kRoot));
  CHECK(fs->rename(kRootInode, "file", kRootInode, "renamed", RenameMode::replace, kRoot));
  CHECK(moment->good());
  moment.reset();
}

TEST_CASE("who waits for files that part does not wait for those that lose their names meanwhile", "[room]") {
  constexpr std::uint64_t kMost = 20'000;  // a millisecond each; the wait is half a second
  PartingFiles files(std::chrono::milliseconds(500));
  std::atomic<bool> returned{false};
  files.lost_name(InodeId{1});
  std::thread waits([&] {
    (void)files.await();
    returned = true;
  });
  std::uint64_t lost = 1;
  for (; !returned && lost < kMost; ++lost) {
    files.lost_name(InodeId{lost + 1});
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(lost < kMost);
  waits.join();
}

TEST_CASE("who grants much at once grants no more than is left beside it", "[room]") {
  MemoryStore store;
  SpaceGuard guard(store);
  store.show_available(200 << 20);
  REQUIRE(guard.charge(150 << 20));
  store.show_available(50 << 20);  // it was taken
  CHECK_FALSE(guard.charge(4 << 20));
}

TEST_CASE(
    "members of a full medium that lose their names in use stay where they are, whatever handles there are",
    "[room]") {
  MemoryStore store;
  StoreFormat format;
  format.inline_max = 128;
  format.composite_file_max = 16384;
  format.composite_max = 20000;  // one member each
  REQUIRE(FileSystem::format(store, repeatable(format), SystemClock()));
  FileSystemOptions options = quiet();
  options.descriptors = 64;
  auto fs = std::move(*FileSystem::open(store, options));
  std::vector<InodeId> files;
  for (int i = 0; i < 40; ++i)
    files.push_back(
        make(*fs, "file" + std::to_string(i), std::string(16'000, static_cast<char>('a' + i % 26))));
  REQUIRE(fs->sync());
  REQUIRE(Reorganiser(*fs).consolidate_now());
  const auto composites = [&] {
    const auto names = store.list("composites");
    REQUIRE(names);
    return names->size();
  };
  REQUIRE(composites() == files.size());
  store.show_available(0);
  // What was granted before is gone with a look.
  CHECK_FALSE(fs->allocate(files[0], 0, 2 * kMedium, AllocateMode::reserve, true, kRoot));
  for (int i = 0; i < 40; ++i) REQUIRE(fs->unlink(kRootInode, "file" + std::to_string(i)));
  REQUIRE(fs->sync());
  CHECK(composites() == files.size());
  for (int i = 0; i < 40; ++i) {
    std::string bytes(16'000, '\0');
    const auto n = fs->read(files[static_cast<std::size_t>(i)], 0, as_writable_bytes(bytes));
    REQUIRE(n);
    CHECK(bytes == std::string(16'000, static_cast<char>('a' + i % 26)));
  }
  for (int i = 0; i < 20; ++i) fs->forget(files[static_cast<std::size_t>(i)], 1);
  REQUIRE(fs->sync());
  CHECK(composites() == 20);
  REQUIRE(fs->close());
  CHECK(composites() == 0);
  fs = std::move(*FileSystem::open(store, options));
  const auto findings = find_inconsistencies(*fs);
  REQUIRE(findings);
  CHECK(*findings == std::vector<std::string>{});
}

}  // namespace cffs::test
