// What LevelDB's repair would lose or bring back by itself: rows of a file without an index, older rows before newer ones, rows of files
// that are no part of the table any more.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <string>

#include "core/object/memory_store.h"
#include "core/table/replay_check.h"
#include "core/table/table.h"
#include "core/table/whole_blocks.h"
#include "tests/bad_sectors.h"
#include "tests/unit/object_bytes.h"
#include "tests/unit/rot.h"

namespace cffs::test {
namespace {

using PlainRows = std::map<Key, std::string>;

constexpr std::size_t kSmallBuffer = 64u << 10;

std::unique_ptr<Table> plain_table(ObjectStore& store, bool create = false, std::size_t buffer = 1u << 20) {
  TableOptions options;
  options.create = create;
  options.write_buffer_bytes = buffer;
  options.keep_what_is_whole = !create;
  auto table = Table::open(store, options);
  INFO((table ? std::string() : table.error().message()));
  REQUIRE(table);
  return std::move(*table);
}

void put_plain(Table& table, PlainRows& rows, Key key, std::string value) {
  Batch batch;
  batch.put(key, value);
  REQUIRE(table.write(batch));
  rows[key] = std::move(value);
}

std::size_t found_of(const Table& table, const PlainRows& rows) {
  return static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), [&](const auto& row) {
    const auto value = table.get(row.first);
    return value && *value == row.second;
  }));
}

// Without what the table notes for itself.
PlainRows scanned(const Table& table) {
  PlainRows rows;
  REQUIRE(table.scan({0, 0}, {kInodeLimit, 0}, [&](Key key, std::string_view value) {
    rows[key] = std::string(value);
    return true;
  }));
  return rows;
}

// Rows of one file, and how that is called.
PlainRows make_one_file(ObjectStore& store, std::string& name) {
  PlainRows rows;
  const auto table = plain_table(store, true);
  for (std::uint64_t n = 0; n < 3000; ++n)
    put_plain(*table, rows, Key::entry(InodeId{n / 7}, n + 1),
              "row " + std::to_string(n * n) + std::string(n % 90, 'x'));
  table->compact();
  REQUIRE(scanned(*table).size() == rows.size());
  name = only_object(store, ".ldb");
  return rows;
}

std::unique_ptr<Table> rebuilt(ObjectStore& store) {
  const auto done = Table::rebuild(store, false);
  INFO((done ? std::string() : done.error().message()));
  REQUIRE(done);
  return plain_table(store);
}

}  // namespace

// It converts logs in the order in which the folder lists them, and puts all files at level 0, where the highest number wins: that may be
// a log that was written out already, or what a compaction of deeper levels wrote last.
TEST_CASE("a lookup in a table that was made anew finds the newest row") {
  for (const unsigned seed : {1u, 2u, 3u, 4u, 5u, 6u}) {
    INFO(seed);
    MemoryStore store;
    PlainRows rows;
    {
      const auto table = plain_table(store, true, kSmallBuffer);
      std::mt19937 random(seed);
      const std::uint64_t changes = 2000 + random() % 8000;
      for (std::uint64_t i = 0; i < changes; ++i) {
        const std::uint64_t key = random() % 2000;
        put_plain(*table, rows, Key::entry(InodeId{1}, key + 1), std::to_string(i) + std::string(100, 'v'));
      }
      REQUIRE(table->sync());
    }
    const auto table = rebuilt(store);
    CHECK((scanned(*table) == rows));
    CHECK(found_of(*table, rows) == rows.size());
  }
}

TEST_CASE("an older row in a file with a higher number is not found where a table was made anew") {
  const Key key = Key::entry(InodeId{1}, 1), other = Key::entry(InodeId{1}, 2);
  PlainRows rows;
  // Its rows have the sequences 1 and 2; those of the other, where they are written behind three of another key, 4 and 5.
  const auto file_with = [&](const std::string& value, int before) {
    MemoryStore store;
    {
      const auto table = plain_table(store, true);
      for (int i = 0; i < before; ++i) put_plain(*table, rows, other, "before");
      put_plain(*table, rows, key, value);
      put_plain(*table, rows, other, value);
      table->compact();
    }
    return bytes_of(store, only_object(store, ".ldb"));
  };
  MemoryStore store;
  replace(store, "table/000900.ldb", file_with("old", 0));
  replace(store, "table/000007.ldb", file_with("new", 3));
  const auto table = rebuilt(store);
  CHECK((scanned(*table) == rows));
  for (const auto& [k, v] : rows) CHECK(table->get(k).value().value_or("none") == v);
}

// A follower may still read it, or its removal did not reach the medium.
TEST_CASE("what is no part of a damaged table gives it no rows again") {
  MemoryStore store;
  std::string old;
  const PlainRows rows = make_one_file(store, old);
  const std::string bytes = bytes_of(store, old);
  {
    const auto table = plain_table(store);
    Batch batch;
    for (const auto& [key, value] : rows) {
      if (key.upper >= 3) batch.erase(key);
    }
    REQUIRE(table->write(batch));
    REQUIRE(table->sync());
    table->compact();
    REQUIRE(scanned(*table).size() == 21);
  }
  REQUIRE(!*store.exists(old));
  replace(store, old, bytes);
  const auto table = rebuilt(store);
  CHECK(scanned(*table).size() == 21);
}

TEST_CASE("a table file without a footer or an index gives all its rows to a repair") {
  MemoryStore store;
  std::string name;
  const PlainRows rows = make_one_file(store, name);
  const std::uint64_t size = bytes_of(store, name).size();
  // The footer, the index before it, the index of filters, the filter.
  for (const std::uint64_t behind : {1u, 9u, 30u, 47u, 60u, 100u, 200u, 300u, 500u, 900u, 1400u}) {
    INFO(behind << " bytes before the end");
    const auto damaged = copy_of(store);
    flip_bit(*damaged, name, size - behind);
    const auto table = rebuilt(*damaged);
    CHECK((scanned(*table) == rows));
    CHECK(found_of(*table, rows) == rows.size());
  }
  for (const std::uint64_t cut : {1u, 48u, 49u, 200u}) {
    INFO("cut by " << cut);
    const auto damaged = copy_of(store);
    REQUIRE((*damaged->open(name))->truncate(size - cut));
    CHECK((scanned(*rebuilt(*damaged)) == rows));
  }
  const auto damaged = copy_of(store);
  flip_bit(*damaged, name, size - 1);
  flip_bit(*damaged, name, size / 3);  // and a block of rows
  const auto left = scanned(*rebuilt(*damaged));
  CHECK(left.size() < rows.size());
  CHECK(left.size() > rows.size() - 400);
  CHECK(std::includes(rows.begin(), rows.end(), left.begin(), left.end()));
}

TEST_CASE("a table file whose end the medium does not give leaves its rows to a repair") {
  MemoryStore store;
  std::string name;
  const PlainRows rows = make_one_file(store, name);
  BadSectors medium(store);
  medium.refuse(name, bytes_of(store, name).size() - 1, EIO);
  REQUIRE(Table::rebuild(medium, false));
  const auto left = scanned(*plain_table(medium));
  CHECK(left.size() > rows.size() - 400);
  CHECK(std::includes(rows.begin(), rows.end(), left.begin(), left.end()));
}

TEST_CASE("what was made to look like blocks of rows ends, and gives none") {
  std::string hostile;
  while (hostile.size() < (64u << 10)) hostile.append(std::string_view("\0\x18", 2));
  CHECK(!whole_blocks(hostile));
  CHECK(!whole_blocks({}));
  CHECK(!whole_blocks(std::string(100'000, '\0')));
}

}  // namespace cffs::test
