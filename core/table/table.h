// The table: one LevelDB holding every row of a store (TableFS §3).
//
// Atomicity: a Batch is applied whole or not at all, in order. Durability: a batch survives the end of the
// process at once, a power cut after sync(). sync() never blocks writers: it syncs the log objects beneath
// LevelDB, and all callers that arrive while one sync runs share the next. After a failed write or sync the
// table refuses writes with EROFS until it is reopened: what the medium holds is no longer known. Thread
// safety: everything. Read-modify-write needs a RowLocks guard.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <set>

#include "core/base/mutex.h"
#include "core/object/object_store.h"
#include "core/table/batch.h"
#include "core/table/key.h"
#include "core/table/member_files.h"
#include "core/table/replay_check.h"
#include "core/table/row.h"
#include "core/table/value_log.h"
#include "core/table/value_log_options.h"

namespace leveldb {
class DB;
class Cache;
struct ReadOptions;
class FilterPolicy;
class Iterator;
class Snapshot;
class WriteBatch;
}  // namespace leveldb

namespace cffs {

class LevelDbEnv;
class Table;

struct TableOptions {
  bool create = false;  // fails where a table is already there
  std::size_t block_cache_bytes = 32u << 20;
  std::size_t write_buffer_bytes = 16u << 20;  // at most; less on a small medium, see room_needed()
  std::size_t open_tables = 1000;              // descriptors; LevelDB takes 74 at least
  // Makes data that rows may name durable; called before LevelDB makes such rows durable by itself. Where it fails, the table
  // refuses writes and syncs from then on.
  std::function<Status()> before_rows_become_durable;
  // Called where the medium is full: true where it has made room, and what needs it is tried again.
  std::function<bool()> when_full;
  // Called where a file of the table has gone, perhaps with the table's locks.
  std::function<void()> when_file_removed;
  // Whether a file of the table that nobody needs any more stays a while; perhaps with the table's locks.
  std::function<bool(const std::string& name)> keeps_file;
  // For a store that keeps changes in memory: no compaction, and memory grows by what the log holds and what is written.
  bool in_memory = false;
  // Who runs LevelDB's own work, one piece at a time, on a thread that makes no other calls; null: a thread of the table's.
  std::function<void(std::function<void()>)> run_later;
  // Opens a table whose logs or manifest are damaged, with what is whole on both sides of the damage; see Table::dropped().
  bool keep_what_is_whole = false;
  // StoreFormat::values_apart: rows of file data say whether they are values, or where in the value log one is.
  bool values_apart = false;
  ValueLogOptions values;
  // What is opened is a checkpoint (docs/FOLLOWING.md): all that it names was durable, nothing of its logs is in doubt.
  bool is_checkpoint = false;
};

// What a scan of rows does about one that is malformed: it is told of the row and says whether to go on. Without anybody
// to tell, the scan ends with that row's error (`corruption`).
using OnDamage = std::function<bool(Key, const Error&)>;
// For those to whom a row that its own reader will report is no reason to stop.
inline bool pass_over(Key, const Error&) { return true; }

// Who is told of the rows of the whole namespace: each kind may be null, then its rows are passed over undecoded. Each
// says whether to go on.
struct NamespaceVisitor {
  std::function<bool(Key, Row&)> entries;  // of directories and of null names
  std::function<bool(CompositeId, const CompositeRow&)> composite;
  std::function<bool(CompositeId, std::uint32_t slot, const MemberFiles&)> member_files;
  OnDamage damaged;
  bool past_damage = false;  // goes on behind a block that cannot be read, and ends with its `corruption`
};

// Of LevelDB, for reports: "1.23".
std::string table_library_version();

// All rows as they were at one moment; what is written afterwards does not show. Rows that were replaced since keep their room
// while it lives. The table must outlive it. Thread safety: everything.
class TableSnapshot {
 public:
  ~TableSnapshot();
  TableSnapshot(const TableSnapshot&) = delete;
  TableSnapshot& operator=(const TableSnapshot&) = delete;

