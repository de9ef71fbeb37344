// Of what no record of a composite tells, the catalogue does: where rows are lost, large files, links, devices, empty and inline files and
// directories, and further names come back where they were, and nothing is made up.
#include <catch2/catch.hpp>

#include "core/blob/blob_store.h"
#include "core/fs/rehousing.h"
#include "core/table/table.h"
#include "tests/unit/catalogued_store.h"
#include "tests/unit/cut_repair.h"
#include "tests/unit/rot.h"

namespace cffs::test {
namespace {

struct EntriesStore : CataloguedStore {
  InodeId large, linked, member, inlined;

  EntriesStore() {
    REQUIRE(fs->symlink(directory, "link", "below/deep", kRoot));
    REQUIRE(fs->mknod(directory, "pipe", S_IFIFO | 0620, 0, kRoot));
    REQUIRE(fs->mknod(kRootInode, "empty", S_IFREG | 0604, 0, kRoot));
    REQUIRE(fs->mkdir(below, "nothing in it", 0705, kRoot));
    large = put(below, "large", 20'000);
    linked = put(kRootInode, "linked", 30'000);
    REQUIRE(fs->link(linked, directory, "linked too"));
    member = put(kRootInode, "member", 900);
    REQUIRE(Reorganiser(*fs).consolidate_now());
    REQUIRE(fs->link(member, below, "member too"));
    inlined = put(kRootInode, "inline", 40);
    REQUIRE(fs->sync());
    REQUIRE(write_catalogue(*fs, [] { return true; }));
  }
  InodeId put(InodeId in, const std::string& name, std::size_t size) {
    const auto file = fs->mknod(in, name, S_IFREG | 0640, 0, kRoot);
    REQUIRE(file);
    REQUIRE(fs->write(file->ino, 0, as_bytes(std::string(size, name.front())), kRoot));
    return file->ino;
  }
  // As every repair of this page; the engine knows a directory once somebody has looked it up.
  Sentences repaired() {
    Sentences mended = CataloguedStore::repaired();
    for (InodeId at = kRootInode; const char* name : {"directory", "below"}) {
      const auto next = fs->lookup(at, name);
      if (!next) break;
      at = next->ino;
    }
    return mended;
  }
  std::string bytes(InodeId in, const std::string& name) {
    INFO(name);
    const auto file = fs->lookup(in, name);
    REQUIRE(file);
    std::string read(file->size, '\0');
    REQUIRE(fs->read(file->ino, 0, as_writable_bytes(read)));
    return read;
  }
  std::uint64_t links(InodeId in, const std::string& name) { return fs->lookup(in, name)->nlink; }
  void require_all_but_inline() {
    REQUIRE(has(below, "deep", "deep"));
    REQUIRE(bytes(below, "large") == std::string(20'000, 'l'));
    REQUIRE((fs->lookup(below, "large")->mode & 07777) == 0640);
    REQUIRE(fs->lookup(below, "large")->ino == large);
    REQUIRE(bytes(kRootInode, "linked") == std::string(30'000, 'l'));
    REQUIRE(fs->lookup(directory, "linked too")->ino == linked);
    REQUIRE(links(kRootInode, "linked") == 2);
    REQUIRE(bytes(kRootInode, "member") == std::string(900, 'm'));
    REQUIRE(fs->lookup(below, "member too")->ino == member);
    REQUIRE(links(kRootInode, "member") == 2);
    REQUIRE(fs->lookup(kRootInode, "empty")->size == 0);
    REQUIRE((fs->lookup(kRootInode, "empty")->mode & 07777) == 0604);
    REQUIRE(*fs->readlink(fs->lookup(directory, "link")->ino) == "below/deep");
    REQUIRE(fs->lookup(directory, "pipe")->mode == (S_IFIFO | 0620));
    REQUIRE(fs->lookup(below, "nothing in it")->mode == (S_IFDIR | 0705));
    REQUIRE_FALSE(fs->lookup(kRootInode, "lost+found"));
  }
};

}  // namespace

TEST_CASE("what no record tells of comes back from the catalogue", "[repair]") {
  EntriesStore s;
  s.lose_rows();
  const Sentences mended = s.repaired();
  CAPTURE(mended);
  s.require_all_but_inline();
  REQUIRE(s.bytes(kRootInode, "inline") == std::string(40, 'i'));
}

TEST_CASE("with no row lost, what the catalogue alone has stays removed", "[repair]") {
  EntriesStore s;
  for (const std::string name : {"link", "pipe"}) REQUIRE(s.fs->unlink(s.directory, name));
  REQUIRE(s.fs->unlink(s.below, "large"));
  REQUIRE(s.fs->rmdir(s.below, "nothing in it"));
  REQUIRE(s.fs->close());
  s.fs.reset();
  REQUIRE(s.repaired() == Sentences{});
  for (const std::string name : {"link", "pipe"}) REQUIRE_FALSE(s.fs->lookup(s.directory, name));
  REQUIRE_FALSE(s.fs->lookup(s.below, "large"));
  REQUIRE_FALSE(s.fs->lookup(s.below, "nothing in it"));
}

TEST_CASE("a repair that is gone on with knows whether durable rows were missing", "[repair]") {
  EntriesStore s;
  REQUIRE(s.fs->unlink(s.directory, "link"));
  REQUIRE(s.fs->close());
  s.fs.reset();
  const bool tail = GENERATE(true, false);
  const auto note = *s.store.create("repair.unfinished", ObjectStore::Create::keep);
  if (tail) REQUIRE(note->write_at(0, as_bytes("tail")));
  REQUIRE(!s.repaired().empty());
  REQUIRE(s.fs->lookup(s.directory, "link").has_value() == !tail);
}

TEST_CASE("a large file is what its object is now, and one without an object does not come back",
          "[repair]") {
  EntriesStore s;
  REQUIRE(s.fs->write(s.large, 20'000, as_bytes(std::string(5'000, 'L')), kRoot));
  s.lose_rows();
  const std::string linked = BlobStore::object_name(s.linked);
  REQUIRE(s.store.rename(linked, linked + ".mine"));  // somebody's, by this name
  const Sentences mended = s.repaired();
  CAPTURE(mended);
  REQUIRE(any_says(mended, "has 25000 bytes; the catalogue said 20000"));
  REQUIRE(s.bytes(s.below, "large") == std::string(20'000, 'l') + std::string(5'000, 'L'));
  REQUIRE_FALSE(s.fs->lookup(kRootInode, "linked"));
  REQUIRE_FALSE(s.fs->lookup(s.directory, "linked too"));
}

TEST_CASE("names that are others' by now are theirs, and a large file is kept", "[repair]") {
  EntriesStore s;
  s.lose_rows();
  FileSystemOptions options = quiet();
  options.keep_what_is_whole = true;
  {
    const auto fs = std::move(*FileSystem::open(s.store, options));
    REQUIRE(fs->skip_inodes(InodeId{100'000}));
    for (const std::string name : {"linked", "empty", "directory"})
      REQUIRE(fs->mknod(kRootInode, name, S_IFREG | 0600, 0, kRoot));
    REQUIRE(fs->close());
  }
  REQUIRE(s.store.create("repair.unfinished", ObjectStore::Create::keep));
  const Sentences mended = s.repaired();
  CAPTURE(mended);
  for (const std::string name : {"linked", "empty", "directory"}) {
    INFO(name);
    const auto taken = s.fs->lookup(kRootInode, name);
    REQUIRE(taken);
    REQUIRE(taken->mode == (S_IFREG | 0600));
    REQUIRE(taken->size == 0);
  }
  // Whose name is taken is in /lost+found.
  const auto kept = s.fs->lookup(kRootInode, "lost+found");
  REQUIRE(s.fs->lookup(kept->ino, "#" + std::to_string(s.directory.value))->ino == s.directory);
  REQUIRE(s.fs->lookup(s.directory, "below")->ino == s.below);
  REQUIRE(s.fs->lookup(s.directory, "linked too")->ino == s.linked);
  REQUIRE(s.links(s.directory, "linked too") == 1);
  REQUIRE(s.bytes(s.below, "large") == std::string(20'000, 'l'));
}

TEST_CASE("one row that is lost: names that led to it, and data that is there, are the file's again",
          "[repair]") {
  EntriesStore s;
  REQUIRE(s.fs->write(s.inlined, 0, as_bytes(std::string(40, 'I')), kRoot));  // since the catalogue
  const Key of_inline = s.fs->rehousing().entry_key({kRootInode, "inline"});
  const Key of_further_name = s.fs->rehousing().entry_key({s.directory, "linked too"});
  std::string content(40, 'I');
  bool comes_back = true;
  SECTION("of a file that has several names") {
    s.change_rows([&s](Batch& batch) { batch.erase(Key::null_name(s.linked)); });
  }
  SECTION("of a further name") {
    s.change_rows([&](Batch& batch) { batch.erase(of_further_name); });
  }
  SECTION("of an inline file") {
    s.change_rows([&](Batch& batch) { batch.erase(of_inline); });
  }
  SECTION("of an inline file, and its data") {
    s.change_rows([&](Batch& batch) {
      batch.erase(of_inline);
      batch.erase(Key::data(s.inlined, 0));
    });
    content = std::string(40, 'i');
  }
  SECTION("of an inline file, part of its data, and the catalogue's") {
    s.change_rows([&](Batch& batch) {
      batch.erase(of_inline);
      batch.put(Key::data(s.inlined, 0), "half of it");
    });
    const auto catalogue = *s.store.open(kCatalogueObject);
    std::string all(catalogue->info()->size, '\0');
    REQUIRE(catalogue->read_at(0, as_writable_bytes(all)));
    REQUIRE(all.find(std::string(40, 'i')) != std::string::npos);
    REQUIRE(catalogue->write_at(all.find(std::string(40, 'i')), as_bytes("x")));
    comes_back = false;
  }
  REQUIRE(s.store.create("repair.unfinished", ObjectStore::Create::keep));
  const Sentences mended = s.repaired();
  CAPTURE(mended);
  if (comes_back) {
    REQUIRE(s.bytes(kRootInode, "inline") == content);
    s.require_all_but_inline();
  } else {
    REQUIRE_FALSE(s.fs->lookup(kRootInode, "inline"));
    const auto kept = s.fs->lookup(kRootInode, "lost+found");
    REQUIRE(s.bytes(kept->ino, "#" + std::to_string(s.inlined.value)) == "half of it");
  }
}

TEST_CASE("a row that shows again what had been replaced gets the data of the newer record", "[repair]") {
  CataloguedStore c;
  const auto file = c.fs->mknod(kRootInode, "changed", S_IFREG | 0640, 0, kRoot);
  std::size_t at_first = 0, now = 700;
  SECTION("empty before") {}
  SECTION("inline before") { at_first = 50; }
  SECTION("inline before, of the same content: it has become a member since") { at_first = now = 50; }
  SECTION("a member before") { at_first = 900; }
  SECTION("a member before, of the same content: a compaction has moved it") { at_first = now = 900; }
  const std::string content(now, now == at_first ? 'a' : 'b');
  REQUIRE(c.fs->write(file->ino, 0, as_bytes(std::string(at_first, 'a')), kRoot));
  const auto filler = c.fs->mknod(kRootInode, "filler", S_IFREG | 0640, 0, kRoot);
  REQUIRE(c.fs->write(filler->ino, 0, as_bytes(std::string(6'000, 'f')), kRoot));
  if (at_first > 64) REQUIRE(Reorganiser(*c.fs).consolidate_now());
  const Key key = c.fs->rehousing().entry_key({kRootInode, "changed"});
  const Row before = *c.fs->table().get_row(key);
  if (now != at_first) {
    AttributeChange cut;
    cut.size = 0;
    REQUIRE(c.fs->setattr(file->ino, cut, kRoot));
    REQUIRE(c.fs->write(file->ino, 0, as_bytes(content), kRoot));
  }
  REQUIRE(c.fs->unlink(kRootInode, "filler"));  // so that compaction has something to empty
  REQUIRE(Reorganiser(*c.fs).consolidate_now());
  REQUIRE(Reorganiser(*c.fs).compact_now());
  const Inode newest = *c.fs->table().get_row(key)->find("changed")->inode;
  REQUIRE(newest.home == Home::composite);
  REQUIRE(newest.extent != before.find("changed")->inode->extent);
  c.change_rows([&](Batch& batch) { batch.put_row(key, before); });
  REQUIRE(c.store.create("repair.unfinished", ObjectStore::Create::keep));
  const Sentences mended = c.repaired();
  CAPTURE(mended);
  const auto there = c.fs->lookup(kRootInode, "changed");
  REQUIRE(there);
  std::string bytes(there->size, '\0');
  REQUIRE(c.fs->read(there->ino, 0, as_writable_bytes(bytes)));
  REQUIRE(bytes == content);
}

TEST_CASE("a row that is older than the catalogue gets what that knew, or is said to be older", "[repair]") {
  CataloguedStore c;
  const auto file = c.fs->mknod(kRootInode, "changed", S_IFREG | 0640, 0, kRoot);
  const Key key = c.fs->rehousing().entry_key({kRootInode, "changed"});
  const std::string content(50, 'b');
  SECTION("empty before") {}
  SECTION("of another content before") {
    REQUIRE(c.fs->write(file->ino, 0, as_bytes(std::string(60, 'a')), kRoot));
    REQUIRE(c.fs->sync());
  }
  const Row before = *c.fs->table().get_row(key);
  const auto data = *c.fs->table().get(Key::data(file->ino, 0));
  AttributeChange cut;
  cut.size = 0;
  REQUIRE(c.fs->setattr(file->ino, cut, kRoot));
  REQUIRE(c.fs->write(file->ino, 0, as_bytes(content), kRoot));
  REQUIRE(c.fs->sync());
  REQUIRE(write_catalogue(*c.fs, [] { return true; }));
  c.change_rows([&](Batch& batch) {
    batch.put_row(key, before);
    batch.erase(Key::data(file->ino, 0));
    if (data) batch.put(Key::data(file->ino, 0), std::string(60, 'a'));
  });
  const bool is_known = GENERATE(true, false);
  if (!is_known) {
    std::string all = bytes_of(c.store, kCatalogueObject);
    const std::size_t at = all.find(content);
    REQUIRE(at != std::string::npos);
    all[at] = 'x';
    replace(c.store, kCatalogueObject, all);
  }
  REQUIRE(c.store.create("repair.unfinished", ObjectStore::Create::keep));
  std::vector<std::string> lost;
  REQUIRE(repair_store(c.store, quiet(), &lost));
  CAPTURE(lost);
  REQUIRE(any_says(lost, "its row is older than the catalogue") == !is_known);
  REQUIRE(*repair_store(c.store, quiet()) == Sentences{});
  c.fs = std::move(*FileSystem::open(c.store, quiet()));
  const auto there = c.fs->lookup(kRootInode, "changed");
  REQUIRE(there);
  std::string bytes(there->size, '\0');
  REQUIRE(c.fs->read(there->ino, 0, as_writable_bytes(bytes)));
  REQUIRE((bytes == content) == is_known);
}

namespace {

// A file that is written to three times: as the row knows it that shows again, as the catalogue does, and as the table has its data.
struct RewrittenFile : CataloguedStore {
  InodeId ino;
  Key key;
  std::optional<Row> first;

  RewrittenFile() : CataloguedStore(8192) {
    ino = fs->mknod(kRootInode, "rewritten", S_IFREG | 0640, 0, kRoot)->ino;
    key = fs->rehousing().entry_key({kRootInode, "rewritten"});
  }
  void write(const std::string& content) {
    AttributeChange cut;
    cut.size = 0;
    REQUIRE(fs->setattr(ino, cut, kRoot));
    REQUIRE(fs->write(ino, 0, as_bytes(content), kRoot));
    REQUIRE(fs->sync());
    if (!first) first = *fs->table().get_row(key);
  }
  // The row alone is as it was at first.
  Sentences repaired() {
    change_rows([&](Batch& batch) { batch.put_row(key, *first); });
    REQUIRE(store.create("repair.unfinished", ObjectStore::Create::keep));
    return CataloguedStore::repaired();
  }
  std::string content(InodeId in, const std::string& name) {
    const auto file = fs->lookup(in, name);
    REQUIRE(file);
    std::string read(file->size, '\0');
    REQUIRE(fs->read(file->ino, 0, as_writable_bytes(read)));
    return read;
  }
  std::string content() { return content(kRootInode, "rewritten"); }
  // What is kept of it; nothing: no file is.
  std::string kept() {
    const auto folder = fs->lookup(kRootInode, "lost+found");
    const std::string name = "#" + std::to_string(ino.value);
    return folder && fs->lookup(folder->ino, name) ? content(folder->ino, name) : "";
  }
};

}  // namespace

TEST_CASE("data beyond the end that an older row says is the file's again, or a file in /lost+found",
          "[repair]") {
  RewrittenFile f;
  f.write(std::string(2000, 'a'));
  const std::string newer(GENERATE(3000, 4096, 6000), 'b');
  f.write(newer);
  bool is_known = true;
  SECTION("the catalogue knows it") {
    REQUIRE(write_catalogue(*f.fs, [] { return true; }));
  }
  SECTION("the catalogue knows it, and has not its data") {
    REQUIRE(write_catalogue(*f.fs, [] { return true; }));
    std::string all = bytes_of(f.store, kCatalogueObject);
    const std::size_t at = all.find("bbbb");
    REQUIRE(at != std::string::npos);
    all[at] = 'x';
    replace(f.store, kCatalogueObject, all);
  }
  SECTION("there is an older catalogue") { is_known = false; }
  SECTION("there is none") {
    REQUIRE(f.store.remove(kCatalogueObject));
    is_known = false;
  }
  const Sentences mended = f.repaired();
  CAPTURE(mended, newer.size());
  CHECK(f.content() == (is_known ? newer : newer.substr(0, 2000)));
  CHECK(f.kept() == (is_known ? "" : newer));
  CHECK(any_says(mended, "may be newer than its row") == !is_known);
}

TEST_CASE("data of the table that the catalogue's replaces is kept, since it may be newer than both",
          "[repair]") {
  RewrittenFile f;
  f.write(std::string(2000, 'a'));
  const std::string known(3000, 'b');
  f.write(known);
  REQUIRE(write_catalogue(*f.fs, [] { return true; }));
  std::string newest, kept;
  bool is_newest = false;
  SECTION("it is as the catalogue's") { newest = known; }
  SECTION("it may be the older row's") { newest = kept = std::string(2000, 'c'); }
  SECTION("it is no row's") { newest = kept = std::string(6000, 'c'); }
  SECTION("it is whole, and newer than the row") {
    newest = std::string(3000, 'c');
    is_newest = true;
  }
  f.write(newest);
  const Sentences mended = f.repaired();
  CAPTURE(mended);
  CHECK(f.content() == (is_newest ? newest : known));
  CHECK(f.kept() == kept);
}

TEST_CASE("a repair that keeps data which is newer than its row, and is cut at any write, is gone on with",
          "[repair]") {
  RewrittenFile f;
  f.write(std::string(2000, 'a'));
  const std::string newer(6000, 'b');
  f.write(newer);
  f.change_rows([&](Batch& batch) { batch.put_row(f.key, *f.first); });
  REQUIRE(f.store.create("repair.unfinished", ObjectStore::Create::keep));
  std::uint64_t n = 1;
  for (bool finished = false; !finished; ++n) {
    INFO(n);
    const CutRepair cut = repair_cut_at(n, f.store, true);
    finished = cut.finished;
    require_repair(*cut.left);
    f.fs = std::move(*FileSystem::open(*cut.left, quiet()));
    REQUIRE(*find_inconsistencies(*f.fs) == Sentences{});
    REQUIRE(f.kept() == newer);
    f.fs.reset();
  }
  REQUIRE(n > 10);
}

TEST_CASE("a row that is older than the catalogue in its attributes alone gets those", "[repair]") {
  CataloguedStore c;
  const std::vector<EntryName> both{{kRootInode, "directory"}, {c.directory, "new name"}};
  std::vector<std::pair<Key, Row>> before;
  for (const EntryName& at : both) {
    const Key key = c.fs->rehousing().entry_key(at);
    before.emplace_back(key, *c.fs->table().get_row(key));
    before.back().second.find(at.name)->inode->ctime_ns -=
        1'000'000'000;  // of a tick before, however fast this runs
    AttributeChange change;
    change.mode = 0705;
    REQUIRE(c.fs->setattr(c.fs->lookup(at.parent, at.name)->ino, change, kRoot));
  }
  REQUIRE(c.fs->sync());
  REQUIRE(write_catalogue(*c.fs, [] { return true; }));
  c.change_rows([&](Batch& batch) {
    for (const auto& [key, row] : before) batch.put_row(key, row);
  });
  REQUIRE(c.store.create("repair.unfinished", ObjectStore::Create::keep));
  REQUIRE(any_says(c.repaired(), "it has the owner, mode and times of the catalogue"));
  for (const EntryName& at : both) REQUIRE((c.fs->lookup(at.parent, at.name)->mode & 07777) == 0705);
  REQUIRE(c.has(c.directory, "new name", "old name"));
}

TEST_CASE("a row whose data is gone gets no older record's, though nothing else is left of the file",
          "[repair]") {
  CataloguedStore c;
  const auto put = [&c](const std::string& name, std::size_t size, char with) {
    auto file = c.fs->lookup(kRootInode, name);
    if (!file) file = c.fs->mknod(kRootInode, name, S_IFREG | 0640, 0, kRoot);
    AttributeChange cut;
    cut.size = 0;
    REQUIRE(c.fs->setattr(file->ino, cut, kRoot));
    REQUIRE(c.fs->write(file->ino, 0, as_bytes(std::string(size, with)), kRoot));
  };
  put("changed", 900, 'a');
  put("beside it", 6'000, 'f');
  REQUIRE(Reorganiser(*c.fs).consolidate_now());
  const Key key = c.fs->rehousing().entry_key({kRootInode, "changed"});
  const CompositeId before = c.fs->table().get_row(key)->find("changed")->inode->extent.composite;
  put("changed", 900, 'b');
  REQUIRE(Reorganiser(*c.fs).consolidate_now());
  const Inode now = *c.fs->table().get_row(key)->find("changed")->inode;
  REQUIRE(now.home == Home::composite);
  CompositeRow account = *decode_composite_row(**c.fs->table().get(Key::null_name(before)));
  account.freed_bytes = 0;  // of an earlier moment: the record counts as lost
  c.change_rows([&](Batch& batch) { batch.put(Key::null_name(before), encode_composite_row(account)); });
  flip_bit(c.store, CompositeStore::object_name(now.extent.composite), now.extent.offset + 100);
  REQUIRE(c.store.create("repair.unfinished", ObjectStore::Create::keep));
  const auto mended = repair_store(c.store, quiet());
  REQUIRE(mended);
  CAPTURE(*mended);
  REQUIRE_FALSE(any_says(*mended, "had an older row"));
  c.fs = std::move(*FileSystem::open(c.store, quiet()));
  std::string bytes(900, '\0');
  const auto read = c.fs->read(c.fs->lookup(kRootInode, "changed")->ino, 0, as_writable_bytes(bytes));
  REQUIRE_FALSE(read);
  REQUIRE(read.error().kind == ErrorKind::corruption);
}

TEST_CASE("attributes that were changed since the catalogue stay, whatever rows are lost beside them",
          "[repair]") {
  EntriesStore s;
  AttributeChange change;
  change.mode = 0604;
  change.uid = 4711;
  for (const InodeId changed : {s.directory, s.large, s.inlined})
    REQUIRE(s.fs->setattr(changed, change, kRoot));
  REQUIRE(s.fs->setxattr(s.inlined, "user.since", "the catalogue", XattrMode::any, kRoot));
  s.change_rows([&s](Batch& batch) { batch.erase(Key::null_name(s.linked)); });
  REQUIRE(s.store.create("repair.unfinished", ObjectStore::Create::keep));
  const Sentences mended = s.repaired();
  CAPTURE(mended);
  for (const EntryName& at :
       {EntryName{kRootInode, "directory"}, EntryName{s.below, "large"}, EntryName{kRootInode, "inline"}}) {
    INFO(at.name);
    const auto there = s.fs->lookup(at.parent, at.name);
    REQUIRE(there);
    REQUIRE((there->mode & 07777) == 0604);
    REQUIRE(there->uid == 4711);
  }
  REQUIRE(*s.fs->getxattr(s.inlined, "user.since") == "the catalogue");
}

TEST_CASE("a repair that takes large files back, and whose power is cut at any write, is gone on with",
          "[repair]") {
  EntriesStore s;
  s.lose_rows();
  std::uint64_t n = 1;
  for (bool finished = false; !finished; n += 3) {
    INFO(n);
    const CutRepair cut = repair_cut_at(n, s.store, true);
    finished = cut.finished;
    require_repair(*cut.left);
    s.fs = std::move(*FileSystem::open(*cut.left, quiet()));
    REQUIRE(*find_inconsistencies(*s.fs) == Sentences{});
    for (InodeId at = kRootInode; const char* name : {"directory", "below"}) at = s.fs->lookup(at, name)->ino;
    s.require_all_but_inline();
    s.fs.reset();
  }
  REQUIRE(n > 30);
}

}  // namespace cffs::test
