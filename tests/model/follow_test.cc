// A file system that follows another's store, against the reference: whatever its writer does, it shows the last checkpoint whole, and
// open files keep what they had.
#include <catch2/catch.hpp>

#include "core/follow/followed_file_system.h"
#include "core/inspect/consistency.h"
#include "core/object/memory_store.h"
#include "tests/manual_clock.h"
#include "tests/model/library_surface.h"
#include "tests/model/random_operations.h"
#include "tests/passing_store.h"
#include "tests/test_options.h"
#include "tests/test_seeds.h"

namespace cffs::test {
namespace {

constexpr std::int64_t kKeepMs = 10'000;

StoreFormat tiny_homes() {
  StoreFormat format;
  format.inline_max = 64;
  format.composite_file_max = 4096;
  format.composite_max = 16384;
  return repeatable(format);
}

FileSystemOptions options_at(const std::shared_ptr<ManualClock>& clock) {
  FileSystemOptions options;
  options.background = false;
  options.clock = clock;
  options.keep_ms = kKeepMs;
  options.write_buffer_bytes = 64u << 10;  // the table begins logs, and lets go of files, all the time
  return options;
}

// The writer's operations; what it shows is what who follows it sees after the next checkpoint.
class FollowedSurface final : public Surface {
 public:
  FollowedSurface(MemoryStore& store, const std::shared_ptr<ManualClock>& clock, std::uint64_t seed)
      : clock_(clock), random_(seed) {
    const StoreFormat format = tiny_homes();
    REQUIRE(FileSystem::format(store, format, *clock));
    followed_ = *FollowedFileSystem::open(store, options_at(clock), {});  // nobody writes yet
    writer_ = std::make_unique<LibrarySurface>(store, options_at(clock), nullptr);
    last_ = tree_of(*followed_);
  }
  ~FollowedSurface() override { let_go(true); }

  FollowedFileSystem& followed() { return *followed_; }
  FileSystem& writer() { return writer_->fs(); }

  int create(const std::string& p, mode_t m) override { return look(writer_->create(p, m)); }
  int mkdir(const std::string& p, mode_t m) override { return look(writer_->mkdir(p, m)); }
  int unlink(const std::string& p) override { return look(writer_->unlink(p)); }
  int rmdir(const std::string& p) override { return look(writer_->rmdir(p)); }
  int symlink(const std::string& t, const std::string& p) override { return look(writer_->symlink(t, p)); }
  int link(const std::string& f, const std::string& t) override { return look(writer_->link(f, t)); }
  int rename(const std::string& f, const std::string& t, unsigned flags) override {
    return look(writer_->rename(f, t, flags));
  }
  int write(const std::string& p, std::uint64_t at, const std::string& data) override {
    return look(writer_->write(p, at, data));
  }
  int truncate(const std::string& p, std::uint64_t size) override { return look(writer_->truncate(p, size)); }
  int allocate(const std::string& p, int flags, std::uint64_t at, std::uint64_t n) override {
    return look(writer_->allocate(p, flags, at, n));
  }
  int copy(const std::string& f, std::uint64_t fo, const std::string& t, std::uint64_t to,
           std::uint64_t n) override {
    return look(writer_->copy(f, fo, t, to, n));
  }
  int make_unnamed(const std::string& p, mode_t m, const std::string& data) override {
    return look(writer_->make_unnamed(p, m, data));
  }
  int chmod(const std::string& p, mode_t m) override { return look(writer_->chmod(p, m)); }
  int set_mtime(const std::string& p, std::int64_t ns) override { return look(writer_->set_mtime(p, ns)); }
  int setxattr(const std::string& p, const std::string& n, const std::string& v) override {
    return look(writer_->setxattr(p, n, v));
  }
  int removexattr(const std::string& p, const std::string& n) override {
    return look(writer_->removexattr(p, n));
  }
  int read(const std::string& p, std::uint64_t at, std::size_t n, std::string& out) override {
    return writer_->read(p, at, n, out);
  }
  int hold(const std::string& p, int& handle) override { return writer_->hold(p, handle); }
  int write_held(int h, std::uint64_t at, const std::string& data) override {
    return look(writer_->write_held(h, at, data));
  }
  int truncate_held(int h, std::uint64_t size) override { return look(writer_->truncate_held(h, size)); }
  int read_held(int h, std::string& all) override { return writer_->read_held(h, all); }
  void drop(int h) override { writer_->drop(h); }
  void reorganise() override { writer_->reorganise(); }
  void reopen() override {
    writer_->reopen();
    REQUIRE(tree_of(*followed_) == last_);
  }
  Tree tree() override {
    clock_->pass_ms(1000);
    const Status synced = writer_->fs().sync();
    REQUIRE(synced);
    const auto moved = followed_->move_on();
    INFO((moved ? std::string() : moved.error().message()));
    REQUIRE(moved);
    look_at_open_files();
    last_ = tree_of(*followed_);
    open_some();
    return last_;
  }

