// Calls of the library that random sequences do not make, one by one.
#include <catch2/catch.hpp>
#include <thread>

#include "core/fs/acl.h"
#include "core/inspect/consistency.h"
#include "core/object/memory_store.h"
#include "core/reorganise/reorganiser.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"

namespace cffs::test {
namespace {

class CallsClock final : public Clock {
 public:
  std::int64_t now_ns() const override { return ns; }
  std::int64_t steady_ms() const override { return ns / 1'000'000; }
  std::int64_t ns = 1'000'000'000'000;
};

struct Fixture {
  explicit Fixture(AccessTimes access_times = AccessTimes::never) {
    StoreFormat format;
    format.inline_max = 64;
    format.composite_file_max = 4096;
    format.composite_max = 16384;
    options.background = false;
    options.access_times = access_times;
    options.clock = clock;
    REQUIRE(FileSystem::format(store, repeatable(format), *clock));
    open();
  }
  void open() {
    auto opened = FileSystem::open(store, options);
    REQUIRE(opened);
    fs = std::move(*opened);
  }
  Attributes make(const std::string& name, const std::string& bytes = {}, InodeId in = kRootInode) {
    const auto made = fs->mknod(in, name, S_IFREG | 0644, 0, kRoot);
    REQUIRE(made);
    REQUIRE(fs->write(made->ino, 0, as_bytes(bytes), kRoot));
    return *made;
  }
  std::string content(InodeId ino) {
    std::string bytes(fs->getattr(ino)->size, '\0');
    const auto n = fs->read(ino, 0, as_writable_bytes(bytes));
    REQUIRE(n);
    return bytes.substr(0, *n);
  }
  // What a dead daemon leaves: the same objects, and a lock that went with it.
  void leave(MemoryStore& left) {
    const auto names = store.list("");
    for (const std::string& name : *names) {
      const auto from = *store.open(name);
      std::string bytes(from->info()->size, '\0');
      (void)from->read_at(0, as_writable_bytes(bytes));
      REQUIRE((*left.create(name, ObjectStore::Create::truncate))->write_at(0, as_bytes(bytes)));
    }
  }
  void sound() { REQUIRE(*find_inconsistencies(*fs) == std::vector<std::string>{}); }

