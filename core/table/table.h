// The table: one LevelDB holding every row of a store (TableFS §3).
//
// Atomicity: a Batch is applied whole or not at all, in order. Durability: a batch survives the end of the
// process at once, a power cut after sync(). sync() never blocks writers: it syncs the log objects beneath
// LevelDB, and all callers that arrive while one sync runs share the next. After a failed write or sync the
// table refuses writes with EROFS until it is reopened: what the medium holds is no longer known. Thread
// safety: everything. Read-modify-write needs a RowLocks guard.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "core/object/object_store.h"
#include "core/table/key.h"
#include "core/table/row.h"

namespace leveldb {
class DB;
class Cache;
class FilterPolicy;
class Iterator;
class WriteBatch;
}  // namespace leveldb

namespace cffs {

class LevelDbEnv;

struct TableOptions {
  bool create = false;  // fails where a table is already there
  std::size_t block_cache_bytes = 32u << 20;
  std::size_t write_buffer_bytes = 16u << 20;
  // Makes data that rows may name durable; called before LevelDB makes such rows durable by itself.
  std::function<Status()> before_rows_become_durable;
};

class Batch {
 public:
  Batch();
  ~Batch();
  Batch(Batch&&) noexcept;
  Batch& operator=(Batch&&) noexcept;

  void put(Key key, std::string_view value);
  void erase(Key key);
  void put_row(Key key, const Row& row);  // an empty row is erased
  bool empty() const { return changes_ == 0; }

 private:
  friend class Table;
  std::unique_ptr<leveldb::WriteBatch> batch_;
  std::size_t changes_ = 0;
};

// Of LevelDB, for reports: "1.23".
std::string table_library_version();

class Table {
 public:
  static Result<std::unique_ptr<Table>> open(ObjectStore& store, const TableOptions& options);
  ~Table();

  Result<std::optional<std::string>> get(Key key) const;
  Result<Row> get_row(Key key) const;  // no such key: a row without entries
  Status write(Batch& batch);
  Status sync();
  // Calls visit(key, value) for every row with first <= key <= last in order, until it returns false.
  Status scan(Key first, Key last, const std::function<bool(Key, std::string_view)>& visit) const;
  // The same for every row of the namespace that has entries. One that is malformed is passed over: its reader reports it.
  Status scan_entries(const std::function<bool(Key, const Row&)>& visit) const;
  void compact();
  // Refuses writes from now on: what the medium holds is no longer known.
  void poison() { failed_.store(true, std::memory_order_release); }
  bool failed() const { return failed_.load(std::memory_order_acquire); }

 private:
  Table();

  // Declared first, destroyed last: the database uses them.
  std::unique_ptr<LevelDbEnv> env_;
  std::unique_ptr<leveldb::Cache> cache_;
  std::unique_ptr<const leveldb::FilterPolicy> filter_;
  std::unique_ptr<leveldb::DB> db_;

  std::atomic<bool> failed_{false};
  std::mutex sync_mutex_;
  std::condition_variable sync_done_;
  std::uint64_t syncs_started_ = 0;
  std::uint64_t syncs_finished_ = 0;
  bool syncing_ = false;
};

}  // namespace cffs
