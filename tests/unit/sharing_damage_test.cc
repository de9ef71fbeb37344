// Files that share a content, where something is damaged or lost: all of them are told of, mended, and brought back.
#include <catch2/catch.hpp>

#include "core/backup/backup.h"
#include "core/composite/composite_store.h"
#include "core/reorganise/cataloguing.h"
#include "core/repair/salvage.h"
#include "core/table/content_row.h"
#include "core/table/member_files.h"
#include "core/table/system_rows.h"
#include "core/table/table.h"
#include "tests/model/memory_place.h"
#include "tests/unit/object_bytes.h"
#include "tests/unit/rot.h"
#include "tests/unit/scrubbed.h"
#include "tests/unit/sharing_store.h"

namespace cffs::test {

TEST_CASE("rows that say who shares what are checked, and mended", "[sharing]") {
  SharingStore s;
  s.fill(3, 3);
  const Extent shared = s.inode_of("k1.0").extent;
  const Key files = Key::member_files(shared.composite, shared.slot);
  const auto row = *decode_member_files(**s.fs->table().get(files));
  Batch batch;
  SECTION("lost") { batch.erase(files); }
  SECTION("malformed") { batch.put(files, std::string("\x80\0", 2)); }
  SECTION("one is missing") {
    batch.put(files, encode_member_files({{row.files.begin() + 1, row.files.end()}}));
  }
  SECTION("with a stranger") {
    MemberFiles more = row;
    more.files.push_back({InodeId{4711}, {kRootInode, "who"}});
    batch.put(files, encode_member_files(more));
  }
  SECTION("of a record that nobody has") {
    batch.put(Key::member_files(shared.composite, 77), encode_member_files(row));
  }
  SECTION("of a composite that is gone") {
    batch.put(Key::member_files(CompositeId{99'000}, 1), encode_member_files(row));
  }
  SECTION("with a file twice") {
    MemberFiles more = row;
    more.files.push_back(more.files.front());
    batch.put(files, encode_member_files(more));
  }
  SECTION("with a file at another place") {
    MemberFiles other = row;
    other.files.back().at.name = "elsewhere";
    batch.put(files, encode_member_files(other));
  }
  SECTION("a content at a place that no row could name") {
    ContentRow content{shared, InodeId{9}};
    content.extent.capacity = 0;
    batch.put(content_key(shared), encode_content_row(content));
  }
  SECTION("a content that nobody has") {
    ContentRow content{shared, InodeId{9}};
    content.extent.slot = 55;
    batch.put(content_key(shared), encode_content_row(content));
  }
  SECTION("a content that is malformed") { batch.put(content_key(shared), "?"); }
  SECTION("that they may share was lost") { batch.erase(system_key(SystemField::sharing)); }
  SECTION("that they may share was malformed") { batch.put(system_key(SystemField::sharing), "xx"); }
  REQUIRE(s.fs->table().write(batch));
  const bool opens = !(*s.fs->table().get(system_key(SystemField::sharing)) == std::string("xx"));
  if (opens) REQUIRE_FALSE(s.check_only().empty());
  REQUIRE_FALSE(s.mend().empty());
  s.expect_whole();
  for (const auto& [name, kind] : std::map(s.here)) {
    if (name.ends_with(".0")) s.unlink(name);
  }
  s.expect_whole();
  REQUIRE(s.mend().empty());
}

TEST_CASE("rot in a content is told of all who share it", "[sharing]") {
  SharingStore s;
  s.fill(3, 3);
  const Extent shared = s.inode_of("k1.0").extent;
  flip_bit(s.objects, CompositeStore::object_name(shared.composite), shared.offset + 5);
  s.open();
  REQUIRE(find_inconsistencies(*s.fs)->size() == 3);
  REQUIRE(scrubbed(*s.fs).size() == 3);
  // Nobody shares what cannot be read.
  s.make("new", 1);
  s.consolidate();
  REQUIRE((SharingStore::read(*s.fs, "new") == content(1)));
  REQUIRE_FALSE(s.share("new", "k1.0"));
}

TEST_CASE("with the table lost all who share come back", "[sharing]") {
  SharingStore s;
  s.fill(3, 3);
  REQUIRE(write_catalogue(*s.fs, [] { return true; }));
  MemoryStore saved;
  REQUIRE(FileSystem::format(saved, repeatable(), SystemClock()));
  const auto to = std::move(*FileSystem::open(saved, quiet()));
  REQUIRE(s.fs->close());
  const auto report = Salvage(s.objects, *to, [](const std::string&) {}).run();
  REQUIRE(report);
  REQUIRE(report->lost == std::vector<std::string>{});
  REQUIRE(report->files == 9);
  for (const auto& [name, kind] : s.here) REQUIRE((SharingStore::read(*to, name) == content(kind)));
}

TEST_CASE("a content comes back from whichever record still has it", "[sharing]") {
  SharingStore s;
  for (int i = 0; i < 140; ++i) s.make(SharingStore::name(0, i), 0);  // two records
  s.consolidate();
  REQUIRE(s.live() == 2 * kLength);
  const Extent first = s.inode_of(SharingStore::name(0, 0)).extent;
  REQUIRE(write_catalogue(*s.fs, [] { return true; }));
  MemoryStore saved;
  REQUIRE(FileSystem::format(saved, repeatable(), SystemClock()));
  const auto to = std::move(*FileSystem::open(saved, quiet()));
  REQUIRE(s.fs->close());
  flip_bit(s.objects, CompositeStore::object_name(first.composite), first.offset + 5);
  const auto report = Salvage(s.objects, *to, [](const std::string&) {}).run();
  REQUIRE(report);
  REQUIRE(report->files == 140);
}

TEST_CASE("rot in a content of a file with several names is told when one of them is gone", "[sharing]") {
  SharingStore s(GENERATE(true, false));
  s.make("owner", 0);
  s.make("guest", 0);
  const auto file = s.fs->lookup(kRootInode, "guest");
  REQUIRE(s.fs->link(file->ino, kRootInode, "again"));
  s.fs->forget(file->ino, 2);
  s.here["again"] = 0;
  s.make("other", 1);
  s.consolidate();
  s.unlink("guest");
  s.unlink("owner");
  s.expect_whole();
  const Extent extent = s.inode_of("again").extent;
  flip_bit(s.objects, CompositeStore::object_name(extent.composite), extent.offset + 5);
  s.open();
  REQUIRE(scrubbed(*s.fs).size() == 1);
}

TEST_CASE("a backup shares as its store does", "[sharing]") {
  SharingStore s;
  s.fill(3, 3);
  MemoryPlace place;
  for (int round = 0; round < 2; ++round) {
    place.begin();
    BackupOptions options;
    std::vector<std::string> told;
    options.on_damage = [&](const std::string& sentence) { told.push_back(sentence); };
    const auto done = Backup(*s.fs, place, options).run();
    INFO((done ? "" : done.error().message()));
    REQUIRE(done);
    REQUIRE(told.empty());
    FileSystemOptions looking = quiet();
    looking.read_only = true;
    const auto copy = FileSystem::open(*place.former(), looking);
    REQUIRE(copy);
    REQUIRE(*find_inconsistencies(**copy) == std::vector<std::string>{});
    REQUIRE((*copy)->table().sharing() == Sharing::on);
    for (const auto& [name, kind] : s.here) REQUIRE((SharingStore::read(**copy, name) == content(kind)));
    s.unlink(SharingStore::name(round, 0));
    s.make("round" + std::to_string(round), round);
    s.consolidate();
  }
}

TEST_CASE("files that share a record come back from the catalogue where the table lost its rows",
          "[sharing][repair]") {
  SharingStore s;
  s.fill(3, 4);
  REQUIRE(write_catalogue(*s.fs, [] { return true; }));
  REQUIRE(s.fs->close());
  s.fs.reset();
  REQUIRE((*s.objects.open(only_object(s.objects, ".log")))->truncate(0));
  REQUIRE(!repair_store(s.objects, quiet())->empty());
  REQUIRE(*repair_store(s.objects, quiet()) == std::vector<std::string>{});
  s.open();
  s.expect_whole();
}

}  // namespace cffs::test
