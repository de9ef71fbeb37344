// Power cuts at random moments: unsynced writes are dropped or torn, then the store is opened again and the contract of
// docs/CONSISTENCY.md is checked: what was fsynced is there, every file has a content that it once had, nothing is
// inconsistent.
#include <atomic>
#include <catch2/catch.hpp>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "core/inspect/consistency.h"
#include "core/object/faulty_store.h"
#include "core/region/region_store.h"
#include "core/reorganise/regrouping.h"
#include "core/table/content_row.h"
#include "tests/crash/crash_device.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/test_seeds.h"

namespace cffs::test {
namespace {

std::string content(std::uint64_t file, std::uint64_t version) {
  std::mt19937_64 random(file * 1000 + version);
  std::string bytes(random() % 6000 + 1, '\0');
  for (char& c : bytes) c = static_cast<char>('a' + random() % 26);
  return bytes;
}

struct FilePast {
  std::set<std::string> contents;  // every content the name ever showed, "" for "not there"
  std::string durable;             // what the last sync made durable
  bool was_synced = false;
  std::set<std::string> since_sync;  // contents shown after that sync
};

Result<std::string> read_whole(FileSystem& fs, const std::string& name) {
  CFFS_TRY(const Attributes a, fs.lookup(kRootInode, name));
  std::string bytes(a.size, '\0');
  auto n = fs.read(a.ino, 0, as_writable_bytes(bytes));
  fs.forget(a.ino, 1);
  if (!n) return fail(n.error());
  bytes.resize(*n);
  return bytes;
}

// What a store is on, and what is left of it.
class Medium {
 public:
  virtual ~Medium() = default;
  virtual ObjectStore& store() = 0;
  // From now on the power may be cut at any change; what is done after that is lost.
  virtual void may_cut(std::uint64_t /*random*/) {}
  virtual bool is_cut() const { return false; }
  // If it was not cut yet, it is now. The store is used no more, but for being closed, until restart().
  virtual void cut(std::uint64_t random) = 0;
  virtual void restart() = 0;
};

class ObjectsThatLose final : public Medium {
 public:
  ObjectStore& store() override { return *store_; }
  // The logs as devices tear them; LevelDB's table files are synced before anything names them.
  void cut(std::uint64_t random) override {
    survivor_ = store_->power_cut(random, [](std::string_view name) { return name.starts_with("table/"); });
  }
  void restart() override { store_ = std::make_unique<FaultyStore>(std::move(survivor_)); }

 private:
  std::unique_ptr<FaultyStore> store_ = std::make_unique<FaultyStore>();
  std::unique_ptr<MemoryStore> survivor_;
};

// A region store whose device loses sectors, in the middle of operations too.
class RegionsThatLose final : public Medium {
 public:
  RegionsThatLose() {
    CrashDevice device(state_);
    REQUIRE(RegionStore::format(device, {std::uint64_t{1} << 20, 64 * 1024}));
    open();
  }
  ObjectStore& store() override { return *store_; }
  void may_cut(std::uint64_t random) override {
    left_ = random % 400;
    state_->told = [this](const std::string&) {
      if (!survivor_ && left_-- == 0) take();
    };
  }
  bool is_cut() const override { return survivor_.has_value(); }
  void cut(std::uint64_t random) override {
    if (!survivor_) take();
    seed_ = random;
    state_->told = nullptr;
  }
  void restart() override {
    static_cast<RegionStore&>(*store_).abandon();
    store_.reset();
    state_ = std::make_shared<CrashDevice::State>(survivor_->cut(seed_));
    survivor_.reset();
    open();
  }

