// A file system that has bytes to spare and no inodes: who wants one is told so, and whoever removes something is not kept from it.
#include <catch2/catch.hpp>
#include <string>

#include "core/fs/file_system.h"
#include "core/fs/space_guard.h"
#include "core/fs/spare_objects.h"
#include "core/inspect/consistency.h"
#include "core/object/memory_store.h"
#include "core/reorganise/reorganiser.h"
#include "core/table/table.h"
#include "tests/passing_store.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"

namespace cffs::test {
namespace {

// One for each object, and those that others have taken.
class FewInodes final : public PassingStore {
 public:
  FewInodes(ObjectStore& below, std::size_t all) : PassingStore(below), all_(all) {}

  // They are all that the store's owner may have, of many more.
  void are_a_quota() { refusal_ = EDQUOT; }
  int refusal() const { return refusal_; }

  Result<std::shared_ptr<Object>> create(std::string_view name, Create how) override {
    const MutexLock guard(mutex_);
    if (free() == 0 && !*below_.exists(name)) return fail(refusal_, std::string(name));
    return below_.create(name, how);
  }
  Result<SpaceInfo> space() override {
    CFFS_TRY(SpaceInfo info, below_.space());
    const MutexLock guard(mutex_);
    constexpr std::uint64_t kMany = 1'000'000;
    info.total_inodes = refusal_ == EDQUOT ? kMany : all_;
    info.free_inodes = refusal_ == EDQUOT ? kMany / 2 : free();
    info.shares_inodes = true;
    return info;
  }
  void others_take_all() {
    const MutexLock guard(mutex_);
    others_ += free();
  }
  void others_leave() {
    const MutexLock guard(mutex_);
    others_ = 0;
  }

 private:
  std::size_t free() const CFFS_REQUIRES(mutex_) {
    const std::size_t taken = below_.list("")->size() + others_;
    return all_ - std::min(all_, taken);
  }
  const std::size_t all_;
  int refusal_ = ENOSPC;
  mutable Mutex mutex_;
  std::size_t others_ CFFS_GUARDED_BY(mutex_) = 0;
};

struct FullOfFiles {
  FullOfFiles() {
    StoreFormat format;
    format.inline_max = 128;
    format.composite_file_max = 16384;
    REQUIRE(FileSystem::format(store, repeatable(format), SystemClock()));
    options.write_buffer_bytes = 64 << 10;  // LevelDB wants another log, and a table, again and again
    open();
  }
  void open() {
    auto opened = FileSystem::open(store, options);
    INFO((opened ? "" : opened.error().message()));
    REQUIRE(opened);
    fs = std::move(*opened);
  }
  // 0, or why it was refused.
  int make(const std::string& name, std::size_t bytes) {
    const auto made = fs->mknod(kRootInode, name, S_IFREG | 0644, 0, kRoot);
    if (!made) return made.error().errno_value;
    const Status written = fs->write(made->ino, 0, as_bytes(std::string(bytes, 'x')), kRoot);
    fs->forget(made->ino, 1);
    return written ? 0 : written.error().errno_value;
  }
  // How many there were before there was no room; nothing worse.
  int fill(const std::string& prefix, std::size_t bytes) {
    for (int n = 0; n < 30'000; ++n) {
      const int refused = make(prefix + std::to_string(n), bytes);
      if (refused == 0) continue;
      CHECK(refused == store.refusal());
      return n;
    }
    return 30'000;
  }
  void remove(const std::string& prefix, int count) {
    for (int i = 0; i < count; ++i) {
      const Status gone = fs->unlink(kRootInode, prefix + std::to_string(i));
      INFO(i << (gone ? "" : gone.error().message()));
      REQUIRE(gone);
    }
  }

  FileSystemOptions options = quiet();
  MemoryStore memory;
  FewInodes store{memory, 120};
  std::unique_ptr<FileSystem> fs;
};

}  // namespace

TEST_CASE("where inodes run out nobody is told worse than that, and what is removed brings them back",
          "[room]") {
  FullOfFiles s;
  const bool others = GENERATE(false, true);
  if (GENERATE(false, true)) s.store.are_a_quota();
  const int large = s.fill("large", 20'000);
  CHECK(large > 40);
  const int small = s.fill("small", 60);
  if (others) s.store.others_take_all();
  REQUIRE(s.fs->sync());
  REQUIRE(s.fs->close());
  s.fs.reset();
  if (others) s.store.others_take_all();
  s.open();
  CHECK(s.make("new", 20'000) == s.store.refusal());
  (void)s.fs->unlink(kRootInode, "new");
  s.remove("small", small);
  REQUIRE_FALSE(s.fs->table().failed());
  s.remove("large", large / 2);
  REQUIRE(s.fs->sync());
  if (others) s.store.others_leave();
  CHECK(s.make("again", 20'000) == 0);
  REQUIRE(s.fs->sync());
  CHECK(s.store.list(SpareObjects::kFolder)->size() == 16);
  CHECK(*find_inconsistencies(*s.fs) == std::vector<std::string>{});
  REQUIRE(s.fs->close());
}

TEST_CASE("a spare inode goes where there is no other, then nobody gets one, and it comes back first",
          "[room]") {
  MemoryStore memory;
  FewInodes store(memory, 60);
  if (GENERATE(false, true)) store.are_a_quota();
  const auto spares = [&] { return store.list(SpareObjects::kFolder)->size(); };
  SpaceGuard guard(store);
  guard.hold();
  REQUIRE(spares() == SpareObjects::kHeld);
  SECTION("where there are others, it stays, and so does nothing that asked") {
    SpareObjects alone(store);
    const SpaceInfo space = *store.space();
    alone.hold(space);
    CHECK_FALSE(alone.give(space));
    CHECK(spares() == SpareObjects::kHeld);
  }
  SECTION("one more than there should be is none that is missing") {
    for (const char* name : {"/probe", "/99"})
      REQUIRE(memory.create(std::string(SpareObjects::kFolder) + name, ObjectStore::Create::keep));
    SpaceGuard another(store);
    another.hold();
    store.others_take_all();
    REQUIRE(another.give());
    store.others_leave();
    another.take_back();
    CHECK(another.try_charge(4096));
  }
  SECTION("where there are none") {
    REQUIRE(guard.try_charge(4096));
    store.others_take_all();
    REQUIRE(guard.give());
    CHECK(spares() == SpareObjects::kHeld - 1);
    store.others_take_all();
    CHECK_FALSE(guard.try_charge(4096));  // whatever was granted before
    CHECK(guard.refusal().error().errno_value == store.refusal());
    store.others_leave();
    guard.take_back();
    CHECK(spares() == SpareObjects::kHeld);
    CHECK(guard.try_charge(4096));
  }
}

TEST_CASE("a store that nobody else shares its inodes with keeps none apart", "[room]") {
  MemoryStore store;
  REQUIRE(FileSystem::format(store, repeatable(), SystemClock()));
  auto fs = std::move(*FileSystem::open(store, quiet()));
  REQUIRE(fs->sync());
  CHECK(store.list(SpareObjects::kFolder)->empty());
}

}  // namespace cffs::test
