// Values beside the table: which go there, that nobody can tell when reading, when their objects go, and what power cuts leave.
#include "core/table/value_log.h"

#include <catch2/catch.hpp>
#include <map>
#include <random>

#include "core/inspect/consistency.h"
#include "core/object/faulty_store.h"
#include "core/object/memory_store.h"
#include "core/table/system_rows.h"
#include "core/table/table.h"
#include "tests/test_callers.h"
#include "tests/test_options.h"
#include "tests/unit/object_bytes.h"
#include "tests/unit/rot.h"

namespace cffs::test {
namespace {

TableOptions apart(bool create = false) {
  TableOptions options;
  options.create = create;
  options.values_apart = true;
  options.values = {.after_bytes = 0, .least_bytes = 100, .object_bytes = 2000};
  return options;
}

std::unique_ptr<Table> open(ObjectStore& store, const TableOptions& options) {
  auto table = Table::open(store, options);
  REQUIRE(table);
  (*table)->put_values_apart(true);
  return std::move(*table);
}

Key chunk(std::uint64_t ino, std::uint64_t n = 0) { return Key::data(InodeId{ino}, n); }

void put(Table& table, Key key, const std::string& value) {
  Batch batch;
  batch.put(key, value);
  REQUIRE(table.write(batch));
}

void erase(Table& table, Key key) {
  Batch batch;
  batch.erase(key, 4096);
  REQUIRE(table.write(batch));
}

// What a commit does.
void commit(Table& table) {
  const auto dead = table.dead_values();
  REQUIRE(table.sync());
  table.drop_values(dead);
}

std::size_t objects(ObjectStore& store) { return store.list(kValueFolder)->size(); }

std::map<Key, std::string> all(const Table& table) {
  std::map<Key, std::string> found;
  REQUIRE(table.scan_tag(KeyTag::file_data, [&](Key key, std::string_view value) {
    found[key] = value;
    return true;
  }));
  return found;
}

std::string bytes(std::size_t length, char with) { return std::string(length, with); }

}  // namespace

TEST_CASE("value log: a row says what it is") {
  const ValuePointer pointer{7, 1ull << 40, 4096, 0xdeadbeef};
  const std::string row = row_of_pointer(pointer);
  REQUIRE(is_as_long_as_a_pointer(row.size()));
  REQUIRE(**pointer_in_row(row) == pointer);
  const std::string value = row_of_value(std::string("\1\0\1", 3));
  REQUIRE(value.size() == 4);
  REQUIRE(!*pointer_in_row(value));
  REQUIRE(!*pointer_in_row(row_of_value("")));
  REQUIRE(!pointer_in_row(""));
  REQUIRE(!pointer_in_row("neither\2"));
  REQUIRE(!pointer_in_row("short\1"));
  const std::map<std::uint64_t, ValueLog::Known> known = {{3, {5000, 4096}}, {9, {0, 0}}};
  REQUIRE(*decode_values(encode_values(known)) == known);
  REQUIRE(!decode_values(encode_values(known).substr(1)));
  REQUIRE(ValueLog::object_number(ValueLog::object_name(12)) == 12);
  REQUIRE(ValueLog::object_number("values/12x") == 0);
  REQUIRE(ValueLog::object_number("values") == 0);
}

TEST_CASE("value log: long values of file data lie beside the table, and read as others") {
  MemoryStore store;
  std::map<Key, std::string> expected;
  {
    const auto table = open(store, apart(true));
    for (std::uint64_t ino = 1; ino <= 40; ++ino) {
      expected[chunk(ino)] = bytes(ino * 10, static_cast<char>('a' + ino % 26));
      put(*table, chunk(ino), expected[chunk(ino)]);
    }
    put(*table, system_key(SystemField::scrub), bytes(3000, 's'));  // no file data
    expected[chunk(5)].clear();
    put(*table, chunk(5), "");
    REQUIRE(objects(store) > 2);
    REQUIRE(table->value_log_bytes() > 5000);
    REQUIRE(all(*table) == expected);
    REQUIRE(*table->get(chunk(40)) == expected[chunk(40)]);
    const auto snapshot = table->snapshot();
    put(*table, chunk(40), "later");
    REQUIRE(*snapshot->get(chunk(40)) == expected[chunk(40)]);
    std::map<Key, std::string> past;
    REQUIRE(snapshot->scan(chunk(0), chunk(99), [&](Key key, std::string_view value) {
      past[key] = value;
      return true;
    }));
    REQUIRE(past == expected);
    expected[chunk(40)] = "later";
    REQUIRE(table->sync());
  }
  REQUIRE(all(*open(store, apart())) == expected);
  TableOptions looking = apart();
  looking.in_memory = true;
  REQUIRE(all(*open(store, looking)) == expected);
}

TEST_CASE("value log: changes of one row in one batch count in order") {
  MemoryStore store;
  const auto table = open(store, apart(true));
  put(*table, chunk(1), bytes(500, 'a'));
  Batch batch;
  batch.erase(chunk(1), 4096);
  batch.put(chunk(1), bytes(600, 'b'));
  batch.put(chunk(2), bytes(700, 'c'));
  batch.put(system_key(SystemField::scrub), "between");
  batch.put(chunk(2), bytes(800, 'd'));
  batch.put(chunk(3), bytes(900, 'e'));
  batch.erase(chunk(3), 4096);
  REQUIRE(table->write(batch));
  REQUIRE(all(*table) ==
          std::map<Key, std::string>{{chunk(1), bytes(600, 'b')}, {chunk(2), bytes(800, 'd')}});
  REQUIRE(*table->get(system_key(SystemField::scrub)) == "between");
  erase(*table, chunk(1));
  erase(*table, chunk(2));
  put(*table, chunk(4), bytes(2000, 'f'));  // the object is full
  put(*table, chunk(5), bytes(200, 'g'));
  erase(*table, chunk(4));
  commit(*table);
  REQUIRE(objects(store) == 1);
}

TEST_CASE("value log: what is short, what stays, and the first bytes after a sync are in rows") {
  MemoryStore store;
  TableOptions options = apart(true);
  options.values.after_bytes = 1000;
  const auto table = open(store, options);
  put(*table, chunk(1), bytes(600, 'a'));
  put(*table, chunk(2), bytes(600, 'b'));
  REQUIRE(objects(store) == 0);
  put(*table, chunk(3), bytes(99, 'c'));
  Batch stays;
  stays.put(chunk(4), bytes(600, 'd'));
  stays.keep_data_in_rows();
  REQUIRE(table->write(stays));
  REQUIRE(objects(store) == 0);
  put(*table, chunk(5), bytes(600, 'e'));
  REQUIRE(objects(store) == 1);
  REQUIRE(table->sync());
  const auto before = table->value_log_bytes();
  put(*table, chunk(6), bytes(600, 'f'));
  REQUIRE(table->value_log_bytes() == before);
  table->put_values_apart(false);
  put(*table, chunk(7), bytes(1600, 'g'));
  put(*table, chunk(8), bytes(1600, 'h'));
  REQUIRE(table->value_log_bytes() == before);
}

TEST_CASE("value log: an object goes when no row names it, and nobody reads the past") {
  MemoryStore store;
  const auto table = open(store, apart(true));
  for (std::uint64_t ino = 1; ino <= 10; ++ino) put(*table, chunk(ino), bytes(1000, 'x'));
  REQUIRE(objects(store) == 5);
  for (std::uint64_t ino = 1; ino <= 4; ++ino) erase(*table, chunk(ino));
  {
    const auto snapshot = table->snapshot();
    commit(*table);
    REQUIRE(objects(store) == 5);
    REQUIRE(*snapshot->get(chunk(10)) == bytes(1000, 'x'));
  }
  commit(*table);
  REQUIRE(objects(store) == 3);
  put(*table, chunk(5), "short now");
  put(*table, chunk(6), bytes(1000, 'y'));
  commit(*table);
  REQUIRE(objects(store) == 3);  // one is gone, another has begun
  REQUIRE(*table->get(chunk(6)) == bytes(1000, 'y'));
}

TEST_CASE("value log: whoever keeps an object for others removes it") {
  MemoryStore store;
  TableOptions options = apart(true);
  bool keeps = true;
  options.keeps_file = [&](const std::string& name) { return keeps && name.starts_with("values/"); };
  const auto table = open(store, options);
  for (std::uint64_t ino = 1; ino <= 4; ++ino) put(*table, chunk(ino), bytes(1000, 'x'));
  for (std::uint64_t ino = 1; ino <= 2; ++ino) erase(*table, chunk(ino));
  commit(*table);
  REQUIRE(objects(store) == 2);
  REQUIRE(table->dead_values().empty());
}

namespace {

// A chunk each of 200 files, five to an object.
std::map<Key, std::string> put_two_hundred(Table& table) {
  std::map<Key, std::string> expected;
  for (std::uint64_t ino = 1; ino <= 200; ++ino) {
    expected[chunk(ino)] = bytes(400, static_cast<char>('a' + ino % 26));
    put(table, chunk(ino), expected[chunk(ino)]);
  }
  return expected;
}

}  // namespace

TEST_CASE("value log: what is left of wasteful objects moves into rows") {
  MemoryStore store;
  const auto table = open(store, apart(true));
  auto expected = put_two_hundred(*table);
  const std::size_t before = objects(store);
  REQUIRE(before == 40);
  REQUIRE(table->tidy_values([] { return true; }));
  commit(*table);
  REQUIRE(objects(store) == before);  // nothing of them is waste
  for (std::uint64_t ino = 1; ino <= 200; ++ino) {
    if (ino % 5 == 0) continue;
    erase(*table, chunk(ino));
    expected.erase(chunk(ino));
  }
  commit(*table);
  REQUIRE(objects(store) == before);
  REQUIRE(table->tidy_values([] { return false; }));
  commit(*table);
  REQUIRE(objects(store) == before);
  REQUIRE(table->tidy_values([] { return true; }));
  commit(*table);
  REQUIRE(objects(store) == 1);  // what is appended to
  REQUIRE(all(*table) == expected);
}

TEST_CASE("value log: who is short of room empties objects of which half is named") {
  MemoryStore store;
  const auto table = open(store, apart(true));
  auto expected = put_two_hundred(*table);
  REQUIRE_FALSE(table->empty_values(1));  // nothing of them is waste
  for (std::uint64_t ino = 1; ino <= 200; ++ino) {
    if (ino % 5 < 2) continue;
    erase(*table, chunk(ino));
    expected.erase(chunk(ino));
  }
  commit(*table);
  const std::size_t before = objects(store);
  REQUIRE(before == 40);
  REQUIRE(table->tidy_values([] { return true; }));
  commit(*table);
  REQUIRE(objects(store) == before);  // not so wasteful as to be worth it day by day
  REQUIRE_FALSE(table->empty_values(1 << 20));
  REQUIRE(table->empty_values(40'000));
  commit(*table);
  REQUIRE(objects(store) == 1);  // what is appended to
  REQUIRE(all(*table) == expected);
}

TEST_CASE("value log: emptying it may end at any operation, and costs no value") {
  using Persistence = FaultyStore::Persistence;
  for (const auto persistence : {Persistence::once, Persistence::from_then_on}) {
    bool was_reached = true;
    for (std::uint64_t n = 1; was_reached; ++n) {
      CAPTURE(n, persistence == Persistence::once);
      FaultyStore store;
      auto table = open(store, apart(true));
      std::map<Key, std::string> expected;
      for (std::uint64_t ino = 1; ino <= 12; ++ino) {
        expected[chunk(ino)] = bytes(900, static_cast<char>('a' + ino));
        put(*table, chunk(ino), expected[chunk(ino)]);
      }
      for (std::uint64_t ino = 1; ino <= 12; ino += 2) {
        erase(*table, chunk(ino));
        expected.erase(chunk(ino));
      }
      commit(*table);
      const std::uint64_t before = store.operations();
      store.fail_operation(n, EIO, persistence);
      (void)table->empty_values(1);
      const auto dead = table->dead_values();
      if (table->sync()) table->drop_values(dead);
      was_reached = store.operations() >= before + n;
      const auto survivor = store.power_cut(n);
      table.reset();
      const auto again = open(*survivor, apart());
      REQUIRE(all(*again) == expected);
    }
  }
}

TEST_CASE("value log: what was erased without a word is found by a scan") {
  MemoryStore store;
  const auto table = open(store, apart(true));
  for (std::uint64_t ino = 1; ino <= 200; ++ino) put(*table, chunk(ino), bytes(400, 'x'));
  Batch batch;
  for (std::uint64_t ino = 1; ino <= 200; ++ino) batch.erase(chunk(ino), 1);  // as if they were short
  for (std::uint64_t ino = 2; ino <= 200; ino += 5) batch.put(chunk(ino), "y");
  REQUIRE(table->write(batch));
  commit(*table);
  REQUIRE(objects(store) > 20);
  REQUIRE(table->sync());
  const auto killed = copy_of(store);
  const auto again = open(*killed, apart());
  commit(*again);
  REQUIRE(objects(*killed) == 0);
}

TEST_CASE("value log: a damaged value is an error, and hides no other") {
  MemoryStore store;
  const auto table = open(store, apart(true));
  put(*table, chunk(1), bytes(500, 'a'));
  put(*table, chunk(2), bytes(500, 'b'));
  put(*table, chunk(3), bytes(90, 'c'));
  std::string damaged = bytes_of(store, "values/1");
  damaged[700] ^= 1;
  replace(store, "values/1", damaged);
  REQUIRE(*table->get(chunk(1)) == bytes(500, 'a'));
  const auto lost = table->get(chunk(2));
  REQUIRE(!lost);
  REQUIRE(lost.error().kind == ErrorKind::corruption);
  REQUIRE(lost.error().message().find("values/1") != std::string::npos);
  REQUIRE(all(*table) == std::map<Key, std::string>{
                             {chunk(1), bytes(500, 'a')}, {chunk(2), ""}, {chunk(3), bytes(90, 'c')}});
  REQUIRE(!table->snapshot()->scan(chunk(0), chunk(9), [](Key, std::string_view) { return true; }));
  REQUIRE(store.remove("values/1"));
  REQUIRE(table->snapshot()->get(chunk(3)));
}

TEST_CASE("value log: where it cannot be written values go into rows") {
  FaultyStore store;
  const auto table = open(store, apart(true));
  put(*table, chunk(1), bytes(500, 'a'));
  for (const std::uint64_t nth : {1, 1}) {  // the write; then the new object, which comes first
    store.fail_operation(nth, ENOSPC, FaultyStore::Persistence::once);
    put(*table, chunk(2), bytes(500, 'b'));
    put(*table, chunk(3), bytes(500, 'c'));
    REQUIRE(*table->get(chunk(1)) == bytes(500, 'a'));
    REQUIRE(*table->get(chunk(2)) == bytes(500, 'b'));
    REQUIRE(*table->get(chunk(3)) == bytes(500, 'c'));
    store.fail_operation(0, 0, FaultyStore::Persistence::once);
  }
  REQUIRE(table->sync());
}

// A log without its values is a torn one: what a power cut leaves is a prefix, in which every value is whole.
TEST_CASE("value log: power cuts leave a prefix") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    FaultyStore store;
    std::mt19937_64 random(seed);
    std::vector<std::map<Key, std::string>> states(1);
    std::size_t durable = 0;
    auto table = open(store, apart(true));
    REQUIRE(table->sync());
    const int steps = 5 + static_cast<int>(random() % 40);
    for (int i = 0; i < steps; ++i) {
      const Key key = chunk(1 + random() % 6, random() % 2);
      std::map<Key, std::string> next = states.back();
      if (random() % 4 == 0) {
        erase(*table, key);
        next.erase(key);
      } else {
        next[key] = bytes(random() % 900, static_cast<char>('a' + i % 26));
        put(*table, key, next[key]);
      }
      states.push_back(std::move(next));
      if (random() % 6 != 0) continue;
      commit(*table);
      durable = states.size() - 1;
    }
    const auto survivor =
        store.power_cut(seed, [](std::string_view name) { return name.starts_with("values/"); });
    table.reset();
    const auto again = open(*survivor, apart());
    const auto found = all(*again);
    bool is_prefix = false;
    for (std::size_t i = durable; i < states.size(); ++i) is_prefix = is_prefix || states[i] == found;
    REQUIRE(is_prefix);
    // And the next one goes on from there.
    put(*again, chunk(9), bytes(500, 'z'));
    commit(*again);
    REQUIRE(*again->get(chunk(9)) == bytes(500, 'z'));
  }
}

TEST_CASE("value log: rows that become durable by themselves have their values") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    FaultyStore store;
    TableOptions options = apart(true);
    options.write_buffer_bytes = 64u << 10;
    auto table = open(store, options);
    REQUIRE(table->sync());
    const std::uint64_t count = 1000 + seed * 100;
    for (std::uint64_t ino = 1; ino <= count; ++ino) put(*table, chunk(ino), bytes(100 + ino % 200, 'v'));
    table->shorten_log(0);  // whatever LevelDB does in the background is done
    const auto survivor =
        store.power_cut(seed, [](std::string_view name) { return name.starts_with("values/"); });
    table.reset();
    const auto again = open(*survivor, apart());
    std::uint64_t next = 1;
    for (const auto& [key, value] : all(*again)) {
      REQUIRE(key == chunk(next));
      REQUIRE(value == bytes(100 + next % 200, 'v'));
      ++next;
    }
    REQUIRE(next > 1);
  }
}

