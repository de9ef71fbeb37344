// What lost its row gets its name from the catalogue, where there is one: never over a name that is there, and not what had been removed.
#include <catch2/catch.hpp>

#include "tests/passing_store.h"
#include "tests/unit/catalogued_store.h"
#include "tests/unit/rot.h"

namespace cffs::test {
namespace {

// The catalogue can be opened so often, and then there is no descriptor for it any more.
struct CatalogueForAWhile final : PassingStore {
  CatalogueForAWhile(MemoryStore& store, int times) : PassingStore(store), left(times) {}
  Result<std::shared_ptr<Object>> open(std::string_view name) override {
    if (name == kCatalogueObject && left-- <= 0) return fail(EMFILE, std::string(name));
    return PassingStore::open(name);
  }
  int left;
};

// Files of a few bytes, which are in the table: one of which the catalogue tells, and one that came and went before it. Then
// neither has a row.
struct DataWithoutRows : CataloguedStore {
  InodeId known, gone;
  DataWithoutRows() {
    known = small("known");
    gone = small("gone");
    REQUIRE(fs->unlink(kRootInode, "gone"));
    fs->forget(gone, 1);
    REQUIRE(fs->sync());
    REQUIRE(write_catalogue(*fs, [] { return true; }));
    const Key row = fs->rehousing().entry_key({kRootInode, "known"});
    change_rows([&](Batch& batch) {
      batch.erase(row);
      batch.put(Key::data(gone, 0), "gone");
    });
  }
  InodeId small(const std::string& name) {
    const auto file = fs->mknod(kRootInode, name, S_IFREG | 0640, 0, kRoot);
    REQUIRE(file);
    REQUIRE(fs->write(file->ino, 0, as_bytes(name), kRoot));
    return file->ino;
  }
  bool kept(InodeId ino) {
    const auto place = fs->lookup(kRootInode, "lost+found");
    return place && fs->lookup(place->ino, "#" + std::to_string(ino.value));
  }
};

}  // namespace

TEST_CASE("directories and members whose rows are lost get their names from the catalogue") {
  CataloguedStore c;
  c.lose_rows();
  const Sentences mended = c.repaired();
  REQUIRE(any_says(mended, "from the catalogue"));
  const auto directory = c.fs->lookup(kRootInode, "directory");
  REQUIRE(directory);
  REQUIRE(directory->ino == c.directory);
  REQUIRE((directory->mode & 07777) == 0750);
  const auto below = c.fs->lookup(c.directory, "below");
  REQUIRE(below);
  REQUIRE((below->mode & 07777) == 0711);
  REQUIRE(c.has(c.below, "deep", "deep"));
  REQUIRE(c.has(c.directory, "new name", "old name"));
  REQUIRE_FALSE(c.fs->lookup(kRootInode, "old name"));
  REQUIRE_FALSE(c.fs->lookup(kRootInode, "removed"));
  REQUIRE_FALSE(c.fs->lookup(kRootInode, "lost+found"));
}

TEST_CASE("without a catalogue directories are numbers, and what was removed may be back") {
  CataloguedStore c;
  c.lose_rows();
  REQUIRE(c.store.remove(kCatalogueObject));
  REQUIRE_FALSE(any_says(c.repaired(), "from the catalogue"));
  const auto kept = c.fs->lookup(kRootInode, "lost+found");
  REQUIRE(kept);
  REQUIRE(c.fs->lookup(kept->ino, "#" + std::to_string(c.below.value)));
  REQUIRE(c.has(c.below, "deep", "deep"));
  REQUIRE(c.has(kRootInode, "old name", "old name"));
}

TEST_CASE("data without a row is kept, but where a whole catalogue knew that its file was gone") {
  DataWithoutRows c;
  const Sentences mended = c.repaired();
  CHECK(any_says(
      mended, "data of inode " + std::to_string(c.gone.value) + " is that of a file that had been removed"));
  CHECK(c.kept(c.known));
  CHECK_FALSE(c.kept(c.gone));
}

TEST_CASE("a catalogue that cannot be read again tells nobody's removal") {
  for (const int times : {0, 1, 2}) {
    INFO("read " << times << " times");
    DataWithoutRows c;
    CatalogueForAWhile store(c.store, times);
    (void)repair_store(store, quiet());
    (void)c.repaired();
    CHECK(c.kept(c.known));
  }
}

TEST_CASE("data without a row is kept where the catalogue has lost what it knew of its file") {
  DataWithoutRows c;
  flip_bit(c.store, kCatalogueObject, 100);  // among its rows; its end is there
  const Sentences mended = c.repaired();
  CAPTURE(mended);
  CHECK(c.kept(c.known));
  CHECK(c.kept(c.gone));
}

TEST_CASE("a damaged catalogue is believed for what is whole of it, and tells nobody's removal") {
  CataloguedStore c;
  c.lose_rows();
  const auto catalogue = *c.store.open(kCatalogueObject);
  REQUIRE(catalogue->truncate((catalogue->info()->size - 1) / 4096 * 4096));
  const Sentences mended = c.repaired();
  CAPTURE(mended);
  REQUIRE(any_says(mended, "from the catalogue"));
  REQUIRE(c.fs->lookup(kRootInode, "directory"));
  REQUIRE(c.fs->lookup(c.directory, "below"));
  REQUIRE(c.has(c.below, "deep", "deep"));
  REQUIRE(c.has(kRootInode, "removed", "removed"));
}

TEST_CASE("a name that is there is never written over by one of the catalogue") {
  CataloguedStore c;
  c.lose_rows();
  FileSystemOptions options = quiet();
  options.keep_what_is_whole = true;
  {
    const auto fs = std::move(*FileSystem::open(c.store, options));
    REQUIRE(fs->skip_inodes(InodeId{100'000}));
    REQUIRE(fs->mknod(kRootInode, "directory", S_IFREG | 0600, 0, kRoot));
    REQUIRE(fs->close());
  }
  REQUIRE(c.store.create("repair.unfinished", ObjectStore::Create::keep));
  c.repaired();
  const auto taken = c.fs->lookup(kRootInode, "directory");
  REQUIRE(taken);
  REQUIRE((taken->mode & S_IFMT) == S_IFREG);
  REQUIRE(taken->size == 0);
  const auto kept = c.fs->lookup(kRootInode, "lost+found");
  REQUIRE(kept);
  REQUIRE(c.fs->lookup(kept->ino, "#" + std::to_string(c.directory.value)));
  REQUIRE(c.fs->lookup(c.directory, "below"));
  REQUIRE(c.has(c.below, "deep", "deep"));
}

TEST_CASE("a root whose row is lost comes back, with all that is below it") {
  CataloguedStore c;
  c.lose_root();
  REQUIRE_FALSE(FileSystem::open(c.store, quiet()));
  std::uint32_t expected = 0751;
  SECTION("with a catalogue") {}
  SECTION("without") {
    REQUIRE(c.store.remove(kCatalogueObject));
    expected = 0700;
  }
  REQUIRE(any_says(c.repaired(), "the root had no row"));
  const auto root = c.fs->getattr(kRootInode);
  REQUIRE(root);
  CHECK((root->mode & 07777) == expected);
  CHECK(root->nlink == 3);
  REQUIRE(c.fs->lookup(kRootInode, "directory")->ino == c.directory);
  REQUIRE(c.fs->lookup(c.directory, "below")->ino == c.below);
  CHECK(c.has(c.below, "deep", "deep"));
  CHECK(c.has(c.directory, "new name", "old name"));
  CHECK_FALSE(c.fs->lookup(kRootInode, "lost+found"));
}

}  // namespace cffs::test