  // As Table::scan(), but goes on behind a block that cannot be read, and ends with its `corruption` then: rows are missing, or
  // are as they were earlier. The same where a value of the value log cannot be read, which is empty.
  Status scan(Key first, Key last, const std::function<bool(Key, std::string_view)>& visit) const;
  Result<std::optional<std::string>> get(Key key) const;

 private:
  friend class Table;
  TableSnapshot(const Table& table, leveldb::DB& db);
  const Table& table_;
  leveldb::DB& db_;
  const leveldb::Snapshot* snapshot_ = nullptr;
};

// Whether files share members of composites (docs/DEDUPLICATION.md): they never did; some may, and no more come to it; more may come.
enum class Sharing : std::uint8_t { never, once, on };

class Table {
 public:
  // Damage in what had been durable: `corruption` (core/table/replay_check.h).
  static Result<std::unique_ptr<Table>> open(ObjectStore& store, const TableOptions& options);
  // Makes the table anew from the rows that can be read, where files of it are damaged; what cannot be read stays below table/lost.
  // Nobody may have it open. `values_apart`: as it was made. `when_full`: as of TableOptions; opening it next takes room, too. Returns
  // those of the damaged files of which no row is missing.
  static Result<std::set<std::string>> rebuild(ObjectStore& store, bool values_apart,
                                               const std::function<bool()>& when_full = nullptr);
  ~Table();