TEST_CASE("value log: rows that a rebuilding makes durable have their values") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    CAPTURE(seed);
    FaultyStore store;
    auto table = open(store, apart(true));
    commit(*table);
    for (std::uint64_t ino = 1; ino <= 20; ++ino) put(*table, chunk(ino), bytes(400, 'v'));
    table.reset();  // killed: the kernel has what was written
    REQUIRE(Table::rebuild(store, true));
    const auto survivor =
        store.power_cut(seed, [](std::string_view name) { return name.starts_with("values/"); });
    const auto tried = Table::open(*survivor, apart());
    INFO((tried ? std::string() : tried.error().message()));
    REQUIRE(tried);
    for (const auto& [key, value] : all(**tried)) REQUIRE(value == bytes(400, 'v'));
  }
}

// The rows that let go of an object are durable, and their log says so, before it goes.
TEST_CASE("value log: an object that has gone is missed by no log") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    FaultyStore store;
    auto table = open(store, apart(true));
    for (std::uint64_t ino = 1; ino <= 4; ++ino) put(*table, chunk(ino), bytes(1000, 'x'));
    for (std::uint64_t ino = 1; ino <= 3; ++ino) erase(*table, chunk(ino));
    commit(*table);
    put(*table, chunk(5), "after");
    const auto survivor = store.power_cut(seed);
    table.reset();
    const auto again = open(*survivor, apart());
    REQUIRE(!*again->get(chunk(1)));
    REQUIRE(*again->get(chunk(4)) == bytes(1000, 'x'));
  }
}