 private:
  struct Open {
    InodeId node;
    std::string content;
    std::int64_t until_ms;
  };
  // Nothing of what the writer did is to be seen before its next checkpoint.
  int look(int result) {
    if (++operations_ % 25 == 0) REQUIRE(tree_of(*followed_) == last_);
    if (operations_ % 10 == 0) look_at_open_files();
    return result;
  }
  void look_at_open_files() {
    let_go(false);
    for (const Open& open : open_) {
      std::string content(open.content.size() + 1, '\0');
      const auto n = followed_->read(open.node, 0, as_writable_bytes(content));
      INFO((n ? std::string() : n.error().message()));
      REQUIRE(n);
      content.resize(*n);
      REQUIRE(content == open.content);
    }
  }
  void let_go(bool all) {
    std::erase_if(open_, [&](const Open& open) {
      if (!all && clock_->steady_ms() < open.until_ms) return false;
      followed_->closed(open.node);
      followed_->forget(open.node, 1);
      return true;
    });
  }
  void open_some() {
    for (const auto& [path, visible] : last_) {
      if (!S_ISREG(visible.mode) || random_() % 4 != 0 || open_.size() > 8) continue;
      InodeId at = kRootInode;
      std::vector<InodeId> way;
      for (std::size_t from = 0; from <= path.size();) {
        const std::size_t end = std::min(path.find('/', from), path.size());
        const auto found = followed_->lookup(at, std::string_view(path).substr(from, end - from));
        REQUIRE(found);
        way.push_back(at = found->ino);
        from = end + 1;
      }
      REQUIRE(followed_->opened(at));
      open_.push_back({at, visible.content, clock_->steady_ms() + kKeepMs});
      way.pop_back();
      for (const InodeId directory : way) followed_->forget(directory, 1);
    }
  }

