// A sync fails once, and what it should have made durable is lost; asked again, the medium says that all is well, as kernels
// do. Whatever is called durable after that must be.
#include <atomic>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "core/fs/file_system.h"
#include "core/object/faulty_store.h"
#include "core/reorganise/reorganiser.h"
#include "tests/bad_sectors.h"
#include "tests/crash/ticking_clock.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"

namespace cffs::test {
namespace {

StoreFormat tiny() {
  StoreFormat format;
  format.inline_max = 128;  // 2,048 bytes wait in the table
  format.composite_file_max = 8192;
  format.composite_max = 32768;
  return format;
}

FileSystemOptions quiet(const std::string& boot) {
  FileSystemOptions options;
  options.background = false;
  options.boot_id = boot;
  return options;
}

std::string content(std::size_t length, int version) {
  std::string bytes(length, '\0');
  for (std::size_t i = 0; i < length; ++i)
    bytes[i] = static_cast<char>('a' + (i + static_cast<std::size_t>(version)) % 26);
  return bytes;
}

// What a caller knows: for each name that was made durable its content then, and what was written since.
class Promises {
 public:
  using Contents = std::map<std::string, std::set<std::string>>;
  explicit Promises(FileSystem& fs) : fs_(fs) {}

  void put(const std::string& name, std::size_t length, int version) {
    auto there = fs_.lookup(kRootInode, name);
    if (!there) there = fs_.mknod(kRootInode, name, S_IFREG | 0600, 0, kRoot);
    if (!there) return;
    const std::string bytes = content(length, version);
    if (fs_.write(there->ino, 0, as_bytes(bytes), kRoot)) {
      now_[name] = bytes;
      if (durable_.contains(name)) durable_[name].insert(bytes);
    } else {
      durable_.erase(name);
    }
    fs_.forget(there->ino, 1);
  }
  void fsync(const std::string& name) {
    const auto there = fs_.lookup(kRootInode, name);
    if (!there) return;
    if (fs_.fsync(there->ino)) durable_[name] = {now_[name]};
    fs_.forget(there->ino, 1);
  }
  void sync() {
    if (!fs_.sync()) return;
    durable_.clear();
    for (const auto& [name, bytes] : now_) durable_[name] = {bytes};
  }
  void replace(const std::string& from, const std::string& to) {
    if (!fs_.rename(kRootInode, from, kRootInode, to, RenameMode::replace, kRoot)) return;
    now_[to] = now_[from];
    now_.erase(from);
    durable_.erase(from);
    durable_.erase(to);  // the old or the new
  }
  const Contents& durable() const { return durable_; }

