// What a mount remembers of accesses: a bounded ring, and a hint whose loss harms nothing else.
#include "core/fs/access_record.h"

#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "core/fs/file_system.h"
#include "core/object/memory_store.h"
#include "tests/passing_store.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"

namespace cffs::test {
namespace {

// Full, where it has room for everything but the record.
class NoRoomForRecord final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  Result<std::shared_ptr<Object>> create(std::string_view name, Create how) override {
    if (name.starts_with("accesses/")) return fail(ENOSPC, std::string(name));
    return below_.create(name, how);
  }
};

}  // namespace

TEST_CASE("the access record is a ring that survives damage") {
  MemoryStore store;
  const auto all = [&] {
    std::vector<AccessRecord::Access> found;
    REQUIRE(AccessRecord::visit(store, [&](const AccessRecord::Access& a) { found.push_back(a); }));
    return found;
  };
  {
    AccessRecord record(store, 8 * 4096);
    record.note({900'000, InodeId{5}, 1});
    record.note({900'001, InodeId{4}, 2});
    REQUIRE(record.flush());
    record.note({900'002, InodeId{9}, 1});
    REQUIRE(record.flush());
  }
  REQUIRE(all().size() == 3);
  REQUIRE(all()[1].file == InodeId{4});
  // A block torn by a power cut is passed over, with what follows it in that object.
  const auto object = *store.open("accesses/1");
  REQUIRE(object->truncate(object->info()->size - 1));
  REQUIRE(all().size() == 2);
  // A new mount starts its clock anew; its accesses still come later.
  AccessRecord record(store, 8 * 4096);
  record.note({3, InodeId{6}, 1});
  REQUIRE(record.flush());
  REQUIRE(all().back().time_ms > 900'001);
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < 500; ++i)
      record.note({round * 10 + i, InodeId{static_cast<std::uint64_t>(i * 7919)}, 1});
    REQUIRE(record.flush());
  }
  std::uint64_t bytes = 0;
  const auto names = store.list("accesses");
  for (const std::string& name : *names) bytes += (*store.open(name))->info()->size;
  REQUIRE(bytes <= 9 * 4096);
  REQUIRE(all().size() > 2000);
}

TEST_CASE("too many accesses at once: whole streams are kept or dropped") {
  MemoryStore store;
  AccessRecord record(store, 64 << 20);
  for (std::uint64_t i = 0; i < 300'000; ++i) record.note({0, InodeId{i % 100}, i / 100 % 300});
  REQUIRE(record.flush());
  std::map<std::uint64_t, std::size_t> streams;
  REQUIRE(AccessRecord::visit(store, [&](const AccessRecord::Access& a) { ++streams[a.stream]; }));
  REQUIRE(streams.size() > 50);
  REQUIRE(streams.size() < 250);
  for (const auto& [stream, n] : streams) REQUIRE(n == 1000);
}

TEST_CASE("accesses that come at once take no more than the ring") {
  MemoryStore store;
  constexpr std::uint64_t kRing = 64 << 10;
  AccessRecord record(store, kRing);
  for (std::uint64_t i = 0; i < 100'000; ++i)
    record.note({static_cast<std::int64_t>(i), InodeId{i * 7919}, 1});
  REQUIRE(record.flush());
  std::uint64_t bytes = 0;
  const auto names = store.list("accesses");
  for (const std::string& name : *names) {
    const std::uint64_t size = (*store.open(name))->info()->size;
    CHECK(size <= kRing / 8);
    bytes += size;
  }
  CHECK(bytes <= kRing);
  CHECK(bytes > kRing / 2);
  std::vector<InodeId> found;
  REQUIRE(AccessRecord::visit(store, [&](const AccessRecord::Access& a) { found.push_back(a.file); }));
  REQUIRE(found.size() > 5'000);
  // The last of them, in a row.
  for (std::size_t i = 0; i < found.size(); ++i)
    REQUIRE(found[i] == InodeId{(100'000 - found.size() + i) * 7919});
}

TEST_CASE("a mount whose accesses find no room is closed in order") {
  MemoryStore below;
  NoRoomForRecord store(below);
  REQUIRE(FileSystem::format(store, repeatable({}), SystemClock()));
  FileSystemOptions options = quiet();
  options.access_record_bytes = 1 << 20;
  std::string said;
  options.log = [&said](const std::string& line) { said += line; };
  {
    const auto fs = std::move(*FileSystem::open(store, options));
    const auto file = fs->mknod(kRootInode, "f", S_IFREG | 0644, 0, kRoot);
    REQUIRE(file);
    fs->note_access(file->ino, 1);
    const Status closed = fs->close();
    INFO((closed ? "" : closed.error().message()));
    CHECK(closed);
  }
  said.clear();
  const auto fs = std::move(*FileSystem::open(store, options));
  CHECK(said.empty());  // nothing about a recovery
  CHECK(fs->lookup(kRootInode, "f"));
}

}  // namespace cffs::test
