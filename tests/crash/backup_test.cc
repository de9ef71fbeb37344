// Backups and power cuts: of the place, when the backup has taken it, and of the store, at every operation while objects are held.
#include "core/backup/backup.h"

#include <catch2/catch.hpp>

#include "core/inspect/consistency.h"
#include "core/object/faulty_store.h"
#include "core/reorganise/reorganiser.h"
#include "tests/model/memory_place.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"

namespace cffs::test {
namespace {

using Contents = std::map<std::string, std::string>;

constexpr int kMembers = 12;
constexpr std::size_t kLarge = 200'000;

std::string content_of(const std::string& name, std::size_t bytes) {
  std::string content;
  while (content.size() < bytes) content += name + " ";
  content.resize(bytes);
  return content;
}

Result<InodeId> make(FileSystem& fs, const std::string& name, std::size_t bytes) {
  CFFS_TRY(const Attributes made, fs.mknod(kRootInode, name, S_IFREG | 0644, 0, kRoot));
  CFFS_TRY_VOID(fs.write(made.ino, 0, as_bytes(content_of(name, bytes)), kRoot));
  return made.ino;
}

std::unique_ptr<FileSystem> fill(ObjectStore& store) {
  StoreFormat format;
  format.inline_max = 512;
  format.composite_file_max = 8192;
  format.composite_max = 16384;
  REQUIRE(FileSystem::format(store, repeatable(format), SystemClock()));
  auto fs = std::move(*FileSystem::open(store, quiet()));
  for (int i = 0; i < kMembers; ++i) REQUIRE(make(*fs, "member" + std::to_string(i), 3000));
  REQUIRE(make(*fs, "stays", kLarge));
  REQUIRE(Reorganiser(*fs).consolidate_now());
  REQUIRE(make(*fs, "goes", kLarge));
  REQUIRE(fs->sync());
  return fs;
}

Contents contents(FileSystem& fs) {
  std::vector<std::pair<std::string, Attributes>> found;
  REQUIRE(fs.readdir(kRootInode, 2, true, [&](const DirectoryEntry& e) {
    found.emplace_back(e.name, e.attributes);
    return true;
  }));
  Contents all;
  for (const auto& [name, attributes] : found) {
    std::string bytes(attributes.size, '\0');
    REQUIRE(fs.read(attributes.ino, 0, as_writable_bytes(bytes)));
    all[name] = bytes;
    fs.forget(attributes.ino, 1);
  }
  return all;
}

Contents survivors(ObjectStore& store) {
  const auto fs = FileSystem::open(store, quiet());
  REQUIRE(fs);
  const auto problems = find_inconsistencies(**fs);
  REQUIRE(problems);
  CHECK(*problems == std::vector<std::string>{});
  CHECK(store.list("held")->empty());
  return contents(**fs);
}

// Half of the members go, and the composites that are wasteful then; a blob is overwritten, cut and removed.
Status use(FileSystem& fs) {
  CFFS_TRY(const Attributes blob, fs.lookup(kRootInode, "goes"));
  CFFS_TRY_VOID(fs.write(blob.ino, 100, as_bytes("changed"), kRoot));
  AttributeChange cut;
  cut.size = kLarge / 2;
  CFFS_TRY_VOID(fs.setattr(blob.ino, cut, kRoot));
  for (int i = 0; i < kMembers; i += 2) CFFS_TRY_VOID(fs.unlink(kRootInode, "member" + std::to_string(i)));
  CFFS_TRY_VOID(fs.sync());
  CFFS_TRY_VOID(Reorganiser(fs).compact_now());
  CFFS_TRY_VOID(fs.unlink(kRootInode, "goes"));
  fs.forget(blob.ino, 2);  // looked up, and made
  CFFS_TRY_VOID(fs.sync());
  CFFS_TRY_VOID(make(fs, "new", kLarge));
  return fs.sync();
}

}  // namespace

TEST_CASE("a backup that has taken its place is there after a power cut") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    MemoryStore store;
    const auto fs = fill(store);
    MemoryPlace place;
    auto medium = std::make_unique<FaultyStore>();
    FaultyStore& cut = *medium;
    place.begin(std::move(medium));
    REQUIRE(Backup(*fs, place, {}).run());
    const auto survivor = cut.power_cut(seed);
    CHECK(survivors(*survivor) == contents(*fs));
  }
}

TEST_CASE("the power is cut at any operation of a store whose backup is under way") {
  std::size_t reached = 0;
  for (std::uint64_t n = 1;; n += 3) {
    INFO("operation " << n);
    FaultyStore store;
    auto fs = fill(store);
    const Contents before = contents(*fs);
    MemoryPlace place;
    place.begin();
    bool ended = false, used = false;
    std::unique_ptr<MemoryStore> survivor;
    BackupOptions options;
    options.on_progress = [&](const BackupProgress& progress) {
      if (progress.at_ns == 0 || used) return;
      used = true;
      store.fail_operation(n, EIO, FaultyStore::Persistence::from_then_on);
      ended = use(*fs).has_value();
      // As it is now, or when all that was held is let go.
      if (n % 2 == 0) survivor = store.power_cut(n);
    };
    const auto done = Backup(*fs, place, options).run();
    if (n % 2 != 0) {
      // What is copied was there before: only reading could fail.
      REQUIRE(done);
      CHECK(survivors(place.store()) == before);
      survivor = store.power_cut(n);
    }
    REQUIRE(survivor);
    const Contents left = survivors(*survivor);
    for (const auto& [name, bytes] : before) {
      const bool touched = name == "goes" || (name.starts_with("member") && (name.back() - '0') % 2 == 0);
      if (touched) continue;
      INFO(name);
      REQUIRE(left.contains(name));
      CHECK(left.at(name) == bytes);
    }
    fs = nullptr;
    if (ended) break;
    ++reached;
  }
  CHECK(reached > 5);
}

}  // namespace cffs::test