 private:
  FileSystem& fs_;
  std::map<std::string, std::string> now_;
  Contents durable_;
};

}  // namespace

TEST_CASE("after a failed sync nothing is called durable that is not", "[faults]") {
  bool reached_end = false;
  for (std::uint64_t n = 1; !reached_end; ++n) {
    INFO("sync " << n << " fails");
    FaultyStore store;
    REQUIRE(FileSystem::format(store, repeatable(tiny()), SystemClock()));
    REQUIRE(store.sync_names());
    Promises::Contents durable;
    {
      auto fs = std::move(*FileSystem::open(store, quiet("before")));
      Promises files(*fs);
      Reorganiser reorganiser(*fs);
      store.fail_sync(n, EIO);
      files.put("early", 1000, 1);
      files.put("large", 20'000, 1);
      files.sync();
      files.put("early", 5000, 2);  // grows out of the table: its durable content goes
      files.put("member", 1500, 1);
      (void)reorganiser.consolidate_now();
      files.fsync("member");
      files.put("next", 30'000, 1);
      files.replace("next", "large");
      files.put("last", 1000, 1);
      files.fsync("large");
      files.fsync("early");
      (void)reorganiser.consolidate_now();
      files.sync();
      files.put("last", 20'000, 2);
      files.fsync("last");
      files.fsync("last");
      files.sync();
      durable = files.durable();
      reached_end = store.fail_sync(0, 0);
    }
    FaultyStore survivor(store.power_cut(n));
    auto fs = std::move(*FileSystem::open(survivor, quiet("after")));
    for (const auto& [name, contents] : durable) {
      INFO(name);
      const auto there = fs->lookup(kRootInode, name);
      REQUIRE(there);
      std::string found(there->size, '\0');
      REQUIRE(fs->read(there->ino, 0, as_writable_bytes(found)).value() == found.size());
      REQUIRE(contents.contains(found));
    }
  }
}

// Too many objects wait for the commit, so the older ones are synced at once; whose sync fails then, nobody has asked for.
TEST_CASE("an early sync that fails stops all that comes after it", "[faults]") {
  FaultyStore store;
  REQUIRE(FileSystem::format(store, tiny(), SystemClock()));
  FileSystemOptions options = quiet("boot");
  options.descriptors = 8;
  auto fs = std::move(*FileSystem::open(store, options));
  std::vector<InodeId> files;
  for (int i = 0; i < 6; ++i) {
    const auto made = fs->mknod(kRootInode, "large" + std::to_string(i), S_IFREG | 0600, 0, kRoot);
    REQUIRE(made);
    files.push_back(made->ino);
  }
  REQUIRE(fs->sync());
  REQUIRE(store.fail_sync(1, EIO) == false);
  for (const InodeId ino : files) {
    if (!fs->write(ino, 0, as_bytes(content(20'000, 1)), kRoot)) break;
  }
  REQUIRE(store.fail_sync(0, 0) == false);  // it has failed
  for (const InodeId ino : files) {
    const Status done = fs->fsync(ino);
    REQUIRE(!done);
    REQUIRE(done.error().errno_value == EROFS);
  }
}

TEST_CASE("a row that cannot be read keeps no other from being written", "[faults]") {
  FaultyStore store;
  REQUIRE(FileSystem::format(store, repeatable(tiny()), SystemClock()));
  FileSystemOptions options = quiet("boot");
  options.name_hash = NameHash::unkeyed().narrowed(0);  // one row for all, read before it is written
  options.access_times = AccessTimes::strict;
  options.cache_bytes = 0;
  options.clock = std::make_shared<TickingClock>();
  const std::vector<std::string> names{"a", "b", "c", "d"};
  {
    auto fs = std::move(*FileSystem::open(store, options));
    for (const auto& name : names) REQUIRE(fs->mknod(kRootInode, name, S_IFREG | 0600, 0, kRoot));
    fs->table().compact();  // into a file, which is read
    REQUIRE(fs->close());
  }
  std::map<std::string, std::int64_t> read_at;
  {
    BadSectors medium(store);
    auto fs = std::move(*FileSystem::open(medium, options));
    for (const auto& name : names) {
      const auto file = fs->lookup(kRootInode, name);
      REQUIRE(file);
      fs->accessed(file->ino);
      read_at[name] = fs->getattr(file->ino)->atime_ns;
    }
    const auto tables = *store.list("table");
    for (const std::string& name : tables) {
      if (name.ends_with(".ldb")) medium.refuse(name, 10);
    }
    const Status failed = fs->sync();
    REQUIRE(!failed);
    INFO(failed.error().message());
    for (const std::string& name : tables) medium.mend(name);
    const Status done = fs->sync();
    INFO((done ? "" : done.error().message()));
    REQUIRE(done);
    REQUIRE(fs->close());
  }
  auto fs = std::move(*FileSystem::open(store, options));
  for (const auto& name : names) {
    INFO(name);
    REQUIRE(fs->lookup(kRootInode, name)->atime_ns == read_at[name]);
  }
}

// Its times lag behind in the row where it is written in place again within a second.
TEST_CASE("an fsync makes a file's times durable too", "[faults]") {
  class SlowClock final : public Clock {
   public:
    std::int64_t now_ns() const override { return now_.fetch_add(1'000'000); }
    std::int64_t steady_ms() const override { return now_.load() / 1'000'000; }

   private:
    mutable std::atomic<std::int64_t> now_{1'000'000'000};
  };
  FaultyStore store;
  REQUIRE(FileSystem::format(store, tiny(), SystemClock()));
  REQUIRE(store.sync_names());
  FileSystemOptions options = quiet("before");
  options.clock = std::make_shared<SlowClock>();
  std::int64_t mtime_ns = 0;
  std::unique_ptr<MemoryStore> survivor;
  {
    auto fs = std::move(*FileSystem::open(store, options));
    const auto made = fs->mknod(kRootInode, "large", S_IFREG | 0600, 0, kRoot);
    REQUIRE(made);
    for (int i = 0; i < 3; ++i) REQUIRE(fs->write(made->ino, 0, as_bytes(content(20'000, i)), kRoot));
    REQUIRE(fs->fsync(made->ino));
    mtime_ns = fs->getattr(made->ino)->mtime_ns;
    survivor = store.power_cut(1);  // before it is closed in order
  }
  FaultyStore after(std::move(survivor));
  auto fs = std::move(*FileSystem::open(after, quiet("after")));
  REQUIRE(fs->lookup(kRootInode, "large")->mtime_ns == mtime_ns);
}

TEST_CASE("an object that cannot be removed fails no commit, and is removed later", "[faults]") {
  bool met = false;
  for (std::uint64_t n = 1; n < 6; ++n) {
    FaultyStore store;
    REQUIRE(FileSystem::format(store, repeatable(tiny()), SystemClock()));
    auto fs = std::move(*FileSystem::open(store, quiet("boot")));
    Promises files(*fs);
    for (const std::string name : {"a", "b", "c"}) files.put(name, 20'000, 1);
    REQUIRE(fs->sync());
    for (const std::string name : {"a", "b", "c"}) REQUIRE(fs->unlink(kRootInode, name));
    store.fail_operation(n, EIO, FaultyStore::Persistence::once);
    const Status done = fs->sync();
    store.fail_operation(0, 0, FaultyStore::Persistence::once);
    if (!done) {
      REQUIRE(fs->sync().error().errno_value == EROFS);
      continue;
    }
    const std::size_t left = store.list("blobs")->size();
    met = met || left == 1;
    REQUIRE(left <= 1);
    REQUIRE(fs->sync());
    REQUIRE(store.list("blobs")->empty());
    REQUIRE(fs->close());
  }
  REQUIRE(met);
}

}  // namespace cffs::test
