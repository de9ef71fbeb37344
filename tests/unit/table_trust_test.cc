// What the table is trusted with: a damaged log, manifest or table file is told, and never replayed around; a torn tail is no
// damage; nothing is removed after a replay that left something out.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "core/fs/new_file.h"
#include "core/fs/recovery.h"
#include "core/inspect/consistency.h"
#include "core/object/faulty_store.h"
#include "core/object/log_filler.h"
#include "core/object/memory_store.h"
#include "core/repair/repair.h"
#include "core/table/pending_removal.h"
#include "core/table/replay_check.h"
#include "core/table/table_log.h"
#include "core/table/value_log.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/unit/object_bytes.h"
#include "tests/unit/rot.h"

namespace cffs::test {
namespace {

std::map<std::string, std::string> tree_of(FileSystem& fs) {
  std::map<std::string, std::string> tree;
  std::vector<std::string> names;
  REQUIRE(fs.readdir(kRootInode, 0, false, [&](const DirectoryEntry& e) {
    names.emplace_back(e.name);
    return true;
  }));
  for (const std::string& name : names) {
    if (name == "." || name == "..") continue;
    const auto a = fs.lookup(kRootInode, name);
    REQUIRE(a);
    std::string bytes(a->size, '\0');
    const auto n = fs.read(a->ino, 0, as_writable_bytes(bytes));
    REQUIRE(n);
    bytes.resize(*n);
    fs.forget(a->ino, 1);
    tree[name] = bytes;
  }
  return tree;
}
void make(FileSystem& fs, const std::string& name, const std::string& content, bool durable) {
  const auto made = fs.mknod(kRootInode, name, S_IFREG | 0600, 0, kRoot);
  REQUIRE(made);
  REQUIRE(fs.write(made->ino, 0, as_bytes(content), kRoot));
  if (durable) REQUIRE(fs.fsync(made->ino));
  fs.forget(made->ino, 1);
}

// A store whose log holds many files, each synced: a few of them blobs.
struct Busy {
  MemoryStore store;
  std::unique_ptr<FileSystem> fs;
  std::map<std::string, std::string> all;
  std::string log;