  Result<std::optional<std::string>> get(Key key) const;
  Result<Row> get_row(Key key) const;  // no such key: a row without entries
  Status write(Batch& batch);
  Status sync();
  // These rows are to be written, and durable, before the first change from now on; call before anybody else uses the table.
  void before_first_change(Batch rows);
  // Sees to that. write() does so by itself: for whoever changes an object, and writes no row before.
  Status begin_changes();
  // Whether the table is as whoever closed it left it, what says so at its log's end.
  bool unchanged() const;
  // The last change, durable when this returns. Whoever replays it takes all before it for durable: so that is, first.
  Status write_last(Batch& batch);
  // Calls visit(key, value) for every row with first <= key <= last in order, until it returns false. A value of the value log that
  // cannot be read is empty.
  Status scan(Key first, Key last, const std::function<bool(Key, std::string_view)>& visit) const;
  // The same, but goes on behind a block that cannot be read, as TableSnapshot::scan() does.
  Status scan_past_damage(Key first, Key last, const std::function<bool(Key, std::string_view)>& visit) const;
  std::unique_ptr<TableSnapshot> snapshot() const;
  // The same for the rows of one tag.
  Status scan_tag(KeyTag tag, const std::function<bool(Key, std::string_view)>& visit) const;
  // The rows of a directory's entries, in order of the names' hashes from `first_hash` on, until `visit` returns false.
  // The row of the root's own inode, which begins like its entries, is not among them.
  Status scan_directory(InodeId directory, std::uint64_t first_hash,
                        const std::function<bool(Key, const Row&)>& visit,
                        const OnDamage& damaged = nullptr) const;
  // Every row of the namespace, in order of keys, until one of the visitor's functions returns false.
  Status scan_namespace(const NamespaceVisitor& visitor) const;
  // Only those that have entries; malformed ones are passed over.
  Status scan_entries(const std::function<bool(Key, const Row&)>& visit) const {
    return scan_namespace({visit, nullptr, nullptr, pass_over});
  }
  // Grows with every batch that has changed rows of the namespace, since the table was opened.
  std::uint64_t namespace_changes() const { return namespace_changes_.load(std::memory_order_relaxed); }
  // What was left out when the table was opened: rows may be missing, and what no row names may have had one.
  const std::vector<LogDamage>& dropped() const { return dropped_; }
  // Reads every block of every file of the table; a sentence for each file that is damaged: its name, a colon, what is wrong, and that.
  static constexpr std::string_view kRowsMissing = "; rows are missing";
  Result<std::vector<std::string>> find_damaged_files() const;
  void compact();  // nothing where the table is read-only
  // Writes the rows in memory to a file, where the logs hold more than `most` bytes: who opens the table next has less to replay.
  // Nothing where the medium has little room.
  void shorten_log(std::uint64_t most);
  // Behind write_last(): how far each log was durable then. For the note of who has closed it (core/table/close_note.h).
  const std::map<std::uint64_t, std::uint64_t>& ends_when_closed() const { return ends_when_closed_; }
  // Where half of the table, and `least` bytes, may be rows that were erased since it was opened, or since the last time:
  // rewrites it, a part at a time, as long as `go_on` says so; false: there was nothing to do. LevelDB by itself gives their
  // room back when others are written near them.
  bool compact_garbage(std::uint64_t least, const std::function<bool()>& go_on);
  // What it can tell at any time without waiting for the medium. Totals since it was opened.
  struct Activity {
    std::vector<std::uint64_t> files;  // by level
    std::uint64_t block_reads = 0, block_read_bytes = 0, file_bytes_written = 0;
    std::uint64_t log_bytes = 0, log_bytes_written = 0, value_bytes_written = 0;
    std::uint64_t writes = 0;                                 // batches
    std::uint64_t block_cache_bytes = 0, memtable_bytes = 0;  // memory
  };
  Activity activity() const;
  // What LevelDB wrote to its log lately: the newest 64 KiB.
  std::string library_log() const;
  std::uint64_t syncs() const { return syncs_counted_.load(std::memory_order_relaxed); }
  // Bytes that LevelDB may have to write before it gives any back: its log and the rows in memory a second time, and the files
  // that a compaction reads. It is compared with the room there is where that runs short.
  std::uint64_t room_needed() const;
  // Whether long values may go into the value log from now on: somebody moves them before long.
  void put_values_apart(bool apart) { puts_apart_.store(apart, std::memory_order_relaxed); }
  // Objects of the value log that no row names, nor any that somebody may still read by a snapshot. Once what let go of them is durable they
  // may go: drop_values().
  std::vector<std::uint64_t> dead_values() const;
  void drop_values(const std::vector<std::uint64_t>& dead);
  // Puts what is named of wasteful objects of the value log into rows, as long as `go_on` says so.
  Status tidy_values(const std::function<bool()>& go_on);
  // The same for who is short of room, of what gives `least` bytes, with the commit behind it. False: nothing does.
  bool empty_values(std::uint64_t least);
  // For the next user, with the last batch of this one.
  void save_values(Batch& batch) const;
  // A sentence for each object of the value log of which rows name more than whoever closed the table has left written: it would go while it
  // is needed. None where nobody has, or something was changed since: then that is not used again.
  Result<std::vector<std::string>> find_miscounted_values() const;
  std::uint64_t value_log_bytes() const;
  std::size_t close_idle_values() { return values_ ? values_->close_idle() : 0; }
  // The logs whose rows are in no file of the table, and how long they are by now; for a checkpoint (core/table/checkpoint.h).
  std::vector<std::pair<std::string, std::uint64_t>> log_ends() const;
  // What the store's row says of it. It is never again `never` for who has the table open.
  Sharing sharing() const { return sharing_.load(std::memory_order_acquire); }
  void set_sharing(Sharing sharing) { sharing_.store(sharing, std::memory_order_release); }
  // Refuses writes from now on, because nobody may make any.
  void make_read_only() { read_only_.store(true, std::memory_order_release); }
  // Refuses writes from now on: what the medium holds is no longer known.
  void poison() { failed_.store(true, std::memory_order_release); }
  bool failed() const { return failed_.load(std::memory_order_acquire); }

 private:
  Table();

  // Declared first, destroyed last: the database uses them.
  std::unique_ptr<LevelDbEnv> env_;
  std::unique_ptr<leveldb::Cache> cache_;
  std::unique_ptr<const leveldb::FilterPolicy> filter_;
  std::unique_ptr<ValueLog>
      values_;  // null: rows of file data are values. Made before the database is opened
  std::unique_ptr<leveldb::DB> db_;

