// Each kind of damage has its sentence; a store that is whole has none.
#include "core/inspect/consistency.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "core/base/thread.h"
#include "core/fs/new_file.h"
#include "core/fs/rehousing.h"
#include "core/inspect/row_names.h"
#include "core/object/memory_store.h"
#include "core/reorganise/reorganiser.h"
#include "core/table/reference_rows.h"
#include "core/table/system_rows.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/unit/rot.h"

namespace cffs::test {
namespace {

// A store with a member, an inline file, a blob, a hard link and a directory. The engine's own caches know nothing of what
// is damaged beneath it: rows are written through its table, objects through the store.
struct Victim {
  MemoryStore store;
  std::unique_ptr<FileSystem> fs;
  InodeId directory, member, other_member, inline_file, blob, linked;

  Victim() {
    StoreFormat format;
    format.inline_max = 512;
    format.composite_file_max = 16384;
    REQUIRE(FileSystem::format(store, repeatable(format), SystemClock()));
    open();
    directory = fs->mkdir(kRootInode, "directory", 0755, kRoot)->ino;
    member = make("member", "some data");
    other_member = make("other", "more data");
    REQUIRE(Reorganiser(*fs).consolidate_now());
    inline_file = make("inline", "waits in the table");
    blob = make("blob", std::string(100'000, 'b'));
    linked = make("linked", "");
    REQUIRE(fs->link(linked, directory, "again"));
    REQUIRE(findings().empty());
  }
  void open() {
    FileSystemOptions options;
    options.background = false;
    fs.reset();
    fs = std::move(*FileSystem::open(store, options));
  }
  InodeId make(const char* name, const std::string& content) {
    const InodeId ino = fs->mknod(kRootInode, name, S_IFREG | 0644, 0, kRoot)->ino;
    if (!content.empty()) REQUIRE(fs->write(ino, 0, as_bytes(content), kRoot));
    return ino;
  }
  std::vector<std::string> findings() { return *find_inconsistencies(*fs); }

  // The entry's row, found by its name.
  std::pair<Key, Row> row_of(const std::string& name) {
    std::pair<Key, Row> found;
    REQUIRE(fs->table().scan_entries([&](Key key, const Row& row) {
      if (row.find(name) != nullptr) found = {key, row};
      return true;
    }));
    REQUIRE(found.second.find(name) != nullptr);
    return found;
  }
  template <typename Change>
  void change_inode(const std::string& name, Change change) {
    auto [key, row] = row_of(name);
    change(*row.find(name)->inode);
    put(key, encode_row(row));
  }
  Key key_of(InodeId parent, std::string_view name) { return fs->rehousing().entry_key(parent, name); }
  void put(Key key, std::string_view value) {
    Batch batch;
    batch.put(key, value);
    REQUIRE(fs->table().write(batch));
  }
  Extent extent(const std::string& name) { return row_of(name).second.find(name)->inode->extent; }
  std::string composite() { return CompositeStore::object_name(extent("member").composite); }
  void flip(const std::string& object_name, std::uint64_t at) { flip_bit(store, object_name, at); }
  // Exactly these, whatever else they say.
  void expect(std::vector<std::string> parts) {
    const auto found = findings();
    INFO(Catch::Detail::stringify(found));
    REQUIRE(found.size() == parts.size());
    for (const std::string& part : parts) {
      REQUIRE(std::any_of(found.begin(), found.end(), [&](const std::string& sentence) {
        return sentence.find(part) != std::string::npos;
      }));
    }
  }
};

}  // namespace

TEST_CASE("fsck: rows") {
  Victim v;
  SECTION("bytes that are no row do not end the check") {
    v.put(Key::entry(v.directory, 99), "rot");
    v.put(Key::entry(v.directory, 100), "\x01");
    v.expect(
        {"row " + key_text(Key::entry(v.directory, 99)), "row " + key_text(Key::entry(v.directory, 100))});
  }
  SECTION("two rows of one inode") {
    v.put(v.key_of(v.directory, "twice"),
          encode_single_row("twice", *v.row_of("inline").second.find("inline")->inode));
    v.expect({"'twice' has two rows"});
  }
  SECTION("a directory's links") {
    v.change_inode("directory", [](Inode& inode) { inode.nlink = 7; });
    v.expect({"has 7 links, should have 2"});
  }
  SECTION("entries of a directory that is not there") {
    v.put(v.key_of(InodeId{5000}, "lost"), encode_row({{{"lost", v.linked, S_IFREG, {}}}}));
    v.expect({"directory 5000 has entries but no row", "counts 2 links, has 3"});
  }
  SECTION("a name that leads nowhere") {
    v.put(v.key_of(v.directory, "nowhere"), encode_row({{{"nowhere", InodeId{5000}, S_IFREG, {}}}}));
    v.expect({"hard links to inode 5000 lead nowhere"});
  }
  SECTION("size without data") {
    v.change_inode("inline", [](Inode& inode) { inode.home = Home::none; });
    v.expect({"has 18 bytes and no home", "belong to nobody"});
  }
  SECTION("inline data") {
    v.put(Key::data(v.inline_file, 1), "behind the end");
    v.put(Key::data(InodeId{5000}, 0), "whose?");
    v.put(Key::data(InodeId{5000}, 1), "said once");
    v.expect({"data rows of inode " + std::to_string(v.inline_file.value) + " reach beyond its end",
              "data rows of inode 5000 belong to nobody"});
  }
  SECTION("bookkeeping") {
    v.put(Key::tagged(KeyTag::pending_removal, 9, 77), {});
    v.put(Key::tagged(KeyTag::system, 0, 99), {});
    v.put(system_key(SystemField::file_count), "short");
    v.put(document_key(v.member), "rot");
    v.put(embeds_key(v.member, v.member), "\x80");
    v.put({std::uint64_t{0x77} << 56, 0}, {});
    v.expect({"unknown kind waits", "unknown system field", "the count of files is malformed",
              "a document's row of an unknown version", "embedded files is malformed",
              "a row of an unknown kind"});
  }
}

TEST_CASE("fsck: composites") {
  Victim v;
  const Extent extent = v.extent("member");
  SECTION("data") {
    v.flip(v.composite(), extent.offset);
    v.expect({"'member': " + v.composite() + ", slot 0: data differs from its checksum"});
  }
  SECTION("the header") {
    v.flip(v.composite(), 9);
    v.expect({"header checksum differs"});
  }
  SECTION("a record's header") {
    v.flip(v.composite(), kCompositeHeaderBytes + 20);
    v.expect({v.composite() + " at byte 32: a record's checksum differs"});
  }
  SECTION("a record's name") {
    v.flip(v.composite(), kCompositeHeaderBytes + kRecordHeaderBytes + 2);
    v.expect({v.composite() + " at byte 32: a record's checksum differs"});
  }
  SECTION("a record of another file") {
    // The member's row points at the other's record, its data and checksum too: they agree, the number does not.
    const Extent other = v.extent("other");
    v.change_inode("member", [&](Inode& inode) { inode.extent = other; });
    v.expect({"'member': its record, slot 1"});
  }
  SECTION("a slot that is not there") {
    v.change_inode("member", [](Inode& inode) { inode.extent.slot = 50; });
    v.expect({"'member': " + v.composite() + " has no such slot"});
  }
  SECTION("cut short") {
    REQUIRE((*v.store.open(v.composite()))->truncate(extent.offset + 2));
    v.expect({v.composite() + " has", "'member': " + v.composite() + " ends before its data",
              "'other': " + v.composite() + " ends before its data"});
  }
  SECTION("accounts") {
    const Key key = Key::null_name(extent.composite);
    CompositeRow row = *decode_composite_row(**v.fs->table().get(key));
    row.members += 1;
    row.slots += 1;
    v.put(key, encode_composite_row(row));
    v.expect({"counts 3 members", "counts 3 records, has 2"});
  }
  SECTION("a record nobody names is normal") {
    REQUIRE(v.fs->unlink(kRootInode, "member"));
    v.expect({});
  }
}

TEST_CASE("fsck: blobs and other objects") {
  Victim v;
  const std::string blob = BlobStore::object_name(v.blob);
  SECTION("shorter than its row") {
    REQUIRE((*v.store.open(blob))->truncate(10));
    v.expect({"'blob': its blob has 10 bytes, its row says 100000"});
  }
  SECTION("longer: a write whose row never came") {
    REQUIRE((*v.store.open(blob))->append(as_bytes("more")));
    v.expect({});
  }
  SECTION("missing") {
    REQUIRE(v.store.remove(blob));
    v.expect({"object " + blob + " is missing"});
  }
  SECTION("nobody's") {
    REQUIRE(v.store.create("blobs/0/9999", ObjectStore::Create::exclusive));
    REQUIRE(v.store.create("composites/0/9998", ObjectStore::Create::exclusive));
    REQUIRE(v.store.create("blobs/0/9997", ObjectStore::Create::exclusive));
    v.put(PendingRemoval::of_blob(InodeId{9997}).key(), {});
    v.expect({"object blobs/0/9999 belongs to nobody", "object composites/0/9998 belongs to nobody"});
  }
  SECTION("the plan") {
    REQUIRE((*v.store.create("plan", ObjectStore::Create::exclusive))->write_at(0, as_bytes("cffsPLAN rot")));
    REQUIRE(v.findings().size() == 1);
  }
}

TEST_CASE("fsck says the same, whatever the number of its threads") {
  Victim v;
  const auto makes_composite = [&](int n) {
    for (int i = 0; i < 20; ++i) {
      v.make(("file" + std::to_string(n) + "-" + std::to_string(i)).c_str(), std::string(2000, 'x'));
    }
    REQUIRE(Reorganiser(*v.fs).consolidate_now());
  };
  for (int n = 0; n < 10; ++n) makes_composite(n);
  for (int n = 0; n < 40; ++n) v.make(("large" + std::to_string(n)).c_str(), std::string(100'000, 'b'));
  for (const char* name : {"file1-3", "file4-7", "file4-9", "file9-19"}) {
    const Extent extent = v.extent(name);
    v.flip(CompositeStore::object_name(extent.composite), extent.offset + 5);
  }
  for (const char* name : {"large3", "large38"}) {
    const InodeId ino = v.row_of(name).second.find(name)->ino;
    REQUIRE((*v.store.open(BlobStore::object_name(ino)))->truncate(7));
  }
  const auto alone = v.findings();
  REQUIRE(alone.size() == 6);
  std::vector<WorkStep> told;
  REQUIRE(*find_inconsistencies(*v.fs, {8, [&](const WorkStep& step) { told.push_back(step); }}) == alone);
  REQUIRE(told.size() >= 3);
  // The objects are counted in bytes, up to the last.
  std::erase_if(told, [](const WorkStep& step) { return step.unit != WorkStep::kBytes; });
  REQUIRE(told.size() >= 50);
  REQUIRE(told.back().in_all > 0);
  REQUIRE(told.back().done == told.back().in_all);
  allow_threads(1);
  const auto with_one_helper = find_inconsistencies(*v.fs, {8, nullptr});
  allow_threads(-1);
  REQUIRE(*with_one_helper == alone);
}

TEST_CASE("a directory with a rotten block is never listed short") {
  constexpr std::size_t kFiles = 3000;
  Victim v;
  const InodeId parent = v.fs->mkdir(kRootInode, "many", 0755, kRoot)->ino;
  for (std::size_t i = 0; i < kFiles; ++i) {
    REQUIRE(v.fs->mknod(parent, "name" + std::to_string(i), S_IFREG | 0644, 0, kRoot));
  }
  v.fs->table().compact();
  REQUIRE(v.fs->close());
  flip_in_table(v.store, 0.5);
  v.open();
  const InodeId directory_ino = v.fs->lookup(kRootInode, "many")->ino;
  // As the kernel asks: page by page, each from where the last one ended; a page with entries hides its error, and the next
  // one must have it.
  for (const bool refer : {false, true}) {
    for (const std::size_t page : {1u, 7u, 100u, 4000u}) {
      std::set<std::string> names;
      std::uint64_t cookie = 0;
      Status last;
      for (;;) {
        std::size_t filled = 0;
        last = v.fs->readdir(directory_ino, cookie, refer, [&](const DirectoryEntry& e) {
          if (filled == page) return false;
          ++filled;
          cookie = e.cookie;
          names.insert(std::string(e.name));
          return true;
        });
        if (filled == 0) break;
      }
      INFO("pages of " << page << ", referred: " << refer << ", " << names.size() << " names");
      REQUIRE(!last);
      REQUIRE(last.error().kind == ErrorKind::corruption);
      REQUIRE(names.size() < kFiles);
      REQUIRE(names.size() > 2);  // what lies before the damage is shown
    }
  }
}

TEST_CASE("a name that no entry may have is not loaded") {
  MemoryStore store;
  REQUIRE(FileSystem::format(store, repeatable(), SystemClock()));
  FileSystemOptions options;
  options.background = false;
  auto fs = FileSystem::open(store, options);
  REQUIRE(fs);
  const auto load = [&](const std::string& name) {
    NewFile file;
    file.parent = kRootInode;
    file.name = name;
    file.inode.mode = S_IFREG | 0644;
    file.content = "text";
    return (*fs)->load({{std::move(file)}});
  };
  REQUIRE(load(std::string(256, 'n')).error().errno_value == ENAMETOOLONG);
  REQUIRE(load("a/b").error().errno_value == EINVAL);
  REQUIRE(!load(""));
  REQUIRE(load(std::string(255, 'n')));
  REQUIRE((*fs)->lookup(kRootInode, std::string(255, 'n')));
  REQUIRE((*fs)->close());
}

}  // namespace cffs::test