  explicit Busy(int files = 120) {
    StoreFormat format;
    format.inline_max = 512;
    format.composite_file_max = 4096;
    REQUIRE(FileSystem::format(store, repeatable(format), SystemClock()));
    fs = std::move(*FileSystem::open(store, all_in_rows()));
    for (int i = 0; i < files; ++i) {
      const std::string name = "file" + std::to_string(i);
      all[name] = std::string(i % 10 == 0 ? 20'000 : 700, static_cast<char>('a' + i % 26));
      make(*fs, name, all[name], true);
    }
    log = only_object(store, ".log");
  }
};

FileSystemOptions keeping() {
  FileSystemOptions options = quiet();
  options.keep_what_is_whole = true;
  return options;
}

}  // namespace

TEST_CASE("a log is read as LevelDB wrote it, and again as written here") {
  Busy busy;
  const std::string bytes = bytes_of(busy.store, busy.log);
  const LogContent content = read_log(bytes);
  REQUIRE_FALSE(content.damaged());
  REQUIRE(content.behind.empty());
  REQUIRE(content.before.size() > 240);
  std::vector<const LogRecord*> records;
  for (const LogRecord& record : content.before) records.push_back(&record);
  REQUIRE(write_log(records) == bytes.substr(0, content.size));
  REQUIRE(content.has_room);  // it is synced often
  REQUIRE(bytes.substr(content.size) == log_filler(content.size, bytes.size() - content.size));
}

// A size that changes is a journal's commit in the file system below, for each sync.
TEST_CASE("a log that is synced often seldom grows, and ends with its records when it is closed") {
  Busy busy(2);
  std::set<std::size_t> sizes;
  for (int i = 0; i < 100; ++i) {
    make(*busy.fs, "synced" + std::to_string(i), std::string(900, 's'), true);
    sizes.insert(bytes_of(busy.store, busy.log).size());
  }
  REQUIRE(sizes.size() <= 2);
  REQUIRE(busy.fs->close());
  busy.fs.reset();
  const std::string closed = bytes_of(busy.store, busy.log);
  const LogContent content = read_log(closed);
  REQUIRE_FALSE(content.damaged());
  REQUIRE_FALSE(content.has_room);
}

TEST_CASE("a log that is synced seldom gets no room") {
  Busy busy(0);
  for (int i = 0; i < 300; ++i)
    make(*busy.fs, "late" + std::to_string(i), std::string(900, 'l'), i % 100 == 99);
  REQUIRE_FALSE(read_log(bytes_of(busy.store, busy.log)).has_room);
}

TEST_CASE("damage in what was durable is refused, and names object, byte and cure") {
  Busy busy;
  const std::string whole = bytes_of(busy.store, busy.log);
  const std::size_t end = read_log(whole).size, at = end / 2;
  std::string damaged = whole;
  SECTION("a flipped bit") { damaged[at] = static_cast<char>(damaged[at] ^ 4); }
  SECTION("a page of zeros") { damaged.replace(at / 4096 * 4096, 4096, std::string(4096, '\0')); }
  SECTION("in the last record that was synced") {
    constexpr std::size_t kNote = 54;  // the record that says so
    damaged[end - kNote - 1] ^= 1;
  }
  SECTION("half of the log is gone, and the closed store says so") {
    REQUIRE(busy.fs->close());
    std::string log = bytes_of(busy.store, busy.log);
    damaged = log.replace(at / 4096 * 4096, 4096, std::string(4096, '\0'));
  }
  const auto image = copy_of(busy.store);
  replace(*image, busy.log, damaged);
  const auto before = image->list("");
  for (int round = 0; round < 2; ++round) {
    const auto opened = FileSystem::open(*image, quiet());
    REQUIRE_FALSE(opened);
    REQUIRE(opened.error().kind == ErrorKind::corruption);
    const std::string said = opened.error().message();
    REQUIRE(said.find(busy.log + " is damaged at byte ") != std::string::npos);
    REQUIRE(said.find("cffs fsck --repair") != std::string::npos);
  }
  REQUIRE(*image->list("") == *before);  // refusing changes nothing
  REQUIRE(bytes_of(*image, busy.log) == damaged);
}

// What an import wrote is a few long records, and in rows nearly everything looks like the header of one.
TEST_CASE("damage in a long record of a closed store is refused, however many rows it has") {
  for (const int files : {100, 300, 500}) {
    MemoryStore store;
    REQUIRE(FileSystem::format(store, repeatable(), SystemClock()));
    {
      const auto fs = std::move(*FileSystem::open(store, quiet()));
      std::vector<NewFile> group;
      for (int i = 0; i < files; ++i) {
        Inode inode;
        inode.mode = S_IFREG | 0644;
        group.push_back({kRootInode, "file" + std::to_string(i), inode, std::string(3000, 'x')});
      }
      REQUIRE(fs->load({group}));
      REQUIRE(fs->close());
    }
    const auto names = store.list("table");
    const auto name =
        std::find_if(names->begin(), names->end(), [](const std::string& n) { return n.ends_with(".log"); });
    REQUIRE(name != names->end());
    const std::string whole = bytes_of(store, *name);
    const std::size_t size = read_log(whole).size;
    REQUIRE(size > 5000);
    for (const std::size_t at : {std::size_t{600}, std::size_t{2500}, size / 2}) {
      INFO(files << " files, byte " << at << " of " << size);
      std::string damaged = whole;
      damaged[at] = static_cast<char>(~damaged[at]);
      const auto image = copy_of(store);
      replace(*image, *name, damaged);
      const auto opened = FileSystem::open(*image, quiet());
      REQUIRE_FALSE(opened);
      CHECK(opened.error().kind == ErrorKind::corruption);
    }
  }
}

TEST_CASE("what is whole on both sides of the damage is kept when asked, and nothing is removed") {
  Busy busy;
  std::string log = bytes_of(busy.store, busy.log);
  const std::size_t at = read_log(log).size / 2;
  log[at] = static_cast<char>(log[at] ^ 4);
  const auto image = copy_of(busy.store);
  replace(*image, busy.log, log);
  const std::size_t objects = image->list("blobs")->size();
  std::vector<std::string> said;
  FileSystemOptions options = keeping();
  options.log = [&](const std::string& line) { said.push_back(line); };
  auto opened = FileSystem::open(*image, options);
  REQUIRE(opened);
  const auto tree = tree_of(**opened);
  REQUIRE(tree.size() + 2 >= busy.all.size());
  for (const auto& [name, bytes] : tree) REQUIRE((bytes == busy.all[name] || bytes.empty()));
  REQUIRE(tree.contains("file0"));
  REQUIRE(tree.contains("file119"));
  REQUIRE(image->list("blobs")->size() + image->list(Recovery::kLostAndFound)->size() == objects);
  REQUIRE(!said.empty());
  REQUIRE((*opened)->close());
  opened->reset();
  REQUIRE(FileSystem::open(*image, quiet()));  // whole again
}

TEST_CASE("a tail that was not durable is left out, wherever it is torn, and what was durable is there") {
  Busy busy(20);
  const std::uint64_t synced = read_log(bytes_of(busy.store, busy.log)).size;
  for (int i = 0; i < 10; ++i) make(*busy.fs, "late" + std::to_string(i), std::string(900, 'l'), false);
  const std::string with_room = bytes_of(busy.store, busy.log);
  const std::string whole = with_room.substr(0, read_log(with_room).size);
  const auto check = [&](const std::string& log) {
    const auto image = copy_of(busy.store);
    replace(*image, busy.log, log);
    auto opened = FileSystem::open(*image, quiet());
    REQUIRE(opened);
    const auto tree = tree_of(**opened);
    for (const auto& [name, bytes] : busy.all) REQUIRE(tree.at(name) == bytes);
    bool gap = false;  // the late ones are a prefix; of the last there may be the name alone
    for (int i = 0; i < 10; ++i) {
      const auto late = tree.find("late" + std::to_string(i));
      REQUIRE_FALSE((gap && late != tree.end()));
      gap = gap || late == tree.end() || late->second.empty();
    }
    REQUIRE((*opened)->close());
  };
  for (std::size_t cut = synced; cut < whole.size(); cut += 331) check(whole.substr(0, cut));
  for (std::size_t sector = synced / 512 + 1; sector * 512 < whole.size(); sector += 3) {
    std::string log = whole;
    const std::size_t length = std::min<std::size_t>(512, whole.size() - sector * 512);
    log.replace(sector * 512, 512, std::string(length, '\0'));
    check(log);
    // In room that was durable already the sector is as it was before; and what lies behind it may be, too.
    log = with_room;
    log.replace(sector * 512, length, log_filler(sector * 512, length));
    check(log);
    check(whole.substr(0, sector * 512) + log_filler(sector * 512, with_room.size() - sector * 512));
  }
}

// The medium has of two logs what it likes, until one of them is synced: the end of the earlier one may be missing, between two records.
TEST_CASE("what is in a log is left out where the one before it lost its end") {
  MemoryStore store;
  std::vector<std::function<void()>> work;  // LevelDB's: the earlier log stays until it is done
  TableOptions options;
  options.create = true;
  options.write_buffer_bytes = 64 << 10;
  options.run_later = [&](std::function<void()> run) { work.push_back(std::move(run)); };
  std::unique_ptr<MemoryStore> cut;
  const auto key = [](std::uint64_t i) { return Key::entry(kRootInode, i + 1); };
  std::uint64_t rows = 0;
  bool synced = false;
  const auto logs_of = [](ObjectStore& of) {
    auto names = *of.list("table");
    std::erase_if(names, [](const std::string& name) { return !name.ends_with(".log"); });
    std::sort(names.begin(), names.end());
    return names;
  };
  SECTION("nothing is known to be durable") {}
  SECTION("a sync was behind it") { synced = true; }
  {
    const auto table = std::move(*Table::open(store, options));
    const auto write_row = [&] {
      Batch batch;
      batch.put(key(rows++), std::string(1000, 'x'));
      REQUIRE(table->write(batch));
    };
    while (logs_of(store).size() < 2) write_row();
    for (int i = 0; i < 5; ++i) write_row();
    if (synced) REQUIRE(table->sync());
    cut = copy_of(store);
    while (!work.empty()) {
      for (const auto& run : std::exchange(work, {})) run();
    }
  }
  const auto logs = logs_of(*cut);
  REQUIRE(logs.size() == 2);
  const LogContent earlier = read_log(bytes_of(*cut, logs.front()));
  REQUIRE(earlier.before.size() > 40);
  options = TableOptions();
  for (const std::size_t left :
       {earlier.before.size(), earlier.before.size() - 1, std::size_t{7}, std::size_t{0}}) {
    INFO(left);
    const auto found = copy_of(*cut);
    const std::uint64_t end = left > 0 ? earlier.before[left - 1].end : 0;
    replace(*found, logs.front(), bytes_of(*cut, logs.front()).substr(0, end));
    const bool whole = left == earlier.before.size();
    const auto opened = Table::open(*found, options);
    if (synced && !whole) {  // that is no power cut's
      REQUIRE(!opened);
      CHECK(opened.error().message().find("which had been durable") != std::string::npos);
      continue;
    }
    REQUIRE(opened);
    CHECK((*opened)->dropped().empty() == whole);
    for (std::uint64_t i = 0; i < rows; ++i) {
      INFO(i);
      const auto value = (*opened)->get(key(i));
      REQUIRE(value);
      CHECK(value->has_value() == (whole || i < left));
    }
  }
}

TEST_CASE("every bit of every table object: the tree is the same, or an error is told") {
  Busy busy(40);
  const auto all = tree_of(*busy.fs);
  bool compacted = GENERATE(false, true);
  if (compacted) {
    busy.fs->table().compact();
    make(*busy.fs, "last", "in the log", true);
  }
  REQUIRE(busy.fs->close());
  busy.fs.reset();
  auto wanted = all;
  if (compacted) wanted["last"] = "in the log";
  const auto names = *busy.store.list("table");
  for (const std::string& name : names) {
    const std::string whole = bytes_of(busy.store, name);
    for (std::size_t at = 0; at<whole.size(); at += whole.size()> 4096 ? 127 : 5) {
      INFO(name << ", byte " << at);
      std::string flipped = whole;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << at % 8));
      const auto image = copy_of(busy.store);
      replace(*image, name, flipped);
      for (int round = 0; round < 2; ++round) {
        const auto opened = FileSystem::open(*image, quiet());
        if (!opened) break;
        FileSystem& fs = **opened;
        std::map<std::string, std::string> tree;
        bool told = false;
        if (!fs.readdir(kRootInode, 0, false, [&](const DirectoryEntry& e) {
              if (e.name != "." && e.name != "..") tree[std::string(e.name)];
              return true;
            })) {
          told = true;
        }
        for (auto& [each, bytes] : tree) {
          const auto a = fs.lookup(kRootInode, each);
          if (!a) {
            told = true;
            continue;
          }
          bytes.resize(a->size);
          if (!fs.read(a->ino, 0, as_writable_bytes(bytes))) told = true;
        }
        if (!told) REQUIRE(tree == wanted);
        fs.table().compact();
      }
    }
  }
}

