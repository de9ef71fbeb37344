// Who looks for damage while descriptors or memory are short says so, and calls nothing damaged that is not.
#include <catch2/catch.hpp>

#include "core/fs/store_format.h"
#include "core/inspect/consistency.h"
#include "core/inspect/scrub.h"
#include "core/object/faulty_store.h"
#include "core/object/memory_store.h"
#include "core/reorganise/cataloguing.h"
#include "core/reorganise/plan_object.h"
#include "core/reorganise/reorganiser.h"
#include "core/table/table.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/unit/object_bytes.h"

namespace cffs::test {
namespace {

// Members, plain and packed, blobs with checksums and without, a catalogue, a plan, and rows in files of the table.
void make_all_kinds(ObjectStore& store, bool packs) {
  StoreFormat format;
  format.inline_max = 512;
  format.composite_file_max = 16384;
  format.composite_max = 65536;
  REQUIRE(FileSystem::format(store, repeatable(format), SystemClock()));
  const auto fs = std::move(*FileSystem::open(store, quiet()));
  const auto make = [&](const std::string& name, std::size_t bytes) {
    const auto file = fs->mknod(kRootInode, name, S_IFREG | 0644, 0, kRoot);
    REQUIRE(file);
    REQUIRE(fs->write(file->ino, 0, as_bytes(std::string(bytes, name.back())), kRoot));
    fs->forget(file->ino, 1);
  };
  if (packs) REQUIRE(fs->compress({Codec::zstd, kUsualZstdLevel}));
  for (int i = 0; i < 20; ++i) make("member" + std::to_string(i), 5000);
  make("sealed", 300'000);
  REQUIRE(Reorganiser(*fs).consolidate_now());
  make("unsealed", 200'000);
  REQUIRE(fs->sync());
  fs->table().compact();
  REQUIRE(write_catalogue(*fs, [] { return true; }));
  grouping::PlanGroups plan;
  plan.add_group({{"member1", 0}, {"member2", 0}});
  REQUIRE(write_plan_object(store, plan));
  REQUIRE(fs->close());
}

// Opens the store for each of its operations, which is refused once. `look` gives what was found, or the error.
template <typename Look>
int refusals_told(ObjectStore& store, bool read_only, Look look) {
  int told = 0;
  for (std::uint64_t n = 1;; ++n) {
    FaultyStore medium(copy_of(store));
    FileSystemOptions options = quiet();
    options.read_only = options.keep_what_is_whole = read_only;
    const auto fs = std::move(*FileSystem::open(medium, options));
    medium.count_reads(true);
    const std::uint64_t before = medium.operations();
    medium.fail_operation(before + n, n % 2 == 0 ? EMFILE : ENOMEM, FaultyStore::Persistence::once);
    const Result<std::vector<std::string>> found = look(*fs);
    const bool over = medium.operations() < before + n;
    medium.fail_operation(0, 0, FaultyStore::Persistence::once);
    INFO("operation " << n << (found ? std::string() : ": " + found.error().message()));
    if (found) REQUIRE(*found == std::vector<std::string>{});
    if (!found && read_only) REQUIRE(found.error().is_shortage());
    told += found ? 0 : 1;
    if (over) return told;
  }
}

}  // namespace

TEST_CASE("a check that is short of something once finds no damage for it", "[fsck]") {
  MemoryStore store;
  make_all_kinds(store, GENERATE(false, true));
  CHECK(refusals_told(store, true, [](FileSystem& fs) { return find_inconsistencies(fs); }) > 10);
}

TEST_CASE("a scrub that is short of something once finds no damage for it", "[scrub]") {
  MemoryStore store;
  make_all_kinds(store, GENERATE(false, true));
  const auto scrub = [](FileSystem& fs) -> Result<std::vector<std::string>> {
    std::vector<std::string> said;
    ScrubOptions options;
    options.on_damage = [&](const std::string& sentence) { said.push_back(sentence); };
    CFFS_TRY_VOID(Scrub(fs, options).run());
    return said;
  };
  CHECK(refusals_told(store, false, scrub) > 10);
}

}  // namespace cffs::test
