// Rows that contradict the file, the record or the key that they belong to: each is told in one sentence, mended from what is true, and
// nothing that could be read is lost by it.
#include <algorithm>
#include <catch2/catch.hpp>

#include "core/composite/composite_store.h"
#include "core/fs/rehousing.h"
#include "core/table/content_row.h"
#include "core/table/member_files.h"
#include "tests/unit/closed_store.h"
#include "tests/unit/sharing_store.h"

namespace cffs::test {
namespace {

struct RenamedStore : ClosedStore {
  // Where a member is that was renamed, and one that was not.
  Extent renamed, other;
  Key row_of_renamed;

  RenamedStore() {
    const auto fs = open();
    REQUIRE(fs->rename(kRootInode, "member", kRootInode, "renamed", RenameMode::replace, kRoot));
    contents["renamed"] = contents["member"];
    contents.erase("member");
    REQUIRE(fs->close());
    renamed = inode("renamed").extent;
    other = inode("other").extent;
    row_of_renamed = Key::member_files(renamed.composite, renamed.slot);
    account_ = account();
    REQUIRE(findings() == Sentences{});
  }
  std::unique_ptr<FileSystem> open() { return std::move(*FileSystem::open(store, quiet())); }
  std::string object() const { return CompositeStore::object_name(renamed.composite); }
  Key key_of(const std::string& name) {
    return std::move(*FileSystem::open(store, quiet()))->rehousing().entry_key({kRootInode, name});
  }
  std::string row(Key key) { return **table()->get(key); }
  CompositeRow account() { return *decode_composite_row(row(Key::null_name(renamed.composite))); }
  void change(const std::string& name, const std::function<void(Inode&)>& change) {
    const Key key = key_of(name);
    Row row = *table()->get_row(key);
    change(*row.find(name)->inode);
    in_table([&](Batch& batch) { batch.put_row(key, row); });
  }
  // This, with its cure; others follow from the same row.
  void expect(const std::string& part, std::size_t in_all = 1) {
    const Sentences found = findings();
    INFO(Catch::Detail::stringify(found));
    REQUIRE(found.size() == in_all);
    REQUIRE(std::any_of(found.begin(), found.end(), [&](const std::string& sentence) {
      return sentence.find(part) != std::string::npos &&
             sentence.find("cffs fsck --repair") != std::string::npos;
    }));
  }
  void expect_mended() {
    REQUIRE_FALSE(repaired().empty());
    REQUIRE(findings() == Sentences{});
    const auto fs = open();
    require_all(*fs);
    REQUIRE(fs->close());
  }
  // Who empties the composite finds the file by its record.
  void expect_movable() {
    const auto fs = open();
    int found = 0;
    REQUIRE(
        fs->composites().scan(renamed.composite, account_.size, [&](const RecordMeta& record, std::uint64_t) {
          if (record.slot != renamed.slot) return;
          const auto files = fs->rehousing().members_of(record, renamed.composite);
          REQUIRE(files);
          for (const FileToMove& file : *files) {
            CHECK(file.at.name == "renamed");
            ++found;
          }
        }));
    CHECK(found == 1);
    REQUIRE(fs->close());
  }
  CompositeRow account_;
};

MemberFiles renamed_to(const std::string& name) { return {{{{}, {kRootInode, name}}}}; }

}  // namespace

TEST_CASE("fsck: rows that say where members were renamed to", "[fsck][repair]") {
  RenamedStore s;
  SECTION("missing") {
    s.in_table([&](Batch& batch) { batch.erase(s.row_of_renamed); });
    s.expect("'renamed': it was renamed, and no row of slot 0 of " + s.object() + " says where to");
    s.expect_mended();
    s.expect_movable();
  }
  SECTION("with a place that is no longer the file's") {
    s.in_table([&](Batch& batch) { batch.put(s.row_of_renamed, encode_member_files(renamed_to("member"))); });
    s.expect("'renamed': the row of slot 0 of " + s.object() + " says that it is 'member' of directory 0");
    s.expect_mended();
    s.expect_movable();
  }
  SECTION("missing, and the file's row does not say that there was one") {
    s.change("renamed", [](Inode& inode) { inode.extent.moved = false; });
    s.in_table([&](Batch& batch) { batch.erase(s.row_of_renamed); });
    s.expect("'renamed': it was renamed, and no row of slot 0");
    s.expect_mended();
    REQUIRE(s.inode("renamed").extent.moved);
    s.expect_movable();
  }
  SECTION("of a file that is elsewhere") {
    const Key beyond = Key::member_files(s.renamed.composite, 7);
    s.in_table([&](Batch& batch) { batch.put(beyond, encode_member_files(renamed_to("inline"))); });
    s.expect("slot 7 of " + s.object() +
             ": a row says that it is 'inline' of directory 0, which is not there");
    s.expect_mended();
    REQUIRE_FALSE(*s.table()->get(beyond));
  }
  SECTION("of a file that was not renamed") {
    const Key row = Key::member_files(s.other.composite, s.other.slot);
    s.in_table([&](Batch& batch) { batch.put(row, encode_member_files(renamed_to("renamed"))); });
    s.expect("'other': the row of slot 1 of " + s.object() + " says that it is 'renamed' of directory 0");
    s.expect_mended();
  }
}

TEST_CASE("fsck: a renamed member with several names is found by its number", "[fsck][repair]") {
  RenamedStore s;
  const auto fs = s.open();
  const auto file = fs->lookup(kRootInode, "renamed");
  REQUIRE(fs->link(file->ino, kRootInode, "second"));
  REQUIRE(fs->rename(kRootInode, "renamed", kRootInode, "third", RenameMode::replace, kRoot));
  REQUIRE(fs->close());
  REQUIRE(s.findings() == Sentences{});
  REQUIRE(*repair_store(s.store, quiet()) == Sentences{});
}

TEST_CASE("fsck: accounts of what composites have freed", "[fsck][repair]") {
  RenamedStore s;
  const auto fs = s.open();
  REQUIRE(fs->unlink(kRootInode, "other"));
  s.contents.erase("other");
  REQUIRE(fs->close());
  const CompositeRow account = s.account();
  REQUIRE(account.freed_bytes == 700);
  CompositeRow wrong = account;
  wrong.freed_bytes += 50;
  s.in_table(
      [&](Batch& batch) { batch.put(Key::null_name(s.renamed.composite), encode_composite_row(wrong)); });
  s.expect(s.object() + " counts 750 bytes as freed, and its records have 700 that are no file's");
  s.expect_mended();
  REQUIRE(s.account().freed_bytes == 700);
}

TEST_CASE("fsck: records that a killed daemon left are no damage", "[fsck]") {
  RenamedStore s;
  CompositeRow killed = s.account();  // between the two batches that give many files their rows
  const auto fs = s.open();
  REQUIRE(fs->unlink(kRootInode, "other"));
  REQUIRE(fs->close());
  killed.members = 1;
  killed.live_bytes = 600;
  killed.freed_bytes = 0;
  s.in_table(
      [&](Batch& batch) { batch.put(Key::null_name(s.renamed.composite), encode_composite_row(killed)); });
  REQUIRE(s.findings() == Sentences{});
}

TEST_CASE("fsck: rows below another key than their own", "[fsck][repair]") {
  RenamedStore s;
  const auto moves = [&s](Key from, Key to) {
    const std::string row = s.row(from);
    s.in_table([&](Batch& batch) {
      batch.erase(from);
      batch.put(to, row);
    });
  };
  const Key nowhere{kRootInode.value, 4711};
  SECTION("a file's") {
    moves(s.key_of("inline"), nowhere);
    s.expect("'inline' of directory 0 (inode ");
    s.expect_mended();
  }
  SECTION("a member's") {
    moves(s.key_of("renamed"), nowhere);
    s.expect("'renamed' of directory 0 (inode ", 2);  // its record's row names a place where it is not
    s.expect_mended();
    s.expect_movable();
  }
  SECTION("a link's") {
    moves(s.key_of("again"), nowhere);
    s.expect("'again' of directory 0 (inode ");
    s.expect_mended();
  }
  SECTION("a name where there is none") {
    moves(s.key_of("inline"), Key{4000, 0});
    // Nor is there such a directory.
    REQUIRE(s.findings().size() == 3);
    REQUIRE_FALSE(s.repaired().empty());
    REQUIRE(s.findings() == Sentences{});
    const auto fs = s.open();
    const auto kept = fs->lookup(kRootInode, "lost+found");
    REQUIRE(fs->lookup(fs->lookup(kept->ino, "#4000")->ino, "inline"));
    fs->close();
  }
  SECTION("that of several names") {
    const InodeId linked = s.inode("linked").ino;
    moves(Key::null_name(linked), Key{4000, 0});
    s.expect("inode " + std::to_string(linked.value) + " that has several names",
             2);  // and a number beyond the counter
    s.expect_mended();
  }
  SECTION("of a name that is there") {
    Inode stranger = s.inode("inline");
    stranger.ino = InodeId{s.largest + 1};  // within what the counter has given out
    stranger.home = Home::none;
    stranger.size = 0;
    s.in_table([&](Batch& batch) { batch.put(nowhere, encode_single_row("inline", stranger)); });
    s.expect("'inline' of directory 0 (inode " + std::to_string(stranger.ino.value), 3);  // and counts
    s.expect_mended();
    const auto fs = s.open();
    const auto kept = fs->lookup(kRootInode, "lost+found");
    REQUIRE(fs->lookup(kept->ino, "#" + std::to_string(stranger.ino.value))->ino == stranger.ino);
    fs->close();
  }
}

TEST_CASE("fsck: places in composites that no record or group has", "[fsck][repair]") {
  RenamedStore s;
  SECTION("more room than the record has") {
    s.change("renamed", [](Inode& inode) { inode.extent.capacity += 8; });
    // How much a record has depends on where it ends, and so on the clock that its header has encoded.
    s.expect("'renamed': its row says that slot 0 of " + s.object() + " has " +
             std::to_string(s.renamed.capacity + 8) + " bytes of room");
  }
  SECTION("a group that ends before the file") {
    s.change("renamed", [](Inode& inode) { inode.extent.group_length = inode.extent.length / 2; });
    s.expect("'renamed': its row names a group of " + s.object() + " that does not hold it");
  }
  SECTION("a group that ends behind the composite") {
    s.change("renamed", [](Inode& inode) { inode.extent.group_length += 100'000; });
    s.expect("'renamed': its row names a group of " + s.object() + " that ends behind all records");
  }
  s.expect_mended();
  s.expect_movable();
}

TEST_CASE("fsck: places of contents that no file has", "[fsck][repair][sharing]") {
  SharingStore s;
  s.fill(3, 3);
  const Extent shared = s.inode_of("k1.0").extent;
  ContentRow content{shared, s.inode_of("k1.0").ino};
  content.extent.moved = false;
  SECTION("room") { content.extent.capacity += 8; }
  SECTION("where the group begins") { content.extent.group_offset += 8; }
  SECTION("where the group ends") { content.extent.group_length += 8; }
  Batch batch;
  batch.put(content_key(shared), encode_content_row(content));
  REQUIRE(s.fs->table().write(batch));
  const auto found = s.check_only();
  REQUIRE(found.size() == 1);
  REQUIRE(found.front().find("has another group or room than its files' rows say") != std::string::npos);
  REQUIRE_FALSE(s.mend().empty());
  s.expect_whole();
  REQUIRE(s.mend().empty());
}

TEST_CASE("fsck: a sharer that is said to be where the record says", "[fsck][repair][sharing]") {
  SharingStore s;
  s.fill(3, 3);
  s.rename("k1.0", "renamed");
  s.expect_whole();
  const Extent shared = s.inode_of("renamed").extent;
  const Key key = Key::member_files(shared.composite, shared.slot);
  MemberFiles row = *decode_member_files(**s.fs->table().get(key));
  for (MemberFile& file : row.files) {
    if (file.at.name == "renamed") file.at = {};
  }
  Batch batch;
  batch.put(key, encode_member_files(row));
  REQUIRE(s.fs->table().write(batch));
  const auto found = s.check_only();
  INFO(Catch::Detail::stringify(found));
  REQUIRE(found.size() == 1);
  REQUIRE(found.front().find("'renamed': it was renamed, and no row") != std::string::npos);
  REQUIRE_FALSE(s.mend().empty());
  s.expect_whole();
  REQUIRE(s.mend().empty());
}

}  // namespace cffs::test
