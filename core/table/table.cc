#include "core/table/table.h"

#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/filter_policy.h>
#include <leveldb/table.h>
#include <leveldb/write_batch.h>

#include <algorithm>
#include <charconv>

#include "core/base/undisturbed.h"
#include "core/object/blocking_section.h"
#include "core/object/leveldb_env.h"
#include "core/table/system_rows.h"
#include "core/table/table_files.h"
#include "core/table/table_reads.h"
#include "core/table/table_repair.h"

namespace cffs {
namespace {

constexpr const char* kFolder = "table";
constexpr std::size_t kLargestWriteBuffer = 1u << 30;                  // LevelDB's own limit
constexpr std::size_t kLeastWriteBuffer = 64u << 10;                   // the same
constexpr std::size_t kLargestFile = 4u << 20, kLeastFile = 1u << 20;  // the latter is LevelDB's own limit
constexpr std::uint64_t kBufferShare = 128, kFileShare = 256;          // of the medium, at most

// A write that needed another log and got no descriptor: LevelDB has written nothing, and the next one may have it.
bool only_refused(const Error& error, const LevelDbEnv& env) {
  return error.errno_value == EMFILE && !env.write_failed();
}

void show_as_planned(LevelDbEnv& env, ReplayPlan& plan) {
  for (auto& [name, bytes] : plan.instead) env.show_instead(name, std::move(bytes));
  for (const auto& [name, bytes] : plan.until) env.show_until(name, bytes);
}

// Not those that a compaction is writing. LevelDB tells of them in a text alone: a line " NUMBER:SIZE[...]" for each.
std::vector<std::string> live_files(leveldb::DB& db) {
  std::vector<std::string> names;
  std::string text;
  (void)db.GetProperty("leveldb.sstables", &text);
  for (std::string_view left = text; !left.empty();) {
    const std::size_t end = std::min(left.find('\n'), left.size());
    const std::string_view line = left.substr(0, end);
    left.remove_prefix(std::min(end + 1, left.size()));
    std::uint64_t number = 0;
    if (!line.starts_with(' ') ||
        std::from_chars(line.data() + 1, line.data() + line.size(), number).ec != std::errc()) {
      continue;
    }
    names.push_back(table_file_name(kFolder, number, kTableEnding));
  }
  return names;
}

// What opening, rebuilding and checking share. Every block that is read is verified: filters and indexes, and what a compaction
// rewrites with a checksum of its own.
leveldb::Options verified(leveldb::Env& env, const leveldb::FilterPolicy& filter) {
  leveldb::Options options;
  options.env = &env;
  options.filter_policy = &filter;
  options.block_size = 8u << 10;
  options.max_file_size = kLargestFile;
  options.paranoid_checks = true;
  return options;
}

// What LevelDB writes anew in one go must find room on a medium that is full.
void fit_to_medium(leveldb::Options& options, ObjectStore& store) {
  const auto space = store.space();
  if (!space || space->total_bytes == 0) return;
  options.write_buffer_size =
      std::min<std::uint64_t>(options.write_buffer_size,
                              std::max<std::uint64_t>(kLeastWriteBuffer, space->total_bytes / kBufferShare));
  options.max_file_size =
      std::clamp<std::uint64_t>(space->total_bytes / kFileShare, kLeastFile, kLargestFile);
}

}  // namespace

// LevelDB is written for a world without exceptions: one that passes through it leaves its locks and its queue of writers behind,
// and the next caller waits for ever. Hence undisturbed() around its calls.
Table::Table() = default;
Table::~Table() {
  if (!env_) return;
  env_->release_background_work();  // or closing the database would wait for it
  env_->do_what_waits();
}

Result<std::unique_ptr<Table>> Table::open(ObjectStore& store, const TableOptions& options) {
  ReplayPlan plan;
  std::optional<CloseNote> note;
  if (!options.is_checkpoint) {
    CFFS_TRY(note, read_close_note(store, kFolder));
  }
  CFFS_TRY(plan, check_replay(store, kFolder, options.keep_what_is_whole,
                              options.values_apart && !options.is_checkpoint, note));
  if (plan.no_table && !options.create) {
    return fail(Error::corruption(store.description() +
                                  " has no table: all names and the data of the smallest files were in it; "
                                  "cffs salvage brings back what "
                                  "composites and blobs tell"));
  }
  std::unique_ptr<Table> table(new Table);
  table->env_ = std::make_unique<LevelDbEnv>(store);
  table->env_->set_when_full(options.when_full);
  table->env_->set_when_removed(options.when_file_removed);
  table->env_->set_keeps(options.keeps_file);
  CFFS_TRY_VOID(table->env_->begin(options.in_memory ? nullptr : options.run_later));
  // LevelDB tells of its failure with the next write only; until then a sync must not succeed.
  table->env_->set_before_table_sync([self = table.get(), barrier = options.before_rows_become_durable] {
    Status done = self->values_ ? self->values_->sync() : Status();
    if (done && barrier) done = barrier();
    if (!done) self->poison();
    return done;
  });
  table->env_->set_before_log_sync(
      [self = table.get()] { return self->values_ ? self->values_->sync() : Status(); });
  table->cache_.reset(leveldb::NewLRUCache(options.block_cache_bytes));
  table->filter_.reset(leveldb::NewBloomFilterPolicy(10));

  leveldb::Options o = verified(*table->env_, *table->filter_);
  o.create_if_missing = options.create;
  o.error_if_exists = options.create;
  o.block_cache = table->cache_.get();
  o.write_buffer_size = options.write_buffer_bytes;
  o.max_open_files = static_cast<int>(options.open_tables);
  if (options.in_memory) {
    table->env_->hold_background_work();
    o.write_buffer_size = kLargestWriteBuffer;  // a full one waits for the work that is held
  } else {
    fit_to_medium(o, store);
  }
  table->write_buffer_bytes_ = o.write_buffer_size;
  table->file_bytes_ = o.max_file_size;
  show_as_planned(*table->env_, plan);
  // Nothing of a log that ends so is replayed into a file, nor another begun: a mount costs one sync.
  o.reuse_logs = plan.closed && !options.in_memory;
  table->dropped_ = std::move(plan.dropped);
  CFFS_TRY_VOID(table->prepare_values(store, options, plan.closed));
  if (plan.rebuild) {
    if (const auto done = repair_table(store, kFolder, o, plan.parts); !done) return fail(done.error());
    CFFS_TRY_VOID(remove_close_note(store, kFolder));
  }
  leveldb::DB* db = nullptr;
  const leveldb::Status status = undisturbed([&] { return leveldb::DB::Open(o, kFolder, &db); });
  if (!status.ok()) return fail(to_error(status));
  table->db_.reset(db);
  // Who only looks at a table whose manifest is lost looks at what one repair makes of it in memory, and may find older rows: all of the table
  // would come there.
  const bool only_looks = options.in_memory && plan.rebuild;
  if (!plan.closed && !options.is_checkpoint && !only_looks)
    CFFS_TRY_VOID(table->finish_repair(store, options.in_memory));
  CFFS_TRY_VOID(table->load_values(plan.closed && !options.keep_what_is_whole));  // who mends, counts
  table->found_closed_ = plan.closed;
  table->found_logs_ = table->env_->log_ends();
  return table;
}

Status Table::finish_repair(ObjectStore& store, bool in_memory) {
  CFFS_TRY(const bool unmerged, is_table_unmerged(store));
  if (!unmerged) return {};
  if (in_memory) {
    return fail(Error::corruption(
        store.description() + ": a repair was begun and not finished; cffs fsck --repair goes on with it"));
  }
  return merge_repaired(store, *db_);
}

Result<std::set<std::string>> Table::rebuild(ObjectStore& store, bool values_apart,
                                             const std::function<bool()>& when_full) {
  ReplayPlan plan;
  CFFS_TRY(const auto note, read_close_note(store, kFolder));
  CFFS_TRY(plan, check_replay(store, kFolder, true, values_apart, note));
  LevelDbEnv env(store);
  env.set_when_full(when_full);
  show_as_planned(env, plan);
  CFFS_TRY_VOID(ValueLog::sync_all(store));
  const std::unique_ptr<const leveldb::FilterPolicy> filter(leveldb::NewBloomFilterPolicy(10));
  CFFS_TRY(auto complete, repair_table(store, kFolder, verified(env, *filter), plan.parts));
  CFFS_TRY_VOID(remove_close_note(store, kFolder));
  CFFS_TRY_VOID(store.sync_names());
  return complete;
}

Result<std::optional<std::string>> Table::get(Key key) const {
  if (values_ && key.tag() == KeyTag::file_data) return get_data(key);
  return get_value(*db_, checked_reads(), key);
}

Result<Row> Table::get_row(Key key) const {
  CFFS_TRY(const auto value, get(key));
  if (!value) return Row{};
  return decode_row(*value);
}

Status Table::writable() const {
  if (failed()) return fail(EROFS, "table is read-only after an I/O error; remount to recover");
  if (read_only_.load(std::memory_order_acquire)) return fail(EROFS, "the store is open for reading only");
  return {};
}

void Table::before_first_change(Batch rows) {
  const MutexLock guard(first_mutex_);
  first_ = std::move(rows);
  awaits_first_.store(true, std::memory_order_release);
}

bool Table::unchanged() const {
  return found_closed_ && found_logs_.size() == 1 && found_logs_.front().second > 0 &&
         env_->log_ends() == found_logs_ && writes_.load() == 0;
}

Status Table::write_last(Batch& batch) {
  {
    const MutexLock guard(first_mutex_);  // where nothing was changed, nothing has to come first
    first_.reset();
    awaits_first_.store(false, std::memory_order_release);
  }
  CFFS_TRY_VOID(writable());
  bool ended = true;
  if (Status done = sync_logs(ended); !done) {
    if (ended) poison();
    return done;
  }
  CFFS_TRY_VOID(write(batch));
  CFFS_TRY_VOID(sync());
  note_ends();
  return {};
}

// Of the newest log as far as it was synced, the note behind it was not; earlier ones do not grow any more.
void Table::note_ends() {
  const auto synced = env_->synced_end();
  if (!synced) return;
  const std::uint64_t newest = table_file_number(synced->name, kFolder, kLogEnding);
  for (const auto& [name, bytes] : env_->log_ends()) {
    const std::uint64_t number = table_file_number(name, kFolder, kLogEnding);
    if (number > 0 && number <= newest) ends_when_closed_[number] = number == newest ? synced->bytes : bytes;
  }
}

Status Table::begin_changes() {
  if (awaits_first_.load(std::memory_order_acquire)) CFFS_TRY_VOID(write_first());
  return writable();
}

// Where it fails, the next change tries again.
Status Table::write_first() {
  announce_blocking();  // who waits for the mutex waits for a sync
  const MutexLock guard(first_mutex_);
  if (!first_) return {};
  CFFS_TRY_VOID(writable());
  CFFS_TRY_VOID(put_through(*first_->batch_, *first_, 0));
  CFFS_TRY_VOID(sync());
  first_.reset();
  awaits_first_.store(false, std::memory_order_release);
  return {};
}

Status Table::write(Batch& batch) {
  if (batch.empty()) return {};
  CFFS_TRY_VOID(begin_changes());
  if (!batch.data_.empty()) return write_data(batch);
  return put_through(*batch.batch_, batch, batch.erased_bytes_);
}

Status Table::put_through(leveldb::WriteBatch& changes, const Batch& batch, std::uint64_t erased_bytes) {
  const leveldb::Status status = undisturbed([&] { return db_->Write(leveldb::WriteOptions(), &changes); });
  if (status.ok()) {
    writes_.fetch_add(1);  // only now: who counts it before may not have it
    if (batch.changes_namespace_) namespace_changes_.fetch_add(1, std::memory_order_relaxed);
    if (erased_bytes > 0) garbage_.fetch_add(erased_bytes, std::memory_order_relaxed);
    return {};
  }
  Error error = to_error(status);
  if (!only_refused(error, *env_)) poison();
  return fail(std::move(error));
}

// For whoever reads the log after a crash: damage before this is no torn tail. At once, so that of what was synced nothing is
// in doubt once this reaches the medium too, by the next sync or by itself; it needs none of its own.
void Table::note_what_is_durable() {
  const auto synced = env_->take_synced();
  if (!synced || failed() || read_only_.load(std::memory_order_acquire)) return;
  const LogSynced note{table_file_number(synced->name, kFolder, kLogEnding), synced->bytes};
  Batch batch;
  batch.put(system_key(SystemField::log_synced), encode_log_synced(note));
  const leveldb::Status status =
      undisturbed([&] { return db_->Write(leveldb::WriteOptions(), batch.batch_.get()); });
  if (!status.ok() && !only_refused(to_error(status), *env_)) poison();  // the next sync is noted
}

// Whatever happens, those who wait for this sync are told. `ended` is false where it came to no end.
Status Table::sync_logs(bool& ended) {
  try {
    return env_->sync_logs();
  } catch (const std::bad_alloc&) {  // there is none for a sentence either
    ended = false;
    return fail(ENOMEM);
  } catch (const std::exception&) {
    ended = false;
    return fail(EIO);
  }
}

Status Table::sync() {
  MutexLock guard(sync_mutex_);
  if (failed()) return fail(EROFS, "table is read-only after an I/O error; remount to recover");
  if (writes_.load() == synced_writes_) return {};  // nothing but a note of how far the log is durable
  // Records written before this call are covered by any sync that starts from now on.
  const std::uint64_t mine = syncs_started_ + 1;
  while (syncs_finished_ < mine) {
    if (syncing_) {
      sync_done_.wait(sync_mutex_);
      continue;
    }
    syncing_ = true;
    const std::uint64_t ticket = ++syncs_started_;
    guard.unlock();
    const std::uint64_t covered = writes_.load();
    data_since_sync_.store(0, std::memory_order_relaxed);
    bool ended = true;
    const Status done = sync_logs(ended);
    syncs_counted_.fetch_add(1, std::memory_order_relaxed);
    guard.lock();
    syncing_ = false;
    sync_done_.notify_all();
    if (!ended) return done;  // nothing is known to be lost; who waits tries for itself
    syncs_finished_ = ticket;
    if (!done) {
      poison();
      return done;
    }
    synced_writes_ = std::max(synced_writes_, covered);
    guard.unlock();
    note_what_is_durable();
    guard.lock();
  }
  if (failed()) return fail(EIO, "table: the shared sync failed");
  return {};
}

Status Table::scan(Key first, Key last, const std::function<bool(Key, std::string_view)>& visit) const {
  return scan_values(checked_reads(), first, last, false, visit);
}

Status Table::scan_past_damage(Key first, Key last,
                               const std::function<bool(Key, std::string_view)>& visit) const {
  return scan_values(checked_reads(), first, last, true, visit);
}

std::unique_ptr<TableSnapshot> Table::snapshot() const {
  std::unique_ptr<TableSnapshot> moment(new TableSnapshot(*this, *db_));
  moment->snapshot_ = undisturbed([&] { return db_->GetSnapshot(); });
  return moment;
}

Status Table::scan_tag(KeyTag tag, const std::function<bool(Key, std::string_view)>& visit) const {
  return scan(Key::tagged(tag, 0, 0), Key::tagged(tag, kInodeLimit - 1, ~std::uint64_t{0}), visit);
}

Status Table::scan_directory(InodeId directory, std::uint64_t first_hash,
                             const std::function<bool(Key, const Row&)>& visit,
                             const OnDamage& damaged) const {
  Status problem;
  const auto on_row = [&](Key key, std::string_view value) {
    const auto row = decode_row(value);
    if (row) return visit(key, *row);
    if (damaged) return damaged(key, row.error());
    problem = fail(row.error());
    return false;
  };
  const std::uint64_t first = std::max<std::uint64_t>(first_hash, 1);  // 0 is the null name's
  CFFS_TRY_VOID(scan(Key::entry(directory, first), Key::entry(directory, ~std::uint64_t{0}), on_row));
  return problem;
}

Status Table::scan_namespace(const NamespaceVisitor& visitor) const {
  Status problem;
  const auto decoded = [&](Key key, auto row, const auto& visit) {
    if (row) return visit(*row);
    if (visitor.damaged) return visitor.damaged(key, row.error());
    problem = fail(row.error());
    return false;
  };
  std::optional<std::uint64_t>
      composite;  // whose rows these are: a moved member's row comes after its composite's
  const auto on_row = [&](Key key, std::string_view value) {
    const RowKind kind = row_kind(key, value);
    if (kind == RowKind::composite) {
      composite = key.upper;
      if (!visitor.composite) return true;
      return decoded(key, decode_composite_row(value),
                     [&](const CompositeRow& row) { return visitor.composite(CompositeId{key.upper}, row); });
    }
    if (kind == RowKind::member_files && composite == key.upper) {
      if (!visitor.member_files) return true;
      return decoded(key, decode_member_files(value), [&](const MemberFiles& row) {
        return visitor.member_files(CompositeId{key.upper}, static_cast<std::uint32_t>(key.lower - 1), row);
      });
    }
    if (!visitor.entries) return true;
    return decoded(key, decode_row(value), [&](Row& row) { return visitor.entries(key, row); });
  };
  const Key last{kInodeLimit - 1, ~std::uint64_t{0}};
  CFFS_TRY_VOID(visitor.past_damage ? scan_past_damage({0, 0}, last, on_row) : scan({0, 0}, last, on_row));
  return problem;
}

Result<std::vector<std::string>> Table::find_damaged_files() const {
  std::vector<std::string> sentences;
  const leveldb::Options options = verified(*env_, *filter_);
  leveldb::ReadOptions reads = checked_reads();
  reads.fill_cache = false;
  for (const std::string& name : live_files(*db_)) {
    leveldb::RandomAccessFile* raw = nullptr;
    leveldb::Status status = env_->NewRandomAccessFile(name, &raw);
    const std::unique_ptr<leveldb::RandomAccessFile> file(raw);
    std::uint64_t size = 0;
    if (status.ok()) status = env_->GetFileSize(name, &size);
    leveldb::Table* raw_table = nullptr;
    if (status.ok()) status = leveldb::Table::Open(options, file.get(), size, &raw_table);
    const std::unique_ptr<leveldb::Table> table(raw_table);
    if (table) {
      const std::unique_ptr<leveldb::Iterator> it(table->NewIterator(reads));
      for (it->SeekToFirst(); it->Valid(); it->Next()) {
      }
      status = it->status();
    }
    if (status.ok()) continue;
    if (Error error = read_error(status); error.kind != ErrorKind::corruption && !status.IsNotFound())
      return fail(std::move(error));
    const std::vector<std::string> live = live_files(*db_);  // it may have been compacted away meanwhile
    if (std::find(live.begin(), live.end(), name) == live.end()) continue;
    sentences.push_back(name + ": " + status.ToString() + std::string(kRowsMissing));
  }
  return sentences;
}

std::vector<std::pair<std::string, std::uint64_t>> Table::log_ends() const { return env_->log_ends(); }

std::string table_library_version() {
  return std::to_string(leveldb::kMajorVersion) + "." + std::to_string(leveldb::kMinorVersion);
}

}  // namespace cffs
