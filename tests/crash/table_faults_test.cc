// What the table promises once something below it has failed: nothing is written and nothing is called durable until it is
// opened anew, whoever fails first, LevelDB's thread, a caller, or the note of what is durable.
#include <catch2/catch.hpp>

#include "core/table/table.h"
#include "tests/crash/crash_store.h"

namespace cffs::test {
namespace {

Status put(Table& table, const std::string& name, const std::string& value) {
  Batch batch;
  batch.put(Key::entry(InodeId{7}, 1 + std::hash<std::string>()(name) % 1000), value);
  return table.write(batch);
}

int problem(const Status& done) { return done ? 0 : done.error().errno_value; }

std::unique_ptr<Table> fresh_in(CrashStore& store, TableOptions options = {}) {
  options.create = true;
  auto table = Table::open(store, options);
  REQUIRE(table);
  REQUIRE(put(**table, "first", "1"));
  return std::move(*table);
}

// Not another log either, which the failure has not met.
void require_refusal(Table& table) {
  CHECK(table.failed());
  CHECK(problem(table.sync()) == EROFS);
  CHECK(problem(put(table, "late", "1")) == EROFS);
  table.compact();
  CHECK(problem(put(table, "later", "1")) == EROFS);
  CHECK(problem(table.sync()) == EROFS);
}

}  // namespace

TEST_CASE("after a write that failed the table takes no other, and calls nothing durable", "[faults]") {
  CrashStore store;
  const auto table = fresh_in(store);
  REQUIRE(table->sync());
  store.tear_write(1);
  CHECK(problem(put(*table, "second", std::string(3'000, 'x'))) == EIO);
  require_refusal(*table);
}

TEST_CASE("where the note of what is durable cannot be written, the table stops", "[faults]") {
  CrashStore store;
  const auto table = fresh_in(store);
  store.tear_write(1);  // the row is there; the sync adds its note
  CHECK_FALSE(table->sync());
  require_refusal(*table);
}

// LevelDB, whose own thread meets it, would tell with the next write only.
TEST_CASE("where a barrier fails, not even a sync that has nothing to do succeeds", "[faults]") {
  CrashStore store;
  TableOptions options;
  options.before_rows_become_durable = [] { return fail(EIO, "a blob"); };
  const auto table = fresh_in(store, options);
  REQUIRE(table->sync());
  table->compact();
  require_refusal(*table);
}

}  // namespace cffs::test