TEST_CASE("a failed append to the log ends its use: nothing is acknowledged behind the gap") {
  for (std::uint64_t n = 1; n < 12; ++n) {
    INFO("write " << n);
    FaultyStore store;
    REQUIRE(FileSystem::format(store, repeatable(), SystemClock()));
    auto fs = std::move(*FileSystem::open(store, quiet()));
    store.fail_operation(n, EIO, FaultyStore::Persistence::once);
    std::map<std::string, std::string> acknowledged;
    for (int i = 0; i < 8; ++i) {
      const std::string name = "file" + std::to_string(i);
      const auto made = fs->mknod(kRootInode, name, S_IFREG | 0600, 0, kRoot);
      if (!made) continue;
      if (fs->write(made->ino, 0, as_bytes(name), kRoot)) acknowledged[name] = name;
    }
    const auto image = copy_of(store);
    auto again = FileSystem::open(*image, quiet());
    REQUIRE(again);
    const auto tree = tree_of(**again);
    for (const auto& [name, bytes] : acknowledged) REQUIRE(tree.at(name) == bytes);
  }
}

TEST_CASE("what a killed process left with the kernel is made durable by the next") {
  FaultyStore store;
  REQUIRE(FileSystem::format(store, repeatable(), SystemClock()));
  const std::string large(300'000, 'x');
  {
    auto fs = std::move(*FileSystem::open(store, quiet()));
    make(*fs, "large", large, false);
    store.fail_operation(1, EIO, FaultyStore::Persistence::from_then_on);  // dead: it closes nothing
  }
  store.fail_operation(0, 0, FaultyStore::Persistence::once);
  {
    auto fs = std::move(*FileSystem::open(store, quiet()));
    make(*fs, "other", "o", true);
    REQUIRE(fs->sync());
    const auto survivor = store.power_cut(7);
    auto after = FileSystem::open(*survivor, quiet());
    REQUIRE(after);
    REQUIRE(tree_of(**after).at("large") == large);
  }
}

TEST_CASE("a device that loses what it had not written, while the machine lives, is found out") {
  FaultyStore store;
  REQUIRE(FileSystem::format(store, repeatable(), SystemClock()));
  auto fs = std::move(*FileSystem::open(store, quiet()));
  make(*fs, "large", std::string(300'000, 'x'), false);
  make(*fs, "other", "o", true);  // the log is durable, and the large one's row with it
  const auto survivor = store.power_cut(3);
  auto after = FileSystem::open(*survivor, quiet());  // the same boot
  REQUIRE(after);
  REQUIRE(*find_inconsistencies(**after) == std::vector<std::string>{});
  const auto a = (*after)->lookup(kRootInode, "large");
  REQUIRE(a);
  std::string bytes(a->size, '\0');
  REQUIRE(*(*after)->read(a->ino, 0, as_writable_bytes(bytes)) == a->size);
}

TEST_CASE("an object that a row names is not removed because of a stale intent") {
  Busy busy(20);
  const auto a = busy.fs->lookup(kRootInode, "file10");
  Batch batch;
  batch.put(PendingRemoval::of_blob(a->ino).key(), {});
  REQUIRE(busy.fs->table().write(batch));
  const auto image = copy_of(busy.store);
  auto opened = FileSystem::open(*image, quiet());
  REQUIRE(opened);
  REQUIRE((*opened)->sync());
  REQUIRE(tree_of(**opened).at("file10") == busy.all["file10"]);
}

TEST_CASE("a file of the table that is gone is told, and what is left can be had") {
  MemoryStore store;
  REQUIRE(FileSystem::format(store, StoreFormat(), SystemClock()));
  {
    auto fs = std::move(*FileSystem::open(store, quiet()));
    for (int i = 0; i < 20; ++i) make(*fs, "old" + std::to_string(i), std::string(3000, 'o'), false);
    fs->table().compact();
    REQUIRE(fs->close());
  }
  {  // what was in the log is in a table file by now
    auto fs = std::move(*FileSystem::open(store, quiet()));
    make(*fs, "new", "in the log", true);
    REQUIRE(fs->close());
  }
  const auto names = *store.list("table");
  REQUIRE(names.size() >= 5);
  for (const std::string& name : names) {
    if (name.ends_with(kCloseNote)) continue;  // a hint: stores of older programs have none
    INFO(name);
    const auto left = copy_of(store);
    REQUIRE(left->remove(name));
    const auto refused = FileSystem::open(*left, quiet());
    REQUIRE(!refused);
    REQUIRE(refused.error().kind == ErrorKind::corruption);
    REQUIRE(repair_store(*left, quiet()));
    auto fs = std::move(*FileSystem::open(*left, quiet()));
    REQUIRE(find_inconsistencies(*fs)->empty());
    const auto tree = tree_of(*fs);
    if (!name.ends_with(".log")) REQUIRE(tree.at("new") == "in the log");
    if (!name.ends_with(".ldb")) REQUIRE(tree.at("old7") == std::string(3000, 'o'));
  }
  for (const std::string& name : names) REQUIRE(store.remove(name));
  const auto none = FileSystem::open(store, quiet());
  REQUIRE(!none);
  REQUIRE(none.error().message().find("has no table") != std::string::npos);
}

TEST_CASE("a superblock that is gone or damaged is put back from its copy, and the copy from it") {
  MemoryStore store;
  REQUIRE(FileSystem::format(store, StoreFormat(), SystemClock()));
  {
    auto fs = std::move(*FileSystem::open(store, quiet()));
    make(*fs, "file", "content", true);
    REQUIRE(fs->close());
  }
  const std::string whole = bytes_of(store, "superblock");
  const std::string victim = GENERATE("superblock", "superblock.copy");
  SECTION("gone") {
    if (victim == "superblock") REQUIRE(store.remove(victim));
  }
  SECTION("cut") { replace(store, victim, whole.substr(0, 30)); }
  SECTION("of another kind") { replace(store, victim, std::string(100, 'x')); }
  SECTION("one byte") {
    std::string bytes = whole;
    bytes[50] = static_cast<char>(bytes[50] ^ 1);
    replace(store, victim, bytes);
  }
  const bool opens = victim != "superblock";
  const auto opened = FileSystem::open(store, quiet());
  REQUIRE(opened.has_value() == opens);
  if (!opens) REQUIRE(opened.error().message().find("its copy is whole") != std::string::npos);
  if (opens) {
    REQUIRE(find_inconsistencies(**opened)->size() == (bytes_of(store, victim) == whole ? 0 : 1));
    REQUIRE((*opened)->close());
  }
  REQUIRE(repair_store(store, quiet()));
  REQUIRE(bytes_of(store, "superblock") == whole);
  REQUIRE(bytes_of(store, "superblock.copy") == whole);
  auto fs = std::move(*FileSystem::open(store, quiet()));
  REQUIRE(tree_of(*fs).at("file") == "content");
}

TEST_CASE(
    "a value that was durable and has rotted is told to its reader, and its row is not taken for torn") {
  MemoryStore store;
  TableOptions options;
  options.create = options.values_apart = true;
  options.values = {.after_bytes = 0, .least_bytes = 100, .object_bytes = 2000};
  const Key key = Key::data(InodeId{7}, 0);
  {
    const auto table = std::move(*Table::open(store, options));
    table->put_values_apart(true);
    Batch batch;
    batch.put(key, std::string(500, 'v'));
    REQUIRE(table->write(batch));
    REQUIRE(table->sync());  // a note of it is behind it, and nothing else
  }
  flip_bit(store, store.list(kValueFolder)->front(), 250);
  options.create = false;
  const auto table = Table::open(store, options);
  REQUIRE(table);
  REQUIRE((*table)->dropped().empty());
  const auto value = (*table)->get(key);
  REQUIRE_FALSE(value);
  REQUIRE(value.error().kind == ErrorKind::corruption);
}

}  // namespace cffs::test
