// What a backup keeps and copies; that it is of its moment; that nothing which ends it early harms the one before, or the store.
#include <algorithm>
#include <catch2/catch.hpp>
#include <new>
#include <random>
#include <utility>

#include "core/backup/blob_copies.h"
#include "core/backup/copied_runs.h"
#include "core/object/faulty_store.h"
#include "core/table/pending_removal.h"
#include "core/table/table.h"
#include "tests/model/memory_place.h"
#include "tests/passing_object.h"
#include "tests/passing_store.h"
#include "tests/unit/backed_up_store.h"

namespace cffs::test {
namespace {

const std::vector<std::string> kClean;

}  // namespace

TEST_CASE("a second backup copies what changed, and nothing else") {
  MemoryStore store;
  Used used(store);
  MemoryPlace place;
  place.begin();
  const auto first = used.back_up(place);
  REQUIRE(first);
  CHECK(first->kept == 0);
  CHECK(first->files == 33);
  const std::uint64_t objects = first->copied;
  CHECK(objects >= 2 + 2);  // composites, blobs
  CHECK(contents_of_copy(place.store()) == contents(*used.fs));

  place.begin();
  const auto same = used.back_up(place);
  REQUIRE(same);
  CHECK(same->copied == 0);
  CHECK(same->kept == objects);
  CHECK(fsck(place.store()) == kClean);

  // A name is no content; neither is a member that went.
  REQUIRE(used.fs->rename(kRootInode, "sealed", kRootInode, "renamed", RenameMode::replace, kRoot));
  REQUIRE(used.fs->rename(kRootInode, "member3", kRootInode, "elsewhere", RenameMode::replace, kRoot));
  REQUIRE(used.fs->unlink(kRootInode, "member4"));
  used.write("inline", 0, "changed");
  place.begin();
  const auto renamed = used.back_up(place);
  REQUIRE(renamed);
  CHECK(renamed->copied == 0);
  CHECK(contents_of_copy(place.store()) == contents(*used.fs));

  used.write("open", 100, "in place");
  used.write("sealed", 100, "and this one");
  place.begin();
  const auto changed = used.back_up(place);
  REQUIRE(changed);
  CHECK(changed->copied == 2);
  CHECK(changed->kept == objects - 2);
  CHECK(contents_of_copy(place.store()) == contents(*used.fs));
  CHECK(fsck(place.store()) == kClean);
}

TEST_CASE("files without a name are not in a backup, wherever their content is") {
  MemoryStore store;
  Used used(store);
  for (int i = 0; i < 20; ++i) {  // more than memory may hold
    used.make("gone" + std::to_string(i), 2000);
    REQUIRE(used.fs->unlink(kRootInode, "gone" + std::to_string(i)));
  }
  for (const char* name : {"inline", "open", "member3"}) REQUIRE(used.fs->unlink(kRootInode, name));
  std::size_t in_table = 0;
  REQUIRE(used.fs->table().scan_tag(KeyTag::pending_removal, [&](Key key, std::string_view) {
    const auto removal = decode_pending_removal(key);
    in_table += removal && !removal->is_object() ? 1 : 0;
    return true;
  }));
  REQUIRE(in_table > 0);
  MemoryPlace place;
  place.begin();
  REQUIRE(used.back_up(place));
  CHECK(fsck(place.store()) == kClean);
  CHECK(contents_of_copy(place.store()) == contents(*used.fs));
}

TEST_CASE("a blob that was overwritten before a kill is copied, although its row says nothing of it") {
  MemoryStore store;
  Used used(store);
  MemoryPlace place;
  place.begin();
  REQUIRE(used.back_up(place));
  used.write("open", 5000, "in place, at once after the last change");
  const auto killed = copy_of(store);
  const auto fs = FileSystem::open(*killed, quiet());
  REQUIRE(fs);
  place.begin();
  const auto done = Backup(**fs, place, {}).run();
  REQUIRE(done);
  CHECK(done->copied == 1);
  CHECK(contents_of_copy(place.store()) == contents(**fs));
}

TEST_CASE("a backup is of its moment, whatever happens while it is made") {
  MemoryStore store;
  Used used(store);
  const auto before = contents(*used.fs);
  MemoryPlace place;
  place.begin();
  int calls = 0;
  BackupOptions options;
  options.on_progress = [&](const BackupProgress& progress) {
    if (progress.at_ns == 0 || calls++ > 0) return;  // right after the moment
    used.write("open", 70'000, std::string(100'000, 'x'));
    used.truncate("open", 10);
    used.write("open", 300'000, "behind a hole");
    REQUIRE(used.fs->allocate(used.files["sealed"], 0, 200'000, AllocateMode::punch_hole, true, kRoot));
    used.truncate("sealed", 2 * kLarge);
    used.write("sealed", kLarge, "more");
    for (int i = 0; i < 30; i += 2) REQUIRE(used.fs->unlink(kRootInode, "member" + std::to_string(i)));
    used.make("new", kLarge);
    REQUIRE(used.fs->sync());
    REQUIRE(Reorganiser(*used.fs).compact_now());
    // Both blobs' names lead to other files' data, or nowhere.
    REQUIRE(used.fs->unlink(kRootInode, "open"));
    used.fs->forget(used.files["open"], 1);
    REQUIRE(used.fs->sync());
    CHECK_FALSE(store.list("held")->empty());
  };
  const auto done = used.back_up(place, options);
  REQUIRE(done);
  CHECK(calls > 0);
  CHECK(used.said.empty());
  CHECK(contents_of_copy(place.store()) == before);
  CHECK(fsck(place.store()) == kClean);
  CHECK(store.list("held")->empty());
  CHECK(*find_inconsistencies(*used.fs) == kClean);
}

TEST_CASE("a file without a name is not in the backup, and goes on being used") {
  MemoryStore store;
  Used used(store);
  REQUIRE(used.fs->unlink(kRootInode, "open"));
  const auto before = contents(*used.fs);
  MemoryPlace place;
  place.begin();
  BackupOptions options;
  options.on_progress = [&](const BackupProgress& progress) {
    if (progress.at_ns != 0) used.write("open", 0, "still there");
  };
  REQUIRE(used.back_up(place, options));
  CHECK(contents_of_copy(place.store()) == before);
  CHECK(fsck(place.store()) == kClean);
  std::string bytes(11, '\0');
  REQUIRE(used.fs->read(used.files["open"], 0, as_writable_bytes(bytes)));
  CHECK(bytes == "still there");
}

TEST_CASE("any operation on the place fails: the backup before stays, the store goes on") {
  MemoryStore store;
  Used used(store);
  for (const int reason : {ENOSPC, EIO}) {
    MemoryPlace place;
    place.begin();
    REQUIRE(used.back_up(place));
    const auto former = contents_of_copy(place.store());
    used.write("open", 1000, std::to_string(reason));
    used.write("inline", 0, "text");
    std::uint64_t n = 1;
    for (;; ++n) {
      INFO("operation " << n << ", errno " << reason);
      auto faulty = std::make_unique<FaultyStore>();
      faulty->fail_operation(n, reason, FaultyStore::Persistence::from_then_on);
      place.begin(std::move(faulty));
      BackupOptions options;
      bool changed = false;
      options.on_progress = [&](const BackupProgress& progress) {
        if (progress.at_ns == 0 || changed) return;
        changed = true;
        used.write("open", 200'000, std::to_string(n));  // the place is written to by this, too
      };
      const auto done = used.back_up(place, options);
      CHECK(store.list("held")->empty());
      if (done) break;
      REQUIRE(contents_of_copy(place.store()) == former);
    }
    CHECK(n > 20);
    CHECK(contents_of_copy(place.store()).at("inline").starts_with("text"));
    CHECK(fsck(place.store()) == kClean);
  }
  CHECK(*find_inconsistencies(*used.fs) == kClean);
}

TEST_CASE("the power is cut while a backup holds objects: the store is whole, and holds nothing") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    INFO("seed " << seed);
    FaultyStore store;
    Used used(store);
    MemoryPlace place;
    place.begin();
    std::map<std::string, std::string> expected;
    std::unique_ptr<MemoryStore> survivor;
    BackupOptions options;
    options.on_progress = [&](const BackupProgress& progress) {
      if (progress.at_ns == 0 || survivor) return;
      for (int i = 0; i < 30; i += 2) REQUIRE(used.fs->unlink(kRootInode, "member" + std::to_string(i)));
      REQUIRE(Reorganiser(*used.fs).compact_now());
      REQUIRE(used.fs->unlink(kRootInode, "open"));
      used.fs->forget(used.files["open"], 1);
      REQUIRE(used.fs->sync());
      expected = contents(*used.fs);
      if (seed % 2 == 0) REQUIRE(store.sync_names());
      survivor = store.power_cut(seed);
    };
    CHECK_FALSE(used.back_up(place, options));
    REQUIRE(survivor);
    const auto fs = FileSystem::open(*survivor, quiet());
    REQUIRE(fs);
    CHECK(survivor->list("held")->empty());
    CHECK(contents(**fs) == expected);
    CHECK(*find_inconsistencies(**fs) == kClean);
  }
}

TEST_CASE("users who meet a full medium get the room that a backup holds") {
  FaultyStore store;
  Used used(store);
  used.make("other", kLarge);
  MemoryPlace place;
  place.begin();
  bool met = false;
  BackupOptions options;
  options.on_progress = [&](const BackupProgress& progress) {
    if (progress.at_ns == 0 || met) return;
    met = true;
    REQUIRE(used.fs->unlink(kRootInode, "open"));
    used.fs->forget(used.files["open"], 1);
    REQUIRE(used.fs->sync());
    REQUIRE(store.list("held")->size() == 1);
    store.fail_operation(1, ENOSPC, FaultyStore::Persistence::once);
    used.write("other", 0, "no room for this, at first");
    CHECK(store.list("held")->empty());
  };
  const auto done = used.back_up(place, options);
  REQUIRE_FALSE(done);
  CHECK(done.error().errno_value == ENOSPC);
  CHECK(met);
  CHECK(*find_inconsistencies(*used.fs) == kClean);
  place.begin();
  REQUIRE(used.back_up(place));
  CHECK(contents_of_copy(place.store()) == contents(*used.fs));
}

TEST_CASE("a sparse file of any length is copied by what it has", "[backup]") {
  static constexpr std::uint64_t kHuge = std::uint64_t{1} << 61, kData = 3'000'000;
  // Data at its beginning and at its end.
  class Huge final : public PassingObject {
   public:
    using PassingObject::PassingObject;
    Result<std::size_t> read_at(std::uint64_t offset, Bytes out) const override {
      const std::uint64_t n = std::min<std::uint64_t>(out.size(), kHuge - std::min(kHuge, offset));
      std::fill_n(out.begin(), n, std::byte{'x'});
      return static_cast<std::size_t>(n);
    }
    Status write_at(std::uint64_t, ConstBytes data) override {
      written += data.size();
      return {};
    }
    Status truncate(std::uint64_t size) override {
      truncated = size;
      return {};
    }
    Result<ObjectInfo> info() const override {
      return is_cut ? ObjectInfo{0, 0} : ObjectInfo{kHuge, 2 * kData};
    }
    Result<std::uint64_t> next_data(std::uint64_t offset) const override {
      if (is_cut) return 0;
      return offset < kData ? offset : std::min(kHuge, std::max(offset, kHuge - kData));
    }
    Result<std::uint64_t> next_hole(std::uint64_t offset) const override {
      return offset < kData ? kData : offset < kHuge - kData ? offset : kHuge;
    }
    std::uint64_t written = 0, truncated = 0;
    bool is_cut = false;
  };
  class Place final : public PassingStore {
   public:
    using PassingStore::PassingStore;
    Result<std::shared_ptr<Object>> create(std::string_view name, Create how) override {
      if (std::exchange(lacks_memory, false)) throw std::bad_alloc();
      CFFS_TRY(auto below, below_.create(name, how));
      made = std::make_shared<Huge>(std::move(below));
      return std::shared_ptr<Object>(made);
    }
    std::shared_ptr<Huge> made;
    bool lacks_memory = false;
  };
  MemoryStore memory;
  Place place(memory);
  const auto source =
      std::make_shared<Huge>(std::move(*memory.create("source", ObjectStore::Create::truncate)));
  BlobCopies copies(place);
  const InodeId ino{7};
  const auto copy = [&] {
    return copies.copy(ino, source, kHuge, false, [](std::uint64_t) { return true; });
  };
  SECTION("at once") {
    const auto done = copy();
    REQUIRE(done);
    CHECK(done->bytes == 2 * kData);
    CHECK(place.made->truncated == kHuge);
  }
  SECTION("with what was kept of it before it was changed") {
    copies.keep(ino, source, kHuge, kHuge / 2, 10);   // nothing is there
    copies.keep(ino, source, kHuge, kHuge - 10, 10);  // one block
    REQUIRE(place.made);
    CHECK(place.made->written == 65536);
    copies.keep(ino, source, kHuge, 0, kHuge);  // it is cut to nothing
    source->is_cut = true;
    CHECK(place.made->written >= 2 * kData);
    const std::uint64_t written = place.made->written;
    const auto done = copy();
    REQUIRE(done);
    CHECK(place.made->written == written);
    CHECK(copies.good());
  }
  SECTION("memory that ends is the backup's failure, and no change's") {
    place.lacks_memory = true;
    copies.keep(ino, source, kHuge, 0, 10);
    copies.keep(ino, source, kHuge, 0, 10);
    REQUIRE_FALSE(copies.good());
    CHECK(copies.good().error().errno_value == ENOMEM);
  }
}

TEST_CASE("a copy knows which runs of a blob it has", "[backup]") {
  std::mt19937 random(11);
  CopiedRuns runs;
  std::vector<bool> there(200);
  for (int i = 0; i < 2000; ++i) {
    if (i % 40 == 0) runs = {}, there.assign(there.size(), false);
    const std::uint64_t begin = random() % there.size(), end = begin + random() % 12;
    runs.add(begin, std::min<std::uint64_t>(end, there.size()));
    for (std::uint64_t at = begin; at < end && at < there.size(); ++at) there[at] = true;
    for (std::uint64_t at = 0; at < there.size(); ++at) {
      std::uint64_t behind = at, next = at;
      while (behind < there.size() && there[behind]) ++behind;
      REQUIRE(runs.end_of(at) == behind);
      while (next < there.size() && !there[next]) ++next;
      if (!there[at]) REQUIRE(runs.next_run(at, there.size()) == next);
    }
  }
}

TEST_CASE("one backup at a time") {
  MemoryStore store;
  Used used(store);
  MemoryPlace place, other;
  place.begin();
  other.begin();
  int refused = 0;
  BackupOptions options;
  options.on_progress = [&](const BackupProgress& progress) {
    if (progress.at_ns == 0 || refused > 0) return;
    const auto second = Backup(*used.fs, other, {}).run();
    REQUIRE_FALSE(second);
    CHECK(second.error().errno_value == EBUSY);
    ++refused;
  };
  REQUIRE(used.back_up(place, options));
  CHECK(refused == 1);
  other.begin();
  REQUIRE(used.back_up(other));
}

TEST_CASE("a store that is only looked at is backed up, and keeps every byte") {
  MemoryStore store;
  Used used(store);
  used.write("open", 10, "not committed");
  const auto killed = copy_of(store);
  std::map<std::string, std::string> objects;
  const auto names = killed->list("");
  for (const std::string& name : *names) objects[name] = bytes_of(*killed, name);
  FileSystemOptions looking = quiet();
  looking.read_only = true;
  MemoryPlace place;
  place.begin();
  {
    const auto fs = FileSystem::open(*killed, looking);
    REQUIRE(fs);
    REQUIRE(Backup(**fs, place, {}).run());
  }
  CHECK(contents_of_copy(place.store()) == contents(*used.fs));
  CHECK(fsck(place.store()) == kClean);
  const auto names_after = killed->list("");
  CHECK(*names_after == *names);
  for (const auto& [name, bytes] : objects) CHECK(bytes_of(*killed, name) == bytes);
}

}  // namespace cffs::test
