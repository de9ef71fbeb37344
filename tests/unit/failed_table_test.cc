// A store that has met an error of its medium is not written any more, large files included, and what reads it costs no memory.
#include <catch2/catch.hpp>
#include <functional>
#include <string>

#include "core/fs/file_system.h"
#include "core/object/faulty_store.h"
#include "core/object/memory_store.h"
#include "core/table/table.h"
#include "tests/passing_object.h"
#include "tests/passing_store.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"

namespace cffs::test {

namespace {

// The handle that made one of the objects fails its first sync; a handle that is opened behind that hears nothing of it.
class ToldOnce final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  std::string name;                 // of that object
  bool failed = false;              // somebody was told
  std::function<void()> behind_it;  // called once, by the next sync
  std::size_t opened = 0;           // how often, once made

  Result<std::shared_ptr<Object>> create(std::string_view object, Create how) override {
    return handle(object, below_.create(object, how), true);
  }
  Result<std::shared_ptr<Object>> open(std::string_view object) override {
    if (object == name) ++opened;
    return handle(object, below_.open(object), false);
  }

 private:
  struct Handle final : PassingObject {
    Handle(ToldOnce& told, std::shared_ptr<Object> below, bool fails)
        : PassingObject(std::move(below)), store(told), refuses(fails) {}
    Status sync() override {
      if (refuses) {
        store.failed = true;
        return fail(EIO, store.name);
      }
      if (store.failed && store.behind_it) std::exchange(store.behind_it, nullptr)();
      return below_->sync();
    }
    ToldOnce& store;
    const bool refuses;
  };
  Result<std::shared_ptr<Object>> handle(std::string_view object, Result<std::shared_ptr<Object>> below,
                                         bool makes) {
    if (!below || !object.starts_with("blobs/")) return below;
    if (name.empty()) name = object;
    const bool fails = makes && object == name;
    return std::shared_ptr<Object>(std::make_shared<Handle>(*this, std::move(*below), fails));
  }
};

}  // namespace

TEST_CASE("an fsync and a rename hear what another handle of the file was told") {
  MemoryStore memory;
  ToldOnce store(memory);
  StoreFormat format;
  format.inline_max = 64;
  format.composite_file_max = 4096;
  REQUIRE(FileSystem::format(store, repeatable(format), SystemClock()));
  FileSystemOptions options = quiet();
  options.open_objects = 2;
  const auto fs = std::move(*FileSystem::open(store, options));
  const auto make = [&](const std::string& name) {
    const auto made = fs->mknod(kRootInode, name, S_IFREG | 0644, 0, kRoot);
    REQUIRE(made);
    REQUIRE(fs->write(made->ino, 0, as_bytes(std::string(100'000, 'c')), kRoot));
    return made->ino;
  };
  const InodeId first = make("first");
  for (int i = 0; i < 100; ++i) make("other" + std::to_string(i));
  const bool renames = GENERATE(false, true);
  Status done;
  store.behind_it = [&] {
    done = renames ? fs->rename(kRootInode, "first", kRootInode, "other1", RenameMode::replace, kRoot)
                   : fs->fsync(first);
  };
  CHECK_FALSE(fs->sync());
  CHECK(store.failed);
  CHECK(store.opened > 0);
  CHECK_FALSE(store.behind_it);
  CHECK_FALSE(done);
}

TEST_CASE("behind a sync that failed nothing is written, in no file's place") {
  FaultyStore medium;
  StoreFormat format;
  format.inline_max = 64;
  format.composite_file_max = 4096;
  REQUIRE(FileSystem::format(medium, repeatable(format), SystemClock()));
  FileSystemOptions options = quiet();
  options.access_times = AccessTimes::relative;
  const auto fs = std::move(*FileSystem::open(medium, options));
  const std::string content(2u << 20, 'c');
  const auto large = fs->mknod(kRootInode, "large", S_IFREG | 0644, 0, kRoot);
  REQUIRE(large);
  REQUIRE(fs->write(large->ino, 0, as_bytes(content), kRoot));
  constexpr int kFiles = 50;
  for (int i = 0; i < kFiles; ++i) {
    const auto small = fs->mknod(kRootInode, "f" + std::to_string(i), S_IFREG | 0644, 0, kRoot);
    REQUIRE(small);
    REQUIRE(fs->write(small->ino, 0, as_bytes(std::string(40, 'f')), kRoot));
    fs->forget(small->ino, 1);
  }
  REQUIRE(fs->sync());
  REQUIRE(fs->write(large->ino, 0, as_bytes(std::string("c")), kRoot));  // its times are settled now
  while (!fs->table().failed()) {
    AttributeChange change;
    change.mode = 0600;
    (void)fs->setattr(large->ino, change, kRoot);
    medium.fail_operation(1, EIO, FaultyStore::Persistence::once);
    (void)fs->sync();
    medium.fail_operation(0, 0, FaultyStore::Persistence::once);
  }
  const auto written = fs->write(large->ino, 5, as_bytes(std::string("X")), kRoot);
  REQUIRE_FALSE(written);
  CHECK(written.error().errno_value == EROFS);
  const auto punched = fs->allocate(large->ino, 4096, 8192, AllocateMode::punch_hole, true, kRoot);
  REQUIRE_FALSE(punched);
  CHECK(punched.error().errno_value == EROFS);
  std::string bytes(content.size(), '\0');
  REQUIRE(fs->read(large->ino, 0, as_writable_bytes(bytes)));
  CHECK((bytes == content));

  const std::size_t before = fs->known_inodes();
  for (int i = 0; i < kFiles; ++i) {
    const auto small = fs->lookup(kRootInode, "f" + std::to_string(i));
    REQUIRE(small);
    fs->accessed(small->ino);
    fs->forget(small->ino, 1);
  }
  CHECK(fs->known_inodes() < before + kFiles / 2);
}

}  // namespace cffs::test