 private:
  void open() { store_ = *RegionStore::open(std::make_unique<CrashDevice>(state_)); }
  void take() {
    const MutexLock guard(state_->mutex);
    survivor_ = state_->medium;
  }
  std::shared_ptr<CrashDevice::State> state_ =
      std::make_shared<CrashDevice::State>(SectorMedium(std::uint64_t{128} << 20));
  std::unique_ptr<ObjectStore> store_;
  std::atomic<std::uint64_t> left_{0};
  std::optional<SectorMedium> survivor_;
  std::uint64_t seed_ = 0;
};

// Long enough to be shared.
std::string of_several(std::uint64_t kind) {
  return std::string(kLeastShared + 100, static_cast<char>('a' + static_cast<char>(kind)));
}

void one_run(Medium& medium, std::uint64_t seed) {
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  StoreFormat format;
  format.inline_max = 128;
  format.composite_file_max = 8192;
  format.composite_max = 32768;
  format.dedupe = seed % 2 == 0;
  REQUIRE(FileSystem::format(medium.store(), repeatable(format), SystemClock()));
  REQUIRE(medium.store().sync_names());
  std::map<std::string, FilePast> files;
  std::set<std::uint64_t> inodes;
  for (int cut = 0; cut < 4; ++cut) {
    FileSystemOptions options = quiet();
    options.boot_id = "boot " + std::to_string(cut);
    auto opened = FileSystem::open(medium.store(), options);
    REQUIRE(opened);
    FileSystem& fs = **opened;
    auto reorganiser = std::make_optional<Reorganiser>(fs);
    const std::uint64_t operations = random() % 60 + 5;
    medium.may_cut(random());
    for (std::uint64_t i = 0; i < operations && !medium.is_cut(); ++i) {
      const std::uint64_t n = random() % 6;
      const std::string name = "file" + std::to_string(n) + ".c";
      FilePast& history = files[name];
      switch (random() % 8) {
        case 0:
        case 1:
        case 2: {  // replaced through a rename, as editors do
          std::string bytes = content(n, random() % 1000);
          if (random() % 2 == 0) bytes = "#include \"file" + std::to_string(random() % 6) + ".c\"\n" + bytes;
          if (format.dedupe && random() % 2 == 0) bytes = of_several(random() % 3);
          (void)fs.unlink(kRootInode, "new");  // a cut may have come before the rename
          const bool unnamed = random() % 3 == 0;
          const auto made = unnamed ? fs.make_unnamed(kRootInode, 0600, kRoot)
                                    : fs.mknod(kRootInode, "new", S_IFREG | 0600, 0, kRoot);
          REQUIRE(made);
          if (!medium.is_cut()) REQUIRE(inodes.insert(made->ino.value).second);
          if (random() % 3 == 0)
            REQUIRE(fs.allocate(made->ino, 0, bytes.size(), AllocateMode::reserve, true, kRoot));
          REQUIRE(fs.write(made->ino, 0, as_bytes(bytes), kRoot));
          if (unnamed) {
            REQUIRE(fs.link(made->ino, kRootInode, "new"));
            fs.forget(made->ino, 1);
          }
          fs.forget(made->ino, 1);
          REQUIRE(fs.rename(kRootInode, "new", kRootInode, name, RenameMode::replace, kRoot));
          history.contents.insert(bytes);
          history.since_sync.insert(bytes);
          break;
        }
        case 3:
          if (fs.unlink(kRootInode, name)) {
            history.since_sync.insert("");
          }
          break;
        case 4: {
          const auto there = fs.lookup(kRootInode, name);
          if (!there) break;
          REQUIRE(fs.fsync(there->ino));
          fs.forget(there->ino, 1);
          const auto now = read_whole(fs, name);
          REQUIRE(now);
          if (medium.is_cut()) break;
          history.durable = *now;
          history.was_synced = true;
          history.since_sync.clear();
          break;
        }
        case 5:
          REQUIRE(fs.sync());
          if (medium.is_cut()) break;
          for (auto& [each, h] : files) {
            const auto now = read_whole(fs, each);
            h.durable = now ? *now : "";
            h.was_synced = true;
            h.since_sync.clear();
          }
          break;
        case 6:
          fs.set_policy(
              grouping::make_policy(std::array{"none", "directory", "reference", "frequency"}[random() % 4]));
          REQUIRE(regroup(*reorganiser, *fs.policy(), {}));
          break;
        default:
          REQUIRE(reorganiser->consolidate_now());
      }
    }
    medium.cut(random());
    reorganiser.reset();
    (void)fs.close();
    opened->reset();
    medium.restart();

    options.boot_id += ", after the cut";
    auto reopened = FileSystem::open(medium.store(), options);
    REQUIRE(reopened);
    const auto problems = find_inconsistencies(**reopened);
    REQUIRE(problems);
    REQUIRE(*problems == std::vector<std::string>{});
    for (auto& [name, history] : files) {
      const auto now = read_whole(**reopened, name);
      const std::string shown = now ? *now : "";
      INFO(name << (now ? "" : ": " + now.error().message()));
      if (!now) REQUIRE(now.error().errno_value == ENOENT);
      // A blob that was never synced may show the part of it that had reached the medium, as on ext4; under policy none what
      // is larger than inline_max is one.
      const auto shows = [&](const std::string& bytes) {
        return shown == bytes || (bytes.size() > format.inline_max && bytes.starts_with(shown)) ||
               (shown.empty() && now);
      };
      REQUIRE((shown.empty() || std::any_of(history.contents.begin(), history.contents.end(), shows)));
      if (history.was_synced) {
        REQUIRE((shown == history.durable ||
                 std::any_of(history.since_sync.begin(), history.since_sync.end(), shows)));
      }
      history.durable = shown;
      history.was_synced = true;
      history.since_sync.clear();
    }
    REQUIRE((*reopened)->close());
    REQUIRE(medium.store().sync_names());
  }
}

}  // namespace

TEST_CASE("power cuts") {
  for (const std::uint64_t seed : seeds(150)) {
    ObjectsThatLose medium;
    one_run(medium, seed);
  }
}

TEST_CASE("power cuts of a store on regions, at any write of the device", "[region]") {
  for (const std::uint64_t seed : seeds(150)) {
    RegionsThatLose medium;
    one_run(medium, seed);
  }
}

TEST_CASE("an I/O error at any operation is reported, and the store opens again") {
  const bool shares = GENERATE(false, true);
  for (const int problem : {EIO, ENOSPC}) {
    for (const auto persistence : {FaultyStore::Persistence::once, FaultyStore::Persistence::from_then_on}) {
      bool reached_end = false;
      for (std::uint64_t n = 1; !reached_end && n < 400; ++n) {
        INFO("operation " << n << " fails with " << problem);
        FaultyStore store;
        StoreFormat format;
        format.inline_max = 128;
        format.composite_file_max = 8192;
        format.composite_max = 32768;
        format.dedupe = shares;
        REQUIRE(FileSystem::format(store, repeatable(format), SystemClock()));
        std::map<std::string, std::string> acknowledged;
        {
          auto fs = FileSystem::open(store, quiet());
          REQUIRE(fs);
          store.fail_operation(n, problem, persistence);
          const std::uint64_t before = store.operations();
          for (std::uint64_t i = 0; i < 8; ++i) {
            const std::string name = "f" + std::to_string(i);
            const auto made = (*fs)->mknod(kRootInode, name, S_IFREG | 0600, 0, kRoot);
            if (!made) continue;
            const std::string bytes = shares ? of_several(i % 3) : content(i, 0);
            if ((*fs)->write(made->ino, 0, as_bytes(bytes), kRoot)) acknowledged[name] = bytes;
            (*fs)->forget(made->ino, 1);
            if (i == 3) (void)Reorganiser(**fs).consolidate_now();
          }
          (void)(*fs)->sync();
          (void)(*fs)->close();
          reached_end = store.operations() - before < n;
          store.fail_operation(0, 0, FaultyStore::Persistence::once);
        }
        auto again = FileSystem::open(store, quiet());
        REQUIRE(again);
        for (const auto& [name, bytes] : acknowledged) {
          const auto now = read_whole(**again, name);
          INFO(name);
          REQUIRE(now);
          REQUIRE(*now == bytes);
        }
      }
      REQUIRE(reached_end);
    }
  }
}

// Asked again, the kernel may say that the bytes it could not write are there.
TEST_CASE("a rename whose data could not be synced changes nothing, nor does anything after it") {
  FaultyStore store;
  StoreFormat format;
  format.inline_max = 128;
  format.composite_file_max = 8192;
  format.composite_max = 32768;
  REQUIRE(FileSystem::format(store, repeatable(format), SystemClock()));
  const std::string large(20'000, 'x');
  {
    auto fs = FileSystem::open(store, quiet());
    REQUIRE(fs);
    for (const std::string name : {"old", "new"}) {
      const auto made = (*fs)->mknod(kRootInode, name, S_IFREG | 0600, 0, kRoot);
      REQUIRE(made);
      REQUIRE((*fs)->write(made->ino, 0, as_bytes(name == "new" ? large : "before"), kRoot));
    }
    store.fail_operation(1, EIO, FaultyStore::Persistence::once);
    const auto renamed = (*fs)->rename(kRootInode, "new", kRootInode, "old", RenameMode::replace, kRoot);
    REQUIRE(!renamed);
    REQUIRE(renamed.error().errno_value == EIO);
    REQUIRE(read_whole(**fs, "old").value() == "before");
    const auto made = (*fs)->mknod(kRootInode, "later", S_IFREG | 0600, 0, kRoot);
    REQUIRE(!made);
    REQUIRE(made.error().errno_value == EROFS);
    REQUIRE((*fs)->sync().error().errno_value == EROFS);
  }
  auto again = FileSystem::open(store, quiet());
  REQUIRE(again);
  REQUIRE(read_whole(**again, "old").value() == "before");
}

}  // namespace cffs::test
