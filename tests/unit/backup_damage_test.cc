// What a backup says of damage, and what it refuses.
#include <algorithm>
#include <catch2/catch.hpp>

#include "core/backup/former_backup.h"
#include "core/backup/object_copy.h"
#include "core/backup/store_copy.h"
#include "core/composite/composite_store.h"
#include "core/object/faulty_store.h"
#include "tests/model/memory_place.h"
#include "tests/passing_object.h"
#include "tests/unit/backed_up_store.h"
#include "tests/unit/rot.h"

namespace cffs::test {
namespace {

// A medium that refuses what is longer than a block, and has no memory for the block at `short_at`.
class ShortObject final : public PassingObject {
 public:
  ShortObject(std::shared_ptr<Object> below, std::uint64_t short_at)
      : PassingObject(std::move(below)), short_at_(short_at) {}
  Result<std::size_t> read_at(std::uint64_t offset, Bytes out) const override {
    if (out.size() > 4096) return fail(EIO);
    if (offset == short_at_) return fail(ENOMEM);
    return PassingObject::read_at(offset, out);
  }

 private:
  const std::uint64_t short_at_;
};

}  // namespace

TEST_CASE("damage is named, copied with the checksums that tell of it, and named again") {
  MemoryStore store;
  Used used(store);
  const auto before = contents(*used.fs);
  used.open();
  const FileToMove member = **used.fs->rehousing().find({kRootInode, "member7"}, used.files["member7"]);
  flip_bit(store, CompositeStore::object_name(member.inode.extent.composite),
           member.inode.extent.offset + 10);
  flip_bit(store, used.blob("sealed"), 200'000);
  REQUIRE(store.remove(used.blob("open")));
  used.open();
  MemoryPlace place;
  for (int round = 1; round <= 2; ++round) {
    INFO("round " << round);
    place.begin();
    const auto done = used.back_up(place);
    REQUIRE(done);
    CHECK(done->damaged == 3);
    CHECK(done->rows_damaged == 0);
    const auto says = [&](const std::string& words) {
      return std::any_of(used.said.begin(), used.said.end(),
                         [&](const std::string& s) { return s.find(words) != std::string::npos; });
    };
    CHECK(says("member7"));
    CHECK(says("differs from its checksum in bytes 196608"));
    CHECK(says("open"));
    auto copied = contents_of_copy(place.store());
    CHECK(copied["member7"] == "EIO");
    CHECK(copied["sealed"] == "EIO");
    CHECK(copied["open"] == "EIO");
    for (const char* lost : {"member7", "sealed", "again", "open"}) copied[lost] = before.at(lost);
    CHECK(copied == before);
  }
}

TEST_CASE("a composite whose row is lost is copied whole, and takes no former backup's place") {
  MemoryStore store;
  Used used(store);
  MemoryPlace former;
  former.begin();
  REQUIRE(used.back_up(former));
  const FileToMove member = **used.fs->rehousing().find({kRootInode, "member7"}, used.files["member7"]);
  const CompositeId id = member.inode.extent.composite;
  Batch batch;
  batch.erase(Key::null_name(id));
  REQUIRE(used.fs->table().write(batch));
  former.begin();
  CHECK_FALSE(used.back_up(former));
  MemoryPlace other;
  other.begin();
  const auto done = used.back_up(other);
  REQUIRE(done);
  CHECK(done->damaged == 1);
  REQUIRE(used.said.size() == 1);
  CHECK(used.said.front().find(CompositeStore::object_name(id) + " has files, and no row") == 0);
  CHECK(bytes_of(other.store(), CompositeStore::object_name(id)) ==
        bytes_of(store, CompositeStore::object_name(id)));
}

// As a lost removal leaves it: the row of a name that is another since.
TEST_CASE("an inode that has two rows in a damaged table is copied once") {
  MemoryStore store;
  Used used(store);
  const FileToMove open = **used.fs->rehousing().find({kRootInode, "open"}, used.files["open"]);
  Row row;
  row.insert(Entry{"former name", open.inode.ino, S_IFREG, open.inode});
  Batch batch;
  batch.put_row(Key::entry(kRootInode, 77), row);
  REQUIRE(used.fs->table().write(batch));
  MemoryPlace place;
  place.begin();
  REQUIRE(used.back_up(place));
  REQUIRE(used.said.size() == 1);
  CHECK(used.said.front().find("has two rows") != std::string::npos);
}

TEST_CASE("a backup is not replaced by one that lacks rows") {
  MemoryStore store;
  Used used(store);
  for (int i = 0; i < 600; ++i) used.make("small" + std::to_string(i), 1);
  MemoryPlace place;
  place.begin();
  REQUIRE(used.back_up(place));
  const auto before = contents_of_copy(place.store());
  used.fs->table().compact();
  used.fs = nullptr;
  flip_in_table(store, 0.5);
  const auto opened = FileSystem::open(store, quiet());
  REQUIRE(opened);
  place.begin();
  std::vector<std::string> said;
  BackupOptions options;
  options.on_damage = [&](const std::string& sentence) { said.push_back(sentence); };
  const auto done = Backup(**opened, place, options).run();
  REQUIRE_FALSE(done);
  CHECK(done.error().message().find("stays as it was") != std::string::npos);
  CHECK_FALSE(said.empty());
  CHECK(contents_of_copy(place.store()) == before);
  // Elsewhere what can be read is worth having.
  MemoryPlace other;
  other.begin();
  const auto rest = Backup(**opened, other, options).run();
  REQUIRE(rest);
  CHECK(rest->damaged > 0);
  CHECK(rest->rows_damaged > 0);
  CHECK(contents_of_copy(other.store()).size() < before.size() + 1);
}

TEST_CASE("what is no backup, or another store's, or was written to, is refused") {
  MemoryStore store, second;
  Used used(store), other(second);
  MemoryPlace place;
  place.begin();
  REQUIRE(used.back_up(place));
  const auto refusal = [&](Used& of) {
    place.begin();
    const auto done = of.back_up(place);
    REQUIRE_FALSE(done);
    CHECK(done.error().kind == ErrorKind::usage);
    return done.error().message();
  };
  CHECK(refusal(other).find("is a backup of another store") != std::string::npos);
  // Looking changes nothing.
  FileSystemOptions looking = quiet();
  looking.read_only = true;
  REQUIRE(FileSystem::open(place.store(), looking));
  place.begin();
  REQUIRE(used.back_up(place));
  replace(place.store(), "letter", "dear store");
  CHECK(refusal(used).find("holds letter, which is no part of a store") != std::string::npos);
  REQUIRE(place.store().remove("letter"));
  REQUIRE(FileSystem::open(place.store(), quiet()));
  CHECK(refusal(used).find("was written to since it was made") != std::string::npos);
  flip_bit(place.store(), kBackupObject, 20);
  CHECK(refusal(used).find("the record of this backup is damaged") != std::string::npos);
  REQUIRE(place.store().remove(kBackupObject));
  CHECK(refusal(used).find("is there and is no backup") != std::string::npos);
}

TEST_CASE(
    "a backup that cannot be looked at for want of descriptors is not said to be written to, or to go") {
  MemoryStore store;
  Used used(store);
  MemoryPlace place;
  place.begin();
  REQUIRE(used.back_up(place));
  bool over = false;
  for (std::uint64_t n = 1; !over; ++n) {
    INFO("operation " << n);
    FaultyStore former(copy_of(place.store()));
    former.count_reads(true);
    former.fail_operation(n, EMFILE, FaultyStore::Persistence::once);
    const auto record = FormerBackup::check(former, "the backup", used.fs->store_format().uuid);
    over = former.operations() < n;
    REQUIRE(record.has_value() == over);
    if (over) continue;
    CHECK(record.error().errno_value == EMFILE);
    CHECK(record.error().kind == ErrorKind::os);
  }
  // What the medium refuses is no change that anybody made.
  FaultyStore former(copy_of(place.store()));
  former.count_reads(true);
  former.fail_operation(3, EIO, FaultyStore::Persistence::from_then_on);  // behind the record
  const auto record = FormerBackup::check(former, "the backup", used.fs->store_format().uuid);
  REQUIRE_FALSE(record);
  CHECK(record.error().message().starts_with("the backup cannot be read: "));
}

TEST_CASE("a copy of a store that is short of descriptors or memory calls nothing damaged", "[copy]") {
  MemoryStore store;
  REQUIRE(Used(store).fs->close());
  bool over = false;
  for (std::uint64_t n = 1; !over; ++n) {
    INFO("operation " << n);
    FaultyStore source(copy_of(store));
    source.count_reads(true);
    source.fail_operation(n, ENOMEM, FaultyStore::Persistence::once);
    MemoryStore target;
    StoreCopyOptions options;
    options.workers = 1;
    const auto copied = copy_store(source, target, options);
    over = source.operations() < n;
    REQUIRE(copied.has_value() == over);
    if (!over) CHECK(copied.error().kind == ErrorKind::os);
  }
}

TEST_CASE("where the medium refuses a piece, a block for which there is no memory is not taken for refused") {
  MemoryStore store;
  const auto from = *store.create("from", ObjectStore::Create::exclusive);
  const auto to = *store.create("to", ObjectStore::Create::exclusive);
  REQUIRE(from->write_at(0, as_bytes(std::string(40'000, 'x'))));
  const auto copied = copy_range(ShortObject(from, 8192), *to, 0, 40'000);
  REQUIRE_FALSE(copied);
  CHECK(copied.error().errno_value == ENOMEM);
  const auto whole = copy_range(ShortObject(from, 50'000), *to, 0, 40'000);
  REQUIRE(whole);
  CHECK(whole->bytes == 40'000);
  CHECK(!whole->unreadable);
}

TEST_CASE("the record of a backup: what is read is what was written, and nothing else") {
  const BackupRecord record{
      "0123456789abcdef0123456789abcdef", 1'700'000'000'000'000'000, 3, 77, {"blobs/0/7"}};
  const std::string bytes = encode_backup_record(record);
  const auto again = decode_backup_record(bytes);
  REQUIRE(again);
  CHECK(again->store == record.store);
  CHECK(again->at_ns == record.at_ns);
  CHECK(again->unclean_ends == 3);
  CHECK(again->table == 77);
  CHECK(again->damaged == record.damaged);
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    CHECK_FALSE(decode_backup_record(bytes.substr(0, n)));
    std::string flipped = bytes;
    flipped[n] = static_cast<char>(flipped[n] ^ 1);
    CHECK_FALSE(decode_backup_record(flipped));
  }
}

}  // namespace cffs::test
