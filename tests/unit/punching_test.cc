// What of a composite nobody names any more becomes holes, and nothing else does.
#include "core/reorganise/punching.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "core/backup/backup.h"
#include "core/fs/moment.h"
#include "core/inspect/consistency.h"
#include "core/object/memory_store.h"
#include "core/object/posix_store.h"
#include "core/reorganise/cataloguing.h"
#include "core/reorganise/reorganiser.h"
#include "core/repair/salvage.h"
#include "core/table/table.h"
#include "tests/model/memory_place.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/manual_clock.h"
#include "tests/unit/object_bytes.h"
#include "tests/unit/temporary_directory.h"

namespace cffs::test {
namespace {

constexpr std::size_t kLength = 10'000;  // holds a whole block, wherever it begins
constexpr int kFiles = 10;

char letter(int i) { return static_cast<char>(200 + i); }  // in no name

const auto always = [] { return true; };

struct PunchedStore {
  PunchedStore() {
    options.clock = clock;
    REQUIRE(FileSystem::format(objects, repeatable(), SystemClock()));
    open();
    for (int i = 0; i < kFiles; ++i) {
      const auto made = fs->mknod(kRootInode, name(i), S_IFREG | 0644, 0, kRoot);
      REQUIRE(made);
      REQUIRE(fs->write(made->ino, 0, as_bytes(content(i)), kRoot));
      fs->forget(made->ino, 1);
    }
    REQUIRE(Reorganiser(*fs).consolidate_now());
    const auto names = objects.list("composites");
    REQUIRE(names->size() == 1);
    composite = names->front();
  }
  void open() {
    fs.reset();
    fs = std::move(*FileSystem::open(objects, options));
  }
  static std::string name(int i) { return "f" + std::to_string(i); }
  static std::string content(int i) { return std::string(kLength, letter(i)); }
  void unlink(int i) { REQUIRE(fs->unlink(kRootInode, name(i))); }
  std::uint64_t punch() {
    Punching punching(*fs);
    const auto freed = punching.find(always);
    REQUIRE(freed);
    const auto done = punching.run(Punching::ids_of(*freed));
    REQUIRE(done);
    return done->punched;
  }
  // How many bytes of this file are still in the composite.
  std::size_t left_of(int i) {
    const auto bytes = read_whole(**objects.open(composite));
    REQUIRE(bytes);
    return static_cast<std::size_t>(std::count(bytes->begin(), bytes->end(), letter(i)));
  }
  void expect_whole(int i) {
    INFO(name(i));
    const auto file = fs->lookup(kRootInode, name(i));
    REQUIRE(file);
    std::string bytes(file->size, '\0');
    REQUIRE(*fs->read(file->ino, 0, as_writable_bytes(bytes)) == kLength);
    REQUIRE(bytes == content(i));
    fs->forget(file->ino, 1);
  }

  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  FileSystemOptions options = quiet();
  MemoryStore objects;
  std::unique_ptr<FileSystem> fs;
  std::string composite;
};

struct NoKeeper final : BlobKeeper {
  void keep(InodeId, const std::shared_ptr<Object>&, std::uint64_t, std::uint64_t, std::uint64_t) override {}
};

}  // namespace

TEST_CASE("what is gone becomes holes, what is there stays") {
  PunchedStore s;
  REQUIRE(s.punch() == 0);
  s.unlink(2);
  s.unlink(3);
  const auto moved = s.fs->rename(kRootInode, s.name(5), kRootInode, "elsewhere", RenameMode::replace, kRoot);
  REQUIRE(moved);
  REQUIRE(s.fs->link(s.fs->lookup(kRootInode, s.name(6))->ino, kRootInode, "second"));
  REQUIRE(s.punch() >= 2 * Punching::kBlockBytes);
  for (const int i : {2, 3}) REQUIRE(s.left_of(i) < kLength - Punching::kBlockBytes + 16);
  for (const int i : {0, 1, 4, 5, 6, 7, 8, 9}) REQUIRE(s.left_of(i) >= kLength);
  REQUIRE(*find_inconsistencies(*s.fs) == std::vector<std::string>{});
  for (const int i : {0, 1, 4, 6, 7, 8, 9}) s.expect_whole(i);
  s.open();
  for (const int i : {0, 1, 4, 6, 7, 8, 9}) s.expect_whole(i);
  for (const int i : {0, 1, 4, 7, 8}) s.unlink(i);
  REQUIRE(Reorganiser(*s.fs).compact_now());
  REQUIRE(*find_inconsistencies(*s.fs) == std::vector<std::string>{});
  for (const int i : {6, 9}) s.expect_whole(i);
}

TEST_CASE("a file without a name that somebody reads is not punched until it is closed") {
  PunchedStore s;
  const auto file = s.fs->lookup(kRootInode, s.name(4));
  REQUIRE(file);
  s.unlink(4);
  s.unlink(7);
  REQUIRE(s.punch() > 0);
  REQUIRE(s.left_of(4) >= kLength);
  std::string bytes(kLength, '\0');
  REQUIRE(*s.fs->read(file->ino, 0, as_writable_bytes(bytes)) == kLength);
  REQUIRE(bytes == s.content(4));
  s.fs->forget(file->ino, 1);
  REQUIRE(s.punch() > 0);
  REQUIRE(s.left_of(4) < kLength);
}

TEST_CASE("what a moment could not remove goes with the next one") {
  PunchedStore s;
  NoKeeper keeper;
  REQUIRE(s.objects.create("held/blobs/00/99", ObjectStore::Create::keep));
  auto moment = s.fs->hold_moment(keeper);
  REQUIRE(moment);
  CHECK(s.objects.list("held")->empty());
  moment->reset();
}

TEST_CASE("while a moment is held nothing is punched") {
  PunchedStore s;
  NoKeeper keeper;
  auto moment = s.fs->hold_moment(keeper);
  REQUIRE(moment);
  s.unlink(4);
  REQUIRE(s.punch() == 0);
  REQUIRE(s.left_of(4) >= kLength);
  Punching punching(*s.fs);
  const auto done = punching.run(Punching::ids_of(*punching.find(always)));
  REQUIRE(done);
  CHECK(done->held);  // who asks for room does not ask on
  CHECK(done->read == 0);
  CHECK(done->later.size() == 1);
  moment->reset();
  REQUIRE(s.punch() > 0);
  REQUIRE(s.left_of(4) < kLength);
}

// Its records without a row get one with the next batch.
TEST_CASE("a composite whose members are being loaded is punched later") {
  PunchedStore s;
  s.unlink(4);
  const CompositeId id{std::stoull(s.composite.substr(s.composite.rfind('/') + 1))};
  {
    const auto being_named = s.fs->composites().being_named().begin(id);
    Punching punching(*s.fs);
    const auto done = punching.run(std::array{id});
    REQUIRE(done);
    CHECK(done->later == std::vector<CompositeId>{id});
    CHECK(s.left_of(4) >= kLength);
  }
  REQUIRE(s.punch() > 0);
}

TEST_CASE("a composite whose members do not add up is left alone") {
  PunchedStore s;
  s.unlink(4);
  // A row that says where one of them is goes, behind everybody's back.
  Key key{0, 0};
  REQUIRE(s.fs->table().scan_entries([&](Key at, const Row& row) {
    if (row.find(s.name(8)) != nullptr) key = at;
    return true;
  }));
  Batch batch;
  batch.erase(key, 0);
  REQUIRE(s.fs->table().write(batch));
  REQUIRE(s.punch() == 0);
  REQUIRE(s.left_of(4) >= kLength);
  REQUIRE(s.left_of(8) >= kLength);
}

TEST_CASE("where compaction has no room, and where the medium is nearly full, what is freed is punched") {
  PunchedStore s;
  SECTION("half of the composite is freed") {
    for (int i = 0; i < 6; ++i) s.unlink(i);
    s.objects.show_available(0);
    s.open();
    Reorganiser(*s.fs).compact_noted();
    REQUIRE(*s.objects.list("composites") == std::vector<std::string>{s.composite});
    REQUIRE(s.left_of(5) < kLength);
  }
  SECTION("less than half is") {
    s.unlink(3);
    Reorganiser reorganiser(*s.fs);
    reorganiser.punch_where_full();
    REQUIRE(s.left_of(3) >= kLength);
    s.objects.show_available(0);
    reorganiser.punch_where_full();
    REQUIRE(s.left_of(3) < kLength);
    s.unlink(4);
    reorganiser.punch_where_full();  // not at once again
    REQUIRE(s.left_of(4) >= kLength);
    s.clock->pass_ms(Reorganiser::kRetryMs);
    reorganiser.punch_where_full();
    REQUIRE(s.left_of(4) < kLength);
  }
}

TEST_CASE("a directory's composites give back what is punched, each block once") {
  TemporaryDirectory directory;
  const auto medium = std::move(*PosixStore::open_directory(directory.path));
  REQUIRE(FileSystem::format(*medium, repeatable(), SystemClock()));
  const auto fs = std::move(*FileSystem::open(*medium, quiet()));
  for (int i = 0; i < 50; ++i) {
    const auto made = fs->mknod(kRootInode, PunchedStore::name(i), S_IFREG | 0644, 0, kRoot);
    REQUIRE(made);
    REQUIRE(fs->write(made->ino, 0, as_bytes(std::string(kLength, 'x')), kRoot));
    fs->forget(made->ino, 1);
  }
  REQUIRE(Reorganiser(*fs).consolidate_now());
  const auto names = medium->list("composites");
  const auto allocated = [&] {
    std::uint64_t bytes = 0;
    for (const std::string& name : *names) bytes += (*medium->open(name))->info()->allocated;
    return bytes;
  };
  const std::uint64_t before = allocated();
  Punching punching(*fs);
  std::uint64_t punched = 0;
  for (int turn = 0; turn < 2; ++turn) {  // no two that lie side by side
    for (int i = turn * 2; i < 24; i += 4) REQUIRE(fs->unlink(kRootInode, PunchedStore::name(i)));
    const auto done = punching.run(Punching::ids_of(*punching.find(always)));
    REQUIRE(done);
    REQUIRE(done->later.empty());
    REQUIRE(done->punched >= 6 * Punching::kBlockBytes);
    punched += done->punched;
    REQUIRE(punching.find(always)->empty());
  }
  REQUIRE(allocated() <= before - punched + 4 * Punching::kBlockBytes);  // extents take room, too
  REQUIRE(!punching.useless());
  REQUIRE(Punching(*fs).run(Punching::ids_of(*Punching(*fs).find(always)))->punched ==
          0);  // whoever has not seen it finds holes
}

TEST_CASE("a backup and a salvage of a store with holes name no damage") {
  PunchedStore s;
  s.unlink(2);
  s.unlink(5);
  REQUIRE(s.punch() > 0);
  SECTION("backup") {
    MemoryPlace place;
    place.begin();
    const auto done = Backup(*s.fs, place, {}).run();
    REQUIRE(done);
    REQUIRE(done->damaged == 0);
    const auto copy = FileSystem::open(place.store(), quiet());
    REQUIRE(copy);
    REQUIRE(*find_inconsistencies(**copy) == std::vector<std::string>{});
  }
  SECTION("salvage") {
    s.clock->pass_ms(1000);
    REQUIRE(write_catalogue(*s.fs, always));
    REQUIRE(s.fs->close());
    s.fs.reset();
    lose_the_table(s.objects);
    MemoryStore fresh;
    REQUIRE(FileSystem::format(fresh, repeatable(), SystemClock()));
    const auto to = std::move(*FileSystem::open(fresh, quiet()));
    const auto report = Salvage(s.objects, *to, [](const std::string&) {}).run();
    REQUIRE(report);
    REQUIRE(report->lost == std::vector<std::string>{});
    for (int i = 0; i < kFiles; ++i)
      REQUIRE(to->lookup(kRootInode, s.name(i)).has_value() == (i != 2 && i != 5));
  }
}

}  // namespace cffs::test
