// What a repair brings back, what it keeps aside, and that it does no harm.
#include "core/repair/repair.h"

#include <catch2/catch.hpp>
#include <map>
#include <random>

#include "core/fs/recovery.h"
#include "core/inspect/consistency.h"
#include "core/object/memory_store.h"
#include "core/reorganise/reorganiser.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/test_seeds.h"

namespace cffs::test {
namespace {

using Sentences = std::vector<std::string>;

// Two directories with members, inline files, blobs and a hard link in each.
struct Tree {
  MemoryStore store;
  std::unique_ptr<FileSystem> fs;
  std::map<std::string, std::string> contents;  // "directory/name"
  std::map<std::string, InodeId> inodes;

  Tree() {
    StoreFormat format;
    format.inline_max = 512;
    format.composite_file_max = 8192;
    REQUIRE(FileSystem::format(store, repeatable(format), SystemClock()));
    fs = std::move(*FileSystem::open(store, quiet()));
    for (const std::string directory : {"one", "two"}) {
      inodes[directory] = fs->mkdir(kRootInode, directory, 0755, kRoot)->ino;
      for (int i = 0; i < 4; ++i) make(directory, "member" + std::to_string(i), 600);
      make(directory, "blob", 50'000);
    }
    REQUIRE(Reorganiser(*fs).consolidate_now());
    for (const std::string directory : {"one", "two"}) {
      make(directory, "inline", 300);
      REQUIRE(fs->link(inodes[directory + "/inline"], inodes[directory], "again"));
      contents[directory + "/again"] = contents[directory + "/inline"];
    }
    REQUIRE(fs->sync());  // what the engine has not written yet would mend what is damaged behind its back
  }
  void make(const std::string& directory, const std::string& name, std::size_t size) {
    const InodeId ino = fs->mknod(inodes[directory], name, S_IFREG | 0644, 0, kRoot)->ino;
    const std::string path = directory + "/" + name;
    contents[path] = std::string(size, static_cast<char>('a' + contents.size() % 26));
    inodes[path] = ino;
    REQUIRE(fs->write(ino, 0, as_bytes(contents[path]), kRoot));
  }
  std::pair<Key, Row> row_of(InodeId ino) {
    std::pair<Key, Row> found;
    REQUIRE(fs->table().scan_entries([&](Key key, const Row& row) {
      for (const Entry& entry : row.entries) {
        if (entry.ino == ino && entry.inode) found = {key, row};
      }
      return true;
    }));
    return found;
  }
  void erase(Key key) {
    Batch batch;
    batch.erase(key);
    REQUIRE(fs->table().write(batch));
  }
  // Damages behind the engine's back are for the next user; this one's caches go.
  Sentences repaired() {
    REQUIRE(fs->close());
    fs.reset();
    const auto mended = repair_store(store, quiet());
    INFO((mended ? "" : mended.error().message()));
    REQUIRE(mended);
    const auto again = repair_store(store, quiet());
    REQUIRE(again);
    REQUIRE(*again == Sentences{});  // nothing is left to do, and it did no harm
    fs = std::move(*FileSystem::open(store, quiet()));
    return *mended;
  }
  Sentences findings() { return *find_inconsistencies(*fs); }
  // The file's bytes, or why there are none.
  std::string read(const std::string& path) {
    InodeId at = kRootInode;
    std::size_t begin = 0;
    for (;;) {
      const std::size_t slash = path.find('/', begin);
      const auto a = fs->lookup(at, path.substr(begin, slash - begin));
      if (!a) return "lookup: " + std::to_string(a.error().errno_value);
      at = a->ino;
      if (slash == std::string::npos) {
        std::string bytes(a->size, '\0');
        const auto n = fs->read(at, 0, as_writable_bytes(bytes));
        return n ? bytes : "read: " + std::to_string(n.error().errno_value);
      }
      begin = slash + 1;
    }
  }
  void require_all_but(const std::string& lost) {
    for (const auto& [path, bytes] : contents) {
      INFO(path);
      if (!path.starts_with(lost)) REQUIRE(read(path) == bytes);
    }
  }
};

}  // namespace

TEST_CASE("a store that is whole is left as it is") {
  Tree tree;
  REQUIRE(tree.repaired() == Sentences{});
  REQUIRE(tree.findings() == Sentences{});
  tree.require_all_but("nothing");
}

TEST_CASE("a directory without a row comes back under its number") {
  Tree tree;
  const std::string number = std::to_string(tree.inodes["one"].value);
  tree.erase(tree.row_of(tree.inodes["one"]).first);
  REQUIRE(!tree.repaired().empty());
  REQUIRE(tree.findings() == Sentences{});
  tree.require_all_but("one/");
  for (const auto& [path, bytes] : tree.contents) {
    INFO(path);
    if (path.starts_with("one/")) REQUIRE(tree.read("lost+found/#" + number + path.substr(3)) == bytes);
  }
}

TEST_CASE("names that lead nowhere go, and the data that they led to is kept") {
  Tree tree;
  const InodeId ino = tree.inodes["one/inline"];
  tree.erase(Key::null_name(ino));
  REQUIRE(!tree.repaired().empty());
  REQUIRE(tree.findings() == Sentences{});
  REQUIRE(tree.read("one/inline") == "lookup: 2");
  REQUIRE(tree.read("lost+found/#" + std::to_string(ino.value)) == tree.contents["one/inline"]);
}

TEST_CASE("accounts and links agree with what is there") {
  Tree tree;
  const auto [key, row] = tree.row_of(tree.inodes["one/member0"]);
  const CompositeId id = row.find("member0")->inode->extent.composite;
  SECTION("a member's row is gone") { tree.erase(key); }
  SECTION("the composite's row is gone") { tree.erase(Key::null_name(id)); }
  SECTION("a directory counts wrongly") {
    auto [at, directory] = tree.row_of(tree.inodes["two"]);
    directory.find("two")->inode->nlink = 9;
    Batch batch;
    batch.put_row(at, directory);
    REQUIRE(tree.fs->table().write(batch));
  }
  SECTION("the root counts wrongly") {
    auto [at, root] = tree.row_of(kRootInode);
    root.find("")->inode->nlink = 9;
    Batch batch;
    batch.put_row(at, root);
    REQUIRE(tree.fs->table().write(batch));
  }
  SECTION("a linked file counts wrongly") {
    const Key at = Key::null_name(tree.inodes["two/inline"]);
    Row linked = *tree.fs->table().get_row(at);
    linked.find("")->inode->nlink = 7;
    Batch batch;
    batch.put_row(at, linked);
    REQUIRE(tree.fs->table().write(batch));
  }
  REQUIRE(!tree.repaired().empty());
  REQUIRE(tree.findings() == Sentences{});
  tree.require_all_but("one/member0");
}

TEST_CASE("an object whose row is gone is kept in the store") {
  Tree tree;
  const InodeId ino = tree.inodes["two/blob"];
  tree.erase(tree.row_of(ino).first);
  REQUIRE(!tree.repaired().empty());
  REQUIRE(tree.findings() == Sentences{});
  tree.require_all_but("two/blob");
  const auto kept = *tree.store.list(Recovery::kLostAndFound);
  REQUIRE(kept.size() == 1);
  std::string bytes(50'000, '\0');
  REQUIRE(*(*tree.store.open(kept[0]))->read_at(0, as_writable_bytes(bytes)) == bytes.size());
  REQUIRE(bytes == tree.contents["two/blob"]);
}

TEST_CASE("whatever byte of the table is wrong, a repair ends in a store that is used again") {
  for (const std::uint64_t seed : seeds(40)) {
    INFO("seed " << seed);
    std::mt19937_64 random(seed);
    Tree tree;
    if (random() % 2 == 0) {
      tree.fs->table().compact();
      tree.make("one", "late", 300);
    }
    REQUIRE(tree.fs->close());
    tree.fs.reset();
    const auto names = *tree.store.list("table");
    const std::string& name = names[random() % names.size()];
    const auto object = *tree.store.open(name);
    std::string bytes(object->info()->size, '\0');
    REQUIRE(object->read_at(0, as_writable_bytes(bytes)));
    if (bytes.empty()) continue;
    const std::size_t at = random() % bytes.size();
    INFO(name << ", byte " << at << " of " << bytes.size());
    if (random() % 2 == 0) {
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    } else {
      const std::size_t n = std::min<std::size_t>(bytes.size() - at, 512);
      bytes.replace(at, n, std::string(n, '\0'));
    }
    REQUIRE(object->write_at(0, as_bytes(bytes)));
    const auto mended = repair_store(tree.store, quiet());
    if (!mended) {  // nothing can be done without the root's row
      REQUIRE(mended.error().kind == ErrorKind::corruption);
      continue;
    }
    auto opened = FileSystem::open(tree.store, quiet());
    REQUIRE(opened);
    tree.fs = std::move(*opened);
    for (const std::string& sentence : tree.findings()) {  // what cannot come back
      INFO(sentence);
      REQUIRE((sentence.find(" bytes are in the table") != std::string::npos ||
               sentence.find(" is missing") != std::string::npos));
    }
    for (const auto& [path, content] : tree.contents) {
      INFO(path);
      const std::string now =
          tree.read(path);  // as it was, gone, or as it was before it was filled: never something else
      REQUIRE((now == content || now == "lookup: 2" || now.empty() || now == "read: 5"));
    }
    const auto made = tree.fs->mknod(kRootInode, "new", S_IFREG | 0600, 0, kRoot);
    REQUIRE(made);
    REQUIRE(tree.fs->write(made->ino, 0, as_bytes("usable"), kRoot));
    REQUIRE(tree.read("new") == "usable");
  }
}

TEST_CASE("pieces of data that nothing refers to come back without zeros that nobody wrote", "[repair]") {
  Tree tree;
  const InodeId member = tree.inodes["one/member0"], nobody{900'000'000};
  Batch batch;
  batch.put(Key::data(member, 1), "m");  // what its move out of the table has left
  batch.put(Key::data(nobody, 0), std::string(kChunkBytes, 'n'));
  batch.put(Key::data(nobody, 2), "t");
  REQUIRE(tree.fs->table().write(batch));
  REQUIRE(!tree.repaired().empty());
  REQUIRE(tree.findings() == Sentences{});
  tree.require_all_but("nothing");
  const std::string number = std::to_string(member.value);
  REQUIRE(tree.read("lost+found/#" + number) == "lookup: 2");
  REQUIRE(tree.read("lost+found/#" + number + "-1") == "lookup: 2");
  REQUIRE((tree.read("lost+found/#900000000") == std::string(kChunkBytes, 'n')));
  REQUIRE(tree.read("lost+found/#900000000-2") == "t");
}

TEST_CASE("data without a row stays in the table as long as it finds no place", "[repair]") {
  Tree tree;
  const InodeId nobody{900'000'000};
  const auto in_the_way = tree.fs->mknod(kRootInode, "lost+found", S_IFREG | 0644, 0, kRoot);
  REQUIRE(in_the_way);
  Batch batch;
  batch.put(Key::data(nobody, 0), "somebody's");
  REQUIRE(tree.fs->table().write(batch));
  REQUIRE(tree.fs->close());
  tree.fs.reset();
  const auto refused = repair_store(tree.store, quiet());
  REQUIRE_FALSE(refused);
  REQUIRE(refused.error().errno_value == ENOTDIR);
  tree.fs = std::move(*FileSystem::open(tree.store, quiet()));
  REQUIRE(tree.fs->rename(kRootInode, "lost+found", kRootInode, "found", RenameMode::replace, kRoot));
  REQUIRE(!tree.repaired().empty());
  REQUIRE(tree.read("lost+found/#900000000") == "somebody's");
  tree.require_all_but("nothing");
}

}  // namespace cffs::test