TEST_CASE("value log: a store that was closed knows what it holds, one that was killed counts") {
  MemoryStore store;
  REQUIRE(FileSystem::format(store, repeatable(), SystemClock()));
  const std::string content = bytes(30'000, 'm');
  {
    auto fs = std::move(*FileSystem::open(store, quiet()));
    for (int i = 0; i < 10; ++i) {
      const auto made = fs->mknod(kRootInode, "f" + std::to_string(i), S_IFREG | 0600, 0, kRoot);
      REQUIRE(fs->write(made->ino, 0, as_bytes(content), kRoot));
    }
    REQUIRE(fs->sync());
    const auto killed = copy_of(store);
    REQUIRE(fs->close());
    auto after = std::move(*FileSystem::open(*killed, quiet()));
    REQUIRE(find_inconsistencies(*after).value().empty());
  }
  const std::size_t there = objects(store);
  REQUIRE(there > 5);
  auto fs = std::move(*FileSystem::open(store, quiet()));
  REQUIRE(find_inconsistencies(*fs).value().empty());
  for (int i = 0; i < 10; ++i) REQUIRE(fs->unlink(kRootInode, "f" + std::to_string(i)));
  REQUIRE(fs->sync());
  REQUIRE(fs->sync());
  REQUIRE(objects(store) == 0);
}

TEST_CASE("value log: where rows cannot be read, nothing goes that they may name") {
  MemoryStore store;
  constexpr std::uint64_t kRows = 400;  // several blocks of them
  {
    auto table = open(store, apart(true));
    for (std::uint64_t i = 0; i < kRows; ++i) put(*table, chunk(10 + i), bytes(150, 'v'));
    REQUIRE(table->sync());
    table->compact();
  }
  const std::size_t there = objects(store);
  REQUIRE(there > 20);
  const auto whole = copy_of(store);
  flip_in_table(store, 0.3);
  {
    const auto table = open(store, apart());  // who ended without a close left no count
    REQUIRE_FALSE(table->scan_tag(KeyTag::file_data, [](Key, std::string_view) { return true; }));
    put(*table, chunk(1), "short");
    commit(*table);
    commit(*table);
    REQUIRE(objects(store) == there);
  }
  const auto table = open(*whole, apart());
  for (std::uint64_t i = 0; i < kRows; ++i) erase(*table, chunk(10 + i));
  commit(*table);
  REQUIRE(objects(*whole) == 0);
}

}  // namespace cffs::test