  std::shared_ptr<CallsClock> clock = std::make_shared<CallsClock>();
  MemoryStore store;
  FileSystemOptions options;
  std::unique_ptr<FileSystem> fs;
};

}  // namespace

TEST_CASE("an unnamed file lives while it is referenced, or gets a name") {
  for (const std::size_t size : {0u, 10u, 500u, 3000u, 100000u}) {
    Fixture f;
    const std::string bytes(size, 'u');
    const auto lost = f.fs->make_unnamed(kRootInode, 0600, kRoot);
    REQUIRE(lost);
    REQUIRE(lost->nlink == 0);
    REQUIRE(f.fs->write(lost->ino, 0, as_bytes(bytes), kRoot));
    f.fs->forget(lost->ino, 1);
    REQUIRE(f.fs->getattr(lost->ino).error().errno_value == ESTALE);

    const auto kept = f.fs->make_unnamed(kRootInode, 0600, kRoot);
    REQUIRE(f.fs->write(kept->ino, 0, as_bytes(bytes), kRoot));
    const auto named = f.fs->link(kept->ino, kRootInode, "kept");
    REQUIRE(named);
    REQUIRE(named->nlink == 1);
    REQUIRE(f.fs->link(kept->ino, kRootInode, "kept").error().errno_value == EEXIST);
    f.fs->forget(kept->ino, 2);
    REQUIRE(f.fs->sync());
    f.sound();
    REQUIRE(f.fs->close());
    f.open();
    REQUIRE(f.content(f.fs->lookup(kRootInode, "kept")->ino) == bytes);
    // A name that went does not come back.
    const auto again = f.fs->lookup(kRootInode, "kept");
    REQUIRE(f.fs->unlink(kRootInode, "kept"));
    REQUIRE(f.fs->link(again->ino, kRootInode, "x").error().errno_value == ENOENT);
    f.fs->forget(again->ino, 2);
    REQUIRE(f.fs->sync());
    f.sound();
  }
}

TEST_CASE("a forgotten file is found by its number") {
  Fixture f;
  const auto d = f.fs->mkdir(kRootInode, "d", 0755, kRoot);
  const auto e = f.fs->mkdir(d->ino, "e", 0755, kRoot);
  const Attributes file = f.make("file", "text", e->ino);
  const auto second = f.fs->link(file.ino, kRootInode, "second");
  const auto drop = [&] {
    f.fs->forget(file.ino, 2);
    f.fs->forget(e->ino, 1);
    f.fs->forget(d->ino, 1);
    REQUIRE(f.fs->getattr(file.ino).error().errno_value == ESTALE);
    REQUIRE(f.fs->getattr(e->ino).error().errno_value == ESTALE);
  };
  drop();
  REQUIRE(f.fs->lookup(file.ino, ".")->nlink == 2);
  REQUIRE(f.content(file.ino) == "text");
  REQUIRE(f.fs->lookup(e->ino, "..")->ino == d->ino);
  f.fs->forget(d->ino, 1);
  f.fs->forget(file.ino, 1);
  REQUIRE(f.fs->getattr(d->ino).error().errno_value == ESTALE);
  // Renamed and with one name less since the last scan.
  REQUIRE(f.fs->rename(kRootInode, "d", kRootInode, "D", RenameMode::replace, kRoot));
  REQUIRE(f.fs->unlink(kRootInode, "second"));
  REQUIRE(f.fs->lookup(file.ino, ".")->nlink == 1);
  f.fs->forget(file.ino, 1);
  const auto again = f.fs->lookup(e->ino, ".");
  REQUIRE(f.fs->unlink(again->ino, "file"));
  f.fs->forget(again->ino, 1);
  REQUIRE(f.fs->lookup(file.ino, ".").error().errno_value == ESTALE);
  REQUIRE(f.fs->lookup(InodeId{123456}, ".").error().errno_value == ESTALE);
  // One that was made after the last scan.
  const Attributes late = f.make("late", "x");
  f.fs->forget(late.ino, 1);
  REQUIRE(f.fs->lookup(late.ino, ".")->size == 1);
  f.sound();
}

TEST_CASE("the count of files is exact, also where nobody closed the store") {
  Fixture f;
  REQUIRE(f.fs->file_count() == 1);
  const Attributes a = f.make("a", "x");
  (void)f.fs->mkdir(kRootInode, "d", 0755, kRoot);
  (void)f.fs->symlink(kRootInode, "s", "a", kRoot);
  (void)f.fs->link(a.ino, kRootInode, "b");
  REQUIRE(f.fs->file_count() == 4);
  REQUIRE(f.fs->unlink(kRootInode, "a"));
  REQUIRE(f.fs->file_count() == 4);
  REQUIRE(f.fs->rename(kRootInode, "b", kRootInode, "s", RenameMode::replace, kRoot));
  REQUIRE(f.fs->file_count() == 3);
  REQUIRE(f.fs->rename(kRootInode, "s", kRootInode, "t", RenameMode::whiteout, kRoot));
  REQUIRE(f.fs->file_count() == 4);
  REQUIRE(S_ISCHR(f.fs->lookup(kRootInode, "s")->mode));
  f.sound();
  REQUIRE(f.fs->close());
  f.open();
  REQUIRE(f.fs->file_count() == 4);
  REQUIRE(f.fs->rmdir(kRootInode, "d"));
  REQUIRE(f.fs->sync());

  MemoryStore left;
  f.leave(left);
  FileSystemOptions options = f.options;
  auto opened = FileSystem::open(left, options);
  REQUIRE(opened);
  REQUIRE(!(*opened)->file_count());  // nobody counts in a test without background work
  REQUIRE((*opened)->close());
  options.background = true;
  opened = FileSystem::open(left, options);
  REQUIRE(opened);
  REQUIRE((*opened)->mknod(kRootInode, "while counting", S_IFREG | 0600, 0, kRoot));
  while (!(*opened)->file_count()) std::this_thread::yield();
  REQUIRE((*opened)->file_count() == 4);
  REQUIRE((*opened)->close());
}

TEST_CASE("access times move as mount(8) says") {
  const auto at = [](Fixture& f, InodeId ino) { return f.fs->getattr(ino)->atime_ns; };
  const std::int64_t second = 1'000'000'000;
  {
    Fixture f(AccessTimes::never);
    const Attributes a = f.make("a", "x");
    f.clock->ns += second;
    f.fs->accessed(a.ino);
    REQUIRE(at(f, a.ino) == a.atime_ns);
  }
  {
    Fixture f(AccessTimes::relative);
    const Attributes a = f.make("a", "x");
    f.clock->ns += second;
    f.fs->accessed(a.ino);
    REQUIRE(at(f, a.ino) == f.clock->ns);
    const std::int64_t first = f.clock->ns;
    f.clock->ns += second;
    f.fs->accessed(a.ino);
    REQUIRE(at(f, a.ino) == first);
    f.clock->ns += 86'400 * second;
    f.fs->accessed(a.ino);
    REQUIRE(at(f, a.ino) == f.clock->ns);
    // It is in the row after the next commit, and the change time did not move.
    REQUIRE(f.fs->close());
    f.open();
    const auto found = f.fs->lookup(kRootInode, "a");
    REQUIRE(found->atime_ns == f.clock->ns);
    REQUIRE(found->ctime_ns < f.clock->ns);
  }
  {
    Fixture f(AccessTimes::strict);
    f.options.directory_access_times = false;
    REQUIRE(f.fs->close());
    f.open();
    const Attributes a = f.make("a", "x");
    for (int i = 0; i < 3; ++i) {
      f.clock->ns += second;
      f.fs->accessed(a.ino);
      REQUIRE(at(f, a.ino) == f.clock->ns);
    }
    f.fs->accessed(kRootInode);
    REQUIRE(at(f, kRootInode) < f.clock->ns);
  }
}

TEST_CASE("holes are where zeros are, in every home") {
  Fixture f;
  const std::string block(4096, 'd');
  const auto made = f.fs->mknod(kRootInode, "f", S_IFREG | 0600, 0, kRoot);
  REQUIRE(f.fs->write(made->ino, 3000, as_bytes(std::string("x")), kRoot));
  REQUIRE(*f.fs->next_data(made->ino, 0) == 0);
  REQUIRE(*f.fs->next_hole(made->ino, 0) == 3001);
  const auto sparse = f.fs->mknod(kRootInode, "g", S_IFREG | 0600, 0, kRoot);
  AttributeChange size;
  size.size = 600;
  REQUIRE(f.fs->setattr(sparse->ino, size, kRoot));
  for (int i = 0; i < 2; ++i) {
    REQUIRE(*f.fs->next_data(sparse->ino, 0) == 600);
    REQUIRE(*f.fs->next_hole(sparse->ino, 5) == 5);
    REQUIRE(f.fs->next_hole(sparse->ino, 600).error().errno_value == ENXIO);
    REQUIRE(Reorganiser(*f.fs).consolidate_now());
  }
}

TEST_CASE("set-id bits and capabilities go with the content") {
  Fixture f;
  const Caller stranger = Caller::unprivileged(1000, 1000);
  const Caller member = Caller::unprivileged(1000, 1000, [](gid_t gid) { return gid == 0; });
  const auto mode_after = [&](mode_t mode, const Caller& caller) {
    const Attributes made = f.make("s", "x");
    AttributeChange change;
    change.mode = mode;
    REQUIRE(f.fs->setattr(made.ino, change, kRoot));
    REQUIRE(f.fs->setxattr(made.ino, "security.capability", "c", XattrMode::any, kRoot));
    REQUIRE(f.fs->allocate(made.ino, 0, 10, AllocateMode::zero_range, true, caller));
    REQUIRE(!f.fs->getxattr(made.ino, "security.capability"));
    const mode_t left = f.fs->getattr(made.ino)->mode & 07777;
    REQUIRE(f.fs->unlink(kRootInode, "s"));
    f.fs->forget(made.ino, 1);
    return left;
  };
  REQUIRE(mode_after(06755, kRoot) == 06755);
  REQUIRE(mode_after(06755, stranger) == 0755);
  REQUIRE(mode_after(06745, stranger) == 0745);
  REQUIRE(mode_after(06745, member) == 02745);
  REQUIRE(mode_after(06755, member) == 0755);
}

// The kernel takes set-user-ID away by a mode of its own, and leaves set-group-ID without group execute in it for the file
// system to judge: with a truncation in one request, before a write or an fallocate in another.
TEST_CASE("set-group-ID is not given back by the mode that the kernel sends with a change") {
  Fixture f;
  const Caller stranger = Caller::unprivileged(1000, 1000);
  const Caller member = Caller::unprivileged(1000, 1000, [](gid_t gid) { return gid == 0; });
  struct {
    const Caller& caller;
    mode_t left;
  } const cases[] = {{stranger, 0666}, {member, 02666}, {kRoot, 02666}};
  for (const auto& [caller, left] : cases) {
    for (const std::size_t size : {std::size_t{1}, std::size_t{100'000}}) {
      const Attributes made = f.make("s", std::string(size, 'x'));
      AttributeChange wide;
      wide.mode = 06666;
      const auto mode_now = [&] { return f.fs->getattr(made.ino)->mode & 07777; };
      const auto again = [&] { REQUIRE(f.fs->setattr(made.ino, wide, kRoot)); };
      AttributeChange sent;
      sent.mode = 02666;
      again();
      REQUIRE((f.fs->setattr(made.ino, sent, caller)->mode & 07777) == left);
      REQUIRE(mode_now() == left);
      REQUIRE(f.fs->write(made.ino, 0, as_bytes(std::string("y")), caller));
      REQUIRE(mode_now() == left);
      again();
      REQUIRE(f.fs->setattr(made.ino, sent, caller));
      REQUIRE(f.fs->allocate(made.ino, 0, 10, AllocateMode::zero_range, true, caller));
      REQUIRE(mode_now() == left);
      again();
      sent.size = size / 2;
      REQUIRE((f.fs->setattr(made.ino, sent, caller)->mode & 07777) == left);
      REQUIRE(mode_now() == left);
      REQUIRE(f.fs->unlink(kRootInode, "s"));
      f.fs->forget(made.ino, 1);
    }
  }
}

TEST_CASE("rights that a write took away do not come back when the daemon is killed") {
  Fixture f;
  const Attributes made = f.make("large", std::string(10'000, 'x'));
  AttributeChange change;
  change.mode = 06755;
  REQUIRE(f.fs->setattr(made.ino, change, kRoot));
  REQUIRE(f.fs->setxattr(made.ino, "security.capability", "c", XattrMode::any, kRoot));
  // Within a second of the last change: the times alone would wait for the commit.
  REQUIRE(f.fs->write(made.ino, 0, as_bytes("y"), Caller::unprivileged(1000, 1000)));
  REQUIRE(f.fs->getattr(made.ino)->mode == (S_IFREG | 0755));
  MemoryStore left;
  f.leave(left);
  const auto opened = FileSystem::open(left, f.options);
  REQUIRE(opened);
  REQUIRE((*opened)->lookup(kRootInode, "large")->mode == (S_IFREG | 0755));
  REQUIRE(!(*opened)->getxattr(made.ino, "security.capability"));
}

TEST_CASE("a copy between overlapping places of one file is refused") {
  Fixture f;
  for (const std::size_t size : {std::size_t{50}, std::size_t{3000}, std::size_t{3'000'000}}) {
    std::string wanted;
    for (std::size_t i = 0; i < size; ++i) wanted += static_cast<char>(i * 7 % 251);
    const InodeId ino = f.make("of " + std::to_string(size), wanted).ino;
    const auto copy = [&](std::uint64_t from, std::uint64_t to, std::uint64_t n) {
      const auto copied = f.fs->copy_range(ino, from, ino, to, n, kRoot);
      return copied ? static_cast<std::int64_t>(*copied) : -copied.error().errno_value;
    };
    CHECK(copy(0, 10, 11) == -EINVAL);
    CHECK(copy(10, 0, 11) == -EINVAL);
    CHECK(copy(5, 5, 1) == -EINVAL);
    CHECK(copy(0, size - 1, ~std::uint64_t{0}) == -EINVAL);
    CHECK(copy(0, 2'000'000, 2'000'001) == (size < 2'000'001 ? static_cast<std::int64_t>(size) : -EINVAL));
    AttributeChange change;
    change.size = size;
    REQUIRE(f.fs->setattr(ino, change, kRoot));
    CHECK(copy(size, 0, 10) == 0);
    CHECK((f.content(ino) == wanted));
    CHECK(copy(0, 10, 10) == 10);
    wanted.replace(10, 10, wanted.substr(0, 10));
    CHECK((f.content(ino) == wanted));
  }
}

TEST_CASE("set-group-ID of a new file is for members of its directory's group") {
  Fixture f;
  const InodeId directory = f.fs->mkdir(kRootInode, "d", 0777, Caller::privileged(0, 50))->ino;
  AttributeChange change;
  change.mode = 02777;
  REQUIRE(f.fs->setattr(directory, change, kRoot));
  const auto caller = [](gid_t member_of) {
    return Caller::unprivileged(1000, 1000, [member_of](gid_t group) { return group == member_of; });
  };
  int n = 0;
  const auto made = [&](mode_t mode, const Caller& by) {
    const auto unnamed = f.fs->make_unnamed(directory, mode, by);
    const auto named = f.fs->mknod(directory, std::to_string(++n), S_IFREG | mode, 0, by);
    REQUIRE((unnamed && named && unnamed->mode == named->mode && unnamed->gid == 50));
    return named->mode & 07777;
  };
  CHECK(made(02755, caller(50)) == 02755);
  CHECK(made(02755, caller(51)) == 0755);
  CHECK(made(02755, kRoot) == 02755);
  CHECK(made(02744, caller(51)) == 02744);
  CHECK(made(06711, Caller::unprivileged(1000, 1000)) == 04711);
}

}  // namespace cffs::test
