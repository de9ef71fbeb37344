// Files that outgrow the table while something is made durable: what was covered by a sync is there after a power cut, wherever it lies
// by then.
#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <thread>

#include "core/fs/file_system.h"
#include "core/object/faulty_store.h"
#include "tests/passing_object.h"
#include "tests/passing_store.h"
#include "tests/test_options.h"

namespace cffs::test {
namespace {

constexpr std::uint64_t kSeeds = 16;  // what of the unsynced survives

// Calls somebody before an object is synced.
class Announcing final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  using Told = std::function<void(const std::string&)>;
  Result<std::shared_ptr<Object>> create(std::string_view name, Create how) override {
    return told(name, PassingStore::create(name, how));
  }
  Result<std::shared_ptr<Object>> open(std::string_view name) override {
    return told(name, PassingStore::open(name));
  }
  Told before_sync;

 private:
  class Announced final : public PassingObject {
   public:
    Announced(std::shared_ptr<Object> below, Announcing& store, std::string name)
        : PassingObject(std::move(below)), store_(store), name_(std::move(name)) {}
    Status sync() override {
      if (store_.before_sync) store_.before_sync(name_);
      return PassingObject::sync();
    }

   private:
    Announcing& store_;
    const std::string name_;
  };
  Result<std::shared_ptr<Object>> told(std::string_view name, Result<std::shared_ptr<Object>> object) {
    if (!object) return object;
    return std::shared_ptr<Object>(std::make_shared<Announced>(std::move(*object), *this, std::string(name)));
  }
};

struct Scene {
  Scene() : store(medium) {
    StoreFormat format;
    format.inline_max = 128;  // 2,048 bytes wait in the table
    format.composite_file_max = 8192;
    format.composite_max = 32768;
    REQUIRE(FileSystem::format(store, repeatable(format), SystemClock()));
    REQUIRE(store.sync_names());
    auto opened = FileSystem::open(store, quiet());
    REQUIRE(opened);
    fs = std::move(*opened);
  }
  InodeId make(const std::string& name, const std::string& content) {
    const auto made = fs->mknod(kRootInode, name, S_IFREG | 0644, 0, root);
    REQUIRE(made);
    if (!content.empty()) REQUIRE(fs->write(made->ino, 0, as_bytes(content), root));
    return made->ino;
  }
  // By another thread, as its writer is.
  void append(InodeId ino, std::uint64_t at, const std::string& content) {
    std::thread([&] { (void)fs->write(ino, at, as_bytes(content), root); }).join();
  }
  // From the next sync of such an object on, once.
  void at_sync(const std::string& folder, const std::function<void()>& what) {
    store.before_sync = [this, folder, what](const std::string& name) {
      if (!name.starts_with(folder) || done.exchange(true)) return;
      what();
    };
  }
  std::string after_power_cut(std::uint64_t seed, const std::string& name) {
    store.before_sync = nullptr;
    const auto survivor = medium.power_cut(seed);
    fs.reset();
    FileSystemOptions options = quiet();
    options.boot_id = "after";
    const auto opened = FileSystem::open(*survivor, options);
    REQUIRE(opened);
    const auto found = (*opened)->lookup(kRootInode, name);
    REQUIRE(found);
    std::string bytes(found->size, '\0');
    const auto n = (*opened)->read(found->ino, 0, as_writable_bytes(bytes));
    REQUIRE(n);
    bytes.resize(*n);
    return bytes;
  }
  const Caller root = Caller::privileged();
  FaultyStore medium;
  Announcing store;
  std::atomic<bool> done{false};
  std::unique_ptr<FileSystem> fs;
};

const std::string kHead(1000, 'h'), kTail(20'000, 't');

bool begins_with_head(const std::string& content) { return content.compare(0, kHead.size(), kHead) == 0; }

}  // namespace

TEST_CASE("a file that outgrows the table while a commit syncs others is durable with it") {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Scene s;
    (void)s.make("big", kTail);  // a blob, that the commit syncs
    const InodeId file = s.make("file", kHead);
    s.at_sync("blobs/", [&] { s.append(file, kHead.size(), kTail); });
    REQUIRE(s.fs->sync());
    CHECK(s.done);
    CHECK(begins_with_head(s.after_power_cut(seed, "file")));
  }
}

TEST_CASE("a file that outgrows the table while it is synced is durable with its fsync") {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Scene s;
    (void)s.make("before", kHead);  // what comes behind it waits beside the table's log, and is synced before that
    const InodeId file = s.make("file", kHead);
    s.at_sync("values/", [&] { s.append(file, kHead.size(), kTail); });
    REQUIRE(s.fs->fsync(file));
    CHECK(s.done);
    CHECK(begins_with_head(s.after_power_cut(seed, "file")));
  }
}

TEST_CASE(
    "what a rename puts in another's place outgrows the table, and one of both is there after a power cut") {
  const std::string old(1500, 'o');
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Scene s;
    (void)s.make("file", old);
    REQUIRE(s.fs->sync());
    const InodeId anew = s.make("new", kHead);
    const InodeId other = s.make("other", "x");
    REQUIRE(s.fs->rename(kRootInode, "new", kRootInode, "file", RenameMode::replace, s.root));
    s.append(anew, kHead.size(), kTail);
    REQUIRE(s.fs->fsync(other));
    const std::string content = s.after_power_cut(seed, "file");
    CHECK((content == old || begins_with_head(content)));
  }
}

}  // namespace cffs::test
