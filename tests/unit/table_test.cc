// Keys, rows, the table, the inode counter, row locks.
#include "core/table/table.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <set>
#include <thread>

#include "core/object/faulty_store.h"
#include "core/object/memory_store.h"
#include "core/table/inode_counter.h"
#include "core/table/name_hash.h"
#include "core/table/row_locks.h"
#include "tests/unit/rot.h"

namespace cffs::test {
namespace {

Inode sample_inode() {
  Inode n;
  n.ino = InodeId{77};
  n.mode = S_IFREG | 04751;
  n.uid = 1000;
  n.gid = 65534;
  n.nlink = 3;
  n.size = 123456;
  n.mtime_ns = 1'700'000'000'123'456'789;
  n.ctime_ns = n.mtime_ns + 5;
  n.atime_ns = -1'000'000'000'000'000'000;  // before 1970
  n.btime_ns = 0;
  n.version = 9;
  n.home = Home::composite;
  n.extent = {CompositeId{500}, 12, 4096, 123456, 123460, 0xdeadbeefcafef00d, 32, 999999, true};
  n.xattrs = {{"user.a", "1"}, {"user.b", std::string("\0x", 2)}};
  return n;
}

bool equal(const Inode& a, const Inode& b) {
  std::string x, y;
  encode_inode(x, a);
  encode_inode(y, b);
  return x == y && a.extent == b.extent && a.xattrs == b.xattrs;
}

std::unique_ptr<Table> open(ObjectStore& store, bool create) {
  TableOptions options;
  options.create = create;
  return std::move(*Table::open(store, options));
}

}  // namespace

TEST_CASE("keys sort like their numbers and keep directories together") {
  const Key keys[] = {Key::null_name(kRootInode), Key::entry(InodeId{1}, 5),   Key::entry(InodeId{1}, ~0ull),
                      Key::entry(InodeId{2}, 0),  Key::entry(InodeId{256}, 1), Key::data(InodeId{0}, 0)};
  for (std::size_t i = 0; i + 1 < std::size(keys); ++i) {
    REQUIRE(keys[i] < keys[i + 1]);
    REQUIRE(EncodedKey(keys[i]).view() < EncodedKey(keys[i + 1]).view());
    REQUIRE(decode_key(EncodedKey(keys[i]).view()) == keys[i]);
  }
  REQUIRE(EncodedKey(keys[1]).view().size() == 16);
  REQUIRE(Key::data(InodeId{7}, 3).tag() == KeyTag::file_data);
  REQUIRE(Key::data(InodeId{7}, 3).number() == 7);
}

TEST_CASE("rows survive encoding") {
  Row row;
  row.insert({"zebra", InodeId{77}, S_IFREG, sample_inode()});
  row.insert({std::string("odd\nname\xff"), InodeId{78}, S_IFLNK, std::nullopt});
  const auto back = decode_row(encode_row(row));
  REQUIRE(back);
  REQUIRE(back->entries.size() == 2);
  REQUIRE(back->find("zebra") != nullptr);
  REQUIRE(equal(*back->find("zebra")->inode, sample_inode()));
  REQUIRE(back->find("odd\nname\xff")->ino == InodeId{78});
  REQUIRE(!back->find("odd\nname\xff")->inode);
  REQUIRE(back->find("zebr") == nullptr);
  Row single;
  single.insert({"zebra", InodeId{77}, S_IFREG, sample_inode()});
  REQUIRE(encode_row(single) == encode_single_row("zebra", sample_inode()));

  const CompositeRow composite{0100644, 1, 2, 3, 4, 5, 6, 7, 1};
  REQUIRE(encode_composite_row(*decode_composite_row(encode_composite_row(composite))) ==
          encode_composite_row(composite));
  const Key null_name{500, 0};
  const Key other{500, 7};
  REQUIRE(row_kind(null_name, encode_composite_row(composite)) == RowKind::composite);
  REQUIRE(row_kind(null_name, encode_row(row)) == RowKind::entries);
  REQUIRE(row_kind(other, encode_row(row)) == RowKind::entries);
  // A member that moved below inode 129: its row begins with the byte that begins a composite's.
  REQUIRE(row_kind(other, std::string("\x81\x01\x01"
                                      "a")) == RowKind::member_files);
}

TEST_CASE("no damage to a row's bytes goes further than an error") {
  Row row;
  row.insert({"name", InodeId{77}, S_IFREG, sample_inode()});
  const std::string good = encode_row(row);
  for (std::size_t n = 0; n < good.size(); ++n) REQUIRE(!decode_row(good.substr(0, n)));
  REQUIRE(!decode_row(good + "x"));
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      (void)decode_row(bad);  // any answer, no crash: LevelDB's checksum has the last word
      (void)decode_composite_row(bad);
    }
  }
}