  const std::shared_ptr<ManualClock> clock_;
  std::mt19937_64 random_;
  std::unique_ptr<FollowedFileSystem> followed_;
  std::unique_ptr<LibrarySurface> writer_;
  Tree last_;
  std::vector<Open> open_;
  int operations_ = 0;
};

}  // namespace

TEST_CASE("follow: random operations of the writer, seen checkpoint by checkpoint") {
  for (const std::uint64_t seed : seeds(6)) {
    MemoryStore store;
    const auto clock = std::make_shared<ManualClock>();
    FollowedSurface surface(store, clock, seed);
    SequenceOptions sequence;
    sequence.seed = seed;
    sequence.operations = 1500;
    sequence.compare_every = 60;
    sequence.reopen_every = 500;
    INFO("seed " << seed);
    REQUIRE(run_random_operations(surface, sequence) == "");
    const auto problems = find_inconsistencies(surface.writer());
    REQUIRE(problems);
    REQUIRE(*problems == std::vector<std::string>{});
  }
}

TEST_CASE("follow: what was kept goes when its time is over, and at once where nobody follows") {
  MemoryStore store;
  const auto clock = std::make_shared<ManualClock>();
  REQUIRE(FileSystem::format(store, tiny_homes(), *clock));
  auto followed = *FollowedFileSystem::open(store, options_at(clock), {});
  LibrarySurface writer(store, options_at(clock), nullptr);
  REQUIRE(writer.create("large", 0644) == 0);
  REQUIRE(writer.write("large", 0, std::string(200'000, 'a')) == 0);
  REQUIRE(writer.create("removed", 0644) == 0);
  REQUIRE(writer.write("removed", 0, std::string(100'000, 'r')) == 0);
  REQUIRE(writer.fs().sync());
  REQUIRE(*followed->move_on());
  REQUIRE(writer.write("large", 70'000, "bbb") == 0);
  REQUIRE(writer.unlink("removed") == 0);
  REQUIRE(store.list("kept")->size() == 1);
  REQUIRE(tree_of(*followed).at("large").content == std::string(200'000, 'a'));
  REQUIRE(store.list("blobs")->size() == 2);
  for (int i = 0; i < 3; ++i) {
    REQUIRE(writer.fs().sync());
    REQUIRE(store.list("blobs")->size() == 2);
  }
  clock->pass_ms(kKeepMs + 1);
  for (int i = 0; i < 3; ++i) REQUIRE(writer.fs().sync());
  REQUIRE(store.list("kept")->empty());
  REQUIRE(store.list("blobs")->size() == 1);
  // Not moved on since: what it needs may be gone, and it says so.
  const auto node = followed->lookup(kRootInode, "large");
  REQUIRE(node);
  std::string bytes(10, '\0');
  REQUIRE(followed->read(node->ino, 0, as_writable_bytes(bytes)).error().errno_value == ESTALE);
  // Also of where its data lies: the object has that of a later one.
  REQUIRE(followed->next_hole(node->ino, 0).error().errno_value == ESTALE);
  REQUIRE(followed->next_data(node->ino, 0).error().errno_value == ESTALE);
  REQUIRE(*followed->move_on());
  REQUIRE(tree_of(*followed).at("large").content.substr(70'000, 3) == "bbb");

  REQUIRE(writer.write("large", 0, "c") == 0);
  REQUIRE(store.list("kept")->size() == 1);
  followed.reset();
  REQUIRE(writer.fs().sync());
  REQUIRE(store.list("kept")->empty());
  REQUIRE(writer.write("large", 1, "d") == 0);
  REQUIRE(store.list("kept")->empty());
}

TEST_CASE("follow: who is known by an older number finds the file anew") {
  MemoryStore store;
  const auto clock = std::make_shared<ManualClock>();
  REQUIRE(FileSystem::format(store, tiny_homes(), *clock));
  const auto followed = *FollowedFileSystem::open(store, options_at(clock), {});
  LibrarySurface writer(store, options_at(clock), nullptr);
  REQUIRE(writer.create("f", 0644) == 0);
  REQUIRE(writer.write("f", 0, "one") == 0);
  REQUIRE(writer.fs().sync());
  REQUIRE(*followed->move_on());
  const auto old = followed->lookup(kRootInode, "f");
  REQUIRE(old);
  REQUIRE(writer.write("f", 0, "two") == 0);
  REQUIRE(writer.rename("f", "g", 0) == 0);
  REQUIRE(writer.fs().sync());
  REQUIRE(*followed->move_on());
  REQUIRE(followed->opened(old->ino).error().errno_value == ESTALE);
  REQUIRE(followed->lookup(kRootInode, "f").error().errno_value == ENOENT);
  const auto now = followed->lookup(kRootInode, "g");
  REQUIRE(now);
  REQUIRE(now->ino != old->ino);
  REQUIRE(followed->getattr(old->ino)->size == 3);
  REQUIRE(followed->write(now->ino, 0, {}, Caller::privileged()).error().errno_value == EROFS);
}

// Locks are taken on a store of its own: as where a file system that is shared over a network keeps them to each host.
class ElsewhereLocked final : public PassingStore {
 public:
  ElsewhereLocked(ObjectStore& below, ObjectStore& locks) : PassingStore(below), locks_(locks) {}
  Result<std::unique_ptr<StoreLock>> lock(std::string_view user) override { return locks_.lock(user); }
  Result<std::unique_ptr<StoreLock>> lock_for_reading() override { return locks_.lock_for_reading(); }
  Result<std::unique_ptr<StoreLock>> follow() override { return locks_.follow(); }

 private:
  ObjectStore& locks_;
};

TEST_CASE("follow: a writer that does not see who follows is told of") {
  MemoryStore store, locks;
  ElsewhereLocked elsewhere(store, locks);
  const auto clock = std::make_shared<ManualClock>();
  REQUIRE(FileSystem::format(store, tiny_homes(), *clock));
  const auto followed = *FollowedFileSystem::open(elsewhere, options_at(clock), {});
  const auto looks = [&](int times) {
    for (int i = 0; i < times; ++i) {
      clock->pass_ms(2'000);
      if (const auto moved = followed->move_on(); !moved) return moved.error().message();
    }
    return std::string();
  };
  auto writer = std::make_unique<LibrarySurface>(store, options_at(clock), nullptr);
  REQUIRE(writer->create("f", 0644) == 0);
  REQUIRE(writer->fs().sync());
  REQUIRE(looks(10).empty());  // it may have been the last one's close
  REQUIRE(writer->write("f", 0, "two") == 0);
  REQUIRE(writer->fs().sync());
  REQUIRE(looks(1).find("nothing is kept for who follows it") != std::string::npos);
  REQUIRE(!looks(1).empty());  // and it stays so
  REQUIRE(followed->lookup(kRootInode, "f").error().errno_value == ENOENT);

  // Where locks are seen nothing is said, however long nobody writes.
  writer.reset();
  const auto seen = *FollowedFileSystem::open(store, options_at(clock), {});
  writer = std::make_unique<LibrarySurface>(store, options_at(clock), nullptr);
  for (int i = 0; i < 12; ++i) {
    REQUIRE(writer->write("f", 0, std::to_string(i)) == 0);
    clock->pass_ms(2'000);
    REQUIRE(writer->fs().sync());
    REQUIRE(seen->move_on());
  }
  writer.reset();
  for (int i = 0; i < 12; ++i) {
    clock->pass_ms(2'000);
    REQUIRE(seen->move_on());
  }
}

}  // namespace cffs::test