  std::uint64_t write_buffer_bytes_ = 0, file_bytes_ = 0;  // the most that LevelDB has of each

  Status writable() const;
  Status write_first();
  Status put_through(leveldb::WriteBatch& changes, const Batch& batch, std::uint64_t erased_bytes);
  Status finish_repair(ObjectStore& store, bool in_memory);
  // --- the value log: table_values.cc ---
  struct ValueChanges {
    std::vector<ValuePointer> placed, gone;
    std::uint64_t erased_bytes = 0;
  };
  Status write_data(Batch& batch);
  Status find_what_goes(const Batch& batch, const std::vector<std::size_t>& last,
                        ValueChanges& changes) const;
  Status compose(const Batch& batch, leveldb::WriteBatch& whole, ValueChanges& changes);
  Status prepare_values(ObjectStore& store, const TableOptions& options, bool closed);
  Status load_values(bool closed);
  Result<std::map<std::uint64_t, ValueLog::Known>> count_values() const;
  bool note_before_values_go();
  Status move_into_rows(const std::vector<std::uint64_t>& from, const std::function<bool()>& go_on);
  Status move_into_row(Key key, const std::vector<std::uint64_t>& from);
  Result<std::optional<std::string>> get_data(Key key) const;
  // Rows as they are, or with the values that they name.
  Status scan_values(const leveldb::ReadOptions& reads, Key first, Key last, bool past_damage,
                     const std::function<bool(Key, std::string_view)>& visit) const;
  friend class TableSnapshot;

  // Bytes on the medium, as far as LevelDB can tell.
  std::uint64_t approximate_bytes(std::uint64_t first_upper, std::uint64_t end_upper) const;
  std::uint64_t end_of_part(std::uint64_t first_upper) const;
  std::uint64_t files_at_level(int level) const;
  Status sync_logs(bool& ended);
  void note_what_is_durable();
  void note_ends();

  std::vector<LogDamage> dropped_;

  ObjectStore* store_ = nullptr;
  ValueLogOptions value_options_;
  std::function<bool(const std::string&)> keeps_file_;
  std::function<void()> when_file_removed_;
  std::atomic<bool> puts_apart_{false};
  std::atomic<std::uint64_t> data_since_sync_{0};  // bytes
  // Whoever reads rows as they were a while ago: what they name stays.
  mutable std::atomic<std::uint64_t> readers_of_past_{0};
  bool writes_values_ = false;
  SharedMutex
      values_move_;  // shared: rows of file data change by a batch; exclusive: one of them by tidy_values()

  std::atomic<bool> failed_{false};
  Mutex first_mutex_;  // before values_move_ and sync_mutex_
  std::optional<Batch> first_ CFFS_GUARDED_BY(first_mutex_);
  std::atomic<bool> awaits_first_{false};  // first_ is not durable yet
  bool found_closed_ = false;
  std::vector<std::pair<std::string, std::uint64_t>>
      found_logs_;  // how long they were when the table had been opened
  std::map<std::uint64_t, std::uint64_t> ends_when_closed_;
  std::atomic<bool> read_only_{false};
  std::atomic<Sharing> sharing_{Sharing::never};
  Mutex sync_mutex_;
  CondVar sync_done_;
  std::atomic<std::uint64_t> writes_{0};  // completed
  std::atomic<std::uint64_t> namespace_changes_{0};
  std::atomic<std::uint64_t> garbage_{0};  // bytes
  std::atomic<std::uint64_t> syncs_counted_{0};
  std::uint64_t synced_writes_ CFFS_GUARDED_BY(sync_mutex_) = 0;
  std::uint64_t syncs_started_ CFFS_GUARDED_BY(sync_mutex_) = 0;
  std::uint64_t syncs_finished_ CFFS_GUARDED_BY(sync_mutex_) = 0;
  bool syncing_ CFFS_GUARDED_BY(sync_mutex_) = false;
};

}  // namespace cffs