TEST_CASE("batches are atomic and ordered, and survive reopening") {
  MemoryStore store;
  {
    auto table = open(store, true);
    Batch batch;
    batch.put({1, 1}, "a");
    batch.put({1, 2}, "b");
    batch.erase({1, 1});
    REQUIRE(table->write(batch));
    REQUIRE(table->sync());
  }
  auto table = open(store, false);
  REQUIRE(!*table->get({1, 1}));
  REQUIRE(**table->get({1, 2}) == "b");
  REQUIRE(table->get_row({9, 9})->entries.empty());
  std::vector<Key> seen;
  Batch more;
  for (std::uint64_t i = 0; i < 10; ++i) more.put({2, i}, "x");
  REQUIRE(table->write(more));
  REQUIRE(table->scan({2, 3}, {2, 7}, [&](Key key, std::string_view) { return seen.push_back(key), true; }));
  REQUIRE(seen.size() == 5);
  REQUIRE(seen.front() == Key{2, 3});
}

TEST_CASE("scans decode rows and say what is malformed") {
  MemoryStore store;
  const auto table = open(store, true);
  Inode root;
  root.mode = S_IFDIR | 0755;
  const InodeId directory{5};
  const CompositeId composite{9};
  Batch batch;
  batch.put(Key::null_name(kRootInode), encode_single_row("", root));
  batch.put(Key::entry(kRootInode, 10), encode_single_row("first", sample_inode()));
  batch.put(Key::entry(kRootInode, 20), "rot");
  batch.put(Key::entry(kRootInode, 30), encode_single_row("last", sample_inode()));
  batch.put(Key::entry(directory, 1), encode_single_row("below", sample_inode()));
  batch.put(Key::null_name(composite), encode_composite_row({}));
  batch.put(Key::member_files(composite, 3), encode_member_files({{{{}, {directory, "away"}}}}));
  batch.put(Key::member_files(CompositeId{11}, 3), encode_member_files({{{{}, {directory, "of no composite"}}}}));
  batch.put(Key::data(InodeId{77}, 0), "not of the namespace");
  REQUIRE(table->write(batch));

  std::vector<std::string> names;
  const auto collect = [&](Key, const Row& row) {
    for (const Entry& entry : row.entries) names.push_back(entry.name);
    return true;
  };
  SECTION("a directory without its own row, from any hash on") {
    REQUIRE(table->scan_directory(directory, 0, collect));
    REQUIRE(table->scan_directory(directory, 2, collect));
    REQUIRE(names == std::vector<std::string>{"below"});
    names.clear();
    REQUIRE(table->scan_directory(kRootInode, 0, collect).error().kind == ErrorKind::corruption);
    REQUIRE(names == std::vector<std::string>{"first"});
    names.clear();
    REQUIRE(table->scan_directory(kRootInode, 0, collect, pass_over));
    REQUIRE(names == std::vector<std::string>{"first", "last"});
    names.clear();
    REQUIRE(table->scan_directory(kRootInode, 11, collect, [](Key, const Error&) { return false; }));
    REQUIRE(names.empty());
    REQUIRE(table->scan_directory(kRootInode, 0, [](Key, const Row&) { return false; }));
  }
  SECTION("the namespace by kinds") {
    std::vector<Key> damaged;
    std::string moved;
    NamespaceVisitor visitor;
    visitor.entries = collect;
    visitor.composite = [&](CompositeId id, const CompositeRow&) { return id == composite; };
    visitor.member_files = [&](CompositeId id, std::uint32_t slot, const MemberFiles& row) {
      moved += std::to_string(id.value) + "." + std::to_string(slot) + " " + row.files.front().at.name;
      return true;
    };
    visitor.damaged = [&](Key key, const Error& error) {
      REQUIRE(error.kind == ErrorKind::corruption);
      damaged.push_back(key);
      return true;
    };
    REQUIRE(table->scan_namespace(visitor));
    REQUIRE(names == std::vector<std::string>{"", "first", "last", "below"});
    REQUIRE(moved == "9.3 away");
    REQUIRE(damaged == std::vector<Key>{Key::entry(kRootInode, 20), Key::member_files(CompositeId{11}, 3)});
    visitor.damaged = nullptr;
    REQUIRE(table->scan_namespace(visitor).error().kind == ErrorKind::corruption);
    visitor.entries = nullptr;
    REQUIRE(table->scan_namespace(visitor));  // what nobody asks for is not decoded
  }
}

TEST_CASE("a scan ends where a block is rotten, whoever has enough before or after") {
  constexpr std::uint64_t kRows = 3000;
  MemoryStore store;
  {
    const auto table = open(store, true);
    Batch batch;
    for (std::uint64_t i = 1; i <= kRows; ++i) {
      batch.put(Key::entry(InodeId{5}, i), std::to_string(i * 2654435761u) + std::string(60, 'r'));
    }
    REQUIRE(table->write(batch));
    table->compact();
  }
  flip_in_table(store, 0.33);
  const auto table = open(store, false);
  std::vector<std::uint64_t> seen;
  const auto scan = [&](std::uint64_t first, std::size_t enough) {
    seen.clear();
    return table->scan(Key::entry(InodeId{5}, first), Key::entry(InodeId{5}, kRows),
                       [&](Key key, std::string_view) {
                         seen.push_back(key.lower);
                         return seen.size() < enough;
                       });
  };
  REQUIRE(scan(1, ~std::size_t{0}).error().kind == ErrorKind::corruption);
  REQUIRE(!seen.empty());
  REQUIRE(seen.size() < kRows / 2);
  REQUIRE(seen.back() == seen.size());  // nothing from behind the damage
  const std::uint64_t last = seen.back();
  REQUIRE(scan(1, last));  // that many can be had
  REQUIRE(!scan(1, last + 1));
  REQUIRE(!scan(last, 2));
  REQUIRE(!scan(last + 1, 1));  // begins in the damage
  REQUIRE(seen.empty());
}

TEST_CASE("after a failed write the table refuses more until it is reopened") {
  FaultyStore store;
  auto table = open(store, true);
  Batch batch;
  batch.put({1, 1}, "a");
  store.fail_operation(1, EIO, FaultyStore::Persistence::once);
  REQUIRE(!table->write(batch));
  const auto again = table->write(batch);
  REQUIRE(!again);
  REQUIRE(again.error().errno_value == EROFS);
  table.reset();
  table = open(store, false);
  REQUIRE(table->write(batch));
}

TEST_CASE("many callers share a sync") {
  MemoryStore store;
  auto table = open(store, true);
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 8; ++t) {
    threads.emplace_back([&table, t] {
      for (std::uint64_t i = 0; i < 200; ++i) {
        Batch batch;
        batch.put({t, i}, "x");
        if (!table->write(batch) || !table->sync()) std::abort();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_CASE("no crash turns the inode counter back") {
  auto store = std::make_unique<FaultyStore>();
  {
    auto table = open(*store, true);
    REQUIRE(table->sync());
  }
  std::set<std::uint64_t> given;
  for (std::uint64_t round = 0; round < 8; ++round) {
    {
      auto table = open(*store, false);
      InodeCounter counter(*table);
      REQUIRE(counter.load());
      for (int i = 0; i < 1000; ++i) REQUIRE(given.insert(*counter.next()).second);
      if (round % 3 == 0) REQUIRE(counter.close());
      auto survivor = store->power_cut(round);
      table.reset();
      store = std::make_unique<FaultyStore>(std::move(survivor));
    }
  }
  REQUIRE(*given.begin() == kFirstInode);
}

TEST_CASE("the counter is exact across clean closes, and unique among threads") {
  MemoryStore store;
  auto table = open(store, true);
  {
    InodeCounter counter(*table);
    REQUIRE(counter.load());
    std::vector<std::vector<std::uint64_t>> got(4);
    std::vector<std::thread> threads;
    for (auto& mine : got) {
      threads.emplace_back([&] {
        for (int i = 0; i < 40000; ++i) mine.push_back(*counter.next());
      });
    }
    for (std::thread& thread : threads) thread.join();
    std::set<std::uint64_t> all;
    for (const auto& mine : got) all.insert(mine.begin(), mine.end());
    REQUIRE(all.size() == 160000);
    REQUIRE(counter.close());
  }
  InodeCounter counter(*table);
  REQUIRE(counter.load());
  REQUIRE(*counter.next() == kFirstInode + 160000);
}

TEST_CASE("a table whose rows must not become durable syncs nothing any more") {
  MemoryStore store;
  TableOptions options;
  options.create = true;
  options.before_rows_become_durable = [] { return Status(fail(EIO, "data")); };
  const auto table = std::move(*Table::open(store, options));
  Batch batch;
  batch.put(Key::data(InodeId{7}, 0), "value");
  REQUIRE(table->write(batch));
  table->compact();  // LevelDB fails here, and says so to the next who writes
  const Status synced = table->sync();
  REQUIRE(!synced);
  REQUIRE(synced.error().errno_value == EROFS);
}

TEST_CASE("row locks exclude, share stripes without deadlock, and date changes") {
  RowLocks locks;
  const std::uint64_t before = locks.epoch();
  std::uint64_t count = 0;
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < 2000; ++i) {
        std::vector<Key> keys{{7, 7}};
        for (std::uint64_t k = 0; k < 20; ++k) keys.push_back({k * (t + 1), i * k});
        const RowLocks::Guard guard(locks, keys);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(count == 8000);
  REQUIRE(RowLocks::SharedGuard(locks, Key{7, 7}).changed_since(before));
  REQUIRE(!RowLocks::SharedGuard(locks, Key{7, 7}).changed_since(locks.epoch()));
}

}  // namespace cffs::test
