// What the table has to do with the value log: which values go there, what is left of it by rows that change, and how it goes.
#include <leveldb/db.h>
#include <leveldb/write_batch.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/object/leveldb_env.h"
#include "core/table/system_rows.h"
#include "core/table/table.h"
#include "core/table/table_files.h"
#include "core/table/table_reads.h"

namespace cffs {
namespace {

constexpr const char* kTableFolder = "table";
constexpr std::uint64_t kPointerBytes = 64;  // of the table, key and all
constexpr std::uint64_t kObjectShare = 128;  // of the medium, at most
constexpr std::uint64_t kLeastObject = 1u << 20;

const Key kFirstData = Key::tagged(KeyTag::file_data, 0, 0);
const Key kLastData = Key::tagged(KeyTag::file_data, kInodeLimit - 1, ~std::uint64_t{0});

// nullopt: the row is a value, or nothing that can be understood, which its reader will report.
std::optional<ValuePointer> pointer_of(std::string_view row) {
  if (!is_as_long_as_a_pointer(row.size())) return {};
  const auto pointer = pointer_in_row(row);
  return pointer ? *pointer : std::nullopt;
}

std::uint64_t fit_to(ObjectStore& store, std::uint64_t wanted) {
  const auto space = store.space();
  if (!space || space->total_bytes == 0) return wanted;
  return std::min(wanted, std::max(kLeastObject, space->total_bytes / kObjectShare));
}

// Of each row that changes, its last change.
std::vector<std::size_t> last_changes(const auto& changes) {
  std::map<Key, std::size_t> last;
  for (std::size_t i = 0; i < changes.size(); ++i) last[changes[i].key] = i;
  std::vector<std::size_t> found;
  found.reserve(last.size());
  for (const auto& [key, i] : last) found.push_back(i);
  return found;
}

}  // namespace

// Before the database is opened: what it replays it makes durable, and removes the logs that could have been judged.
Status Table::prepare_values(ObjectStore& store, const TableOptions& options, bool closed) {
  store_ = &store;
  value_options_ = options.values;
  keeps_file_ = options.keeps_file;
  when_file_removed_ = options.when_file_removed;
  if (!options.values_apart) return {};
  writes_values_ = !options.in_memory && options.values.after_bytes != ~std::uint64_t{0};
  if (writes_values_) {
    value_options_.object_bytes = fit_to(store, std::max<std::uint64_t>(1, options.values.object_bytes));
  }
  values_ = std::make_unique<ValueLog>(store, writes_values_ ? value_options_.object_bytes : 0);
  return closed || options.in_memory ? Status() : ValueLog::sync_all(store);
}

Status Table::load_values(bool closed) {
  if (!writes_values_) return {};
  CFFS_TRY(const auto saved, get(system_key(SystemField::values)));
  if (closed && saved) {
    if (const auto known = decode_values(*saved)) return values_->load(*known);
  }
  CFFS_TRY(const auto counted, count_values());
  return values_->load(counted);
}

// What nobody has counted: after an end without close, once. Nothing where there is no value log.
Result<std::map<std::uint64_t, ValueLog::Known>> Table::count_values() const {
  std::map<std::uint64_t, ValueLog::Known> known;
  CFFS_TRY(const auto names, store_->list(kValueFolder));
  if (names.empty()) return known;
  Status scanned =
      scan_rows(*db_, checked_reads(), kFirstData, kLastData, true, [&](Key, std::string_view row) {
        if (const auto pointer = pointer_of(row)) known[pointer->object].live += pointer->length;
        return true;
      });
  // Rows that cannot be read may name something: everything stays.
  const bool all_seen = scanned.has_value();
  if (!scanned && scanned.error().kind != ErrorKind::corruption) return fail(scanned.error());
  for (const std::string& name : names) {
    const std::uint64_t number = ValueLog::object_number(name);
    if (number == 0) continue;
    const auto object = store_->open(name);
    const auto info = object ? (*object)->info() : Result<ObjectInfo>(fail(object.error()));
    if (!info && !info.error().is_damage()) return fail(info.error());
    ValueLog::Known& part = known[number];
    part.size = info ? info->size : part.live;
    if (!all_seen) part.live = part.size;
    if (!info) part.live = std::max<std::uint64_t>(part.live, 1);  // it stays
  }
  return known;
}

void Table::save_values(Batch& batch) const {
  if (!values_) return;
  batch.put(system_key(SystemField::values), encode_values(values_->known()));
}

// Less than it says is no damage: not all that is erased is let go of (find_what_goes()), and tidy_values() finds it.
Result<std::vector<std::string>> Table::find_miscounted_values() const {
  std::vector<std::string> sentences;
  if (!values_ || !found_closed_ || writes_.load() > 0) return sentences;
  CFFS_TRY(const auto saved, get(system_key(SystemField::values)));
  const auto said =
      saved ? decode_values(*saved) : Result<std::map<std::uint64_t, ValueLog::Known>>(fail(ENOENT));
  if (!said) return sentences;  // it is counted, and the check of all rows tells
  CFFS_TRY(const auto counted, count_values());
  for (const auto& [number, part] : counted) {
    const auto known = said->find(number);
    const std::uint64_t live = known == said->end() ? 0 : known->second.live;
    if (live >= part.live) continue;
    sentences.push_back(ValueLog::object_name(number) + " counts " + std::to_string(live) +
                        " bytes that rows name; they name " + std::to_string(part.live));
  }
  return sentences;
}

std::uint64_t Table::value_log_bytes() const {
  std::uint64_t bytes = 0;
  const auto names = store_->list(kValueFolder);
  if (!names) return bytes;
  for (const std::string& name : *names) {
    const auto object = store_->open(name);
    const auto info = object ? (*object)->info() : Result<ObjectInfo>(fail(object.error()));
    if (info) bytes += info->size;
  }
  return bytes;
}

// Reading: a row that is read, and what it named before it was replaced meanwhile, may be gone; then the row is another one.
Result<std::optional<std::string>> Table::get_data(Key key) const {
  constexpr int kTries = 8;
  std::optional<ValuePointer> before;
  for (int attempt = 0;; ++attempt) {
    CFFS_TRY(auto row, get_value(*db_, checked_reads(), key));
    if (!row) return row;
    CFFS_TRY(const auto pointer, pointer_in_row(*row));
    if (!pointer) {
      row->pop_back();
      return row;
    }
    auto value = values_->read(*pointer);
    if (value) return std::optional<std::string>(std::move(*value));
    if (before == *pointer || attempt == kTries) return fail(std::move(value).error());
    before = *pointer;
  }
}

Status Table::scan_values(const leveldb::ReadOptions& reads, Key first, Key last, bool past_damage,
                          const std::function<bool(Key, std::string_view)>& visit) const {
  if (!values_ || last < kFirstData || first > kLastData)
    return scan_rows(*db_, reads, first, last, past_damage, visit);
  struct Reader {
    explicit Reader(std::atomic<std::uint64_t>& all) : readers(all) { readers.fetch_add(1); }
    ~Reader() { readers.fetch_sub(1); }
    std::atomic<std::uint64_t>& readers;
  };
  const Reader reader(readers_of_past_);
  Status lost;
  std::string value;
  const Status done = scan_rows(*db_, reads, first, last, past_damage, [&](Key key, std::string_view row) {
    if (key.tag() != KeyTag::file_data) return visit(key, row);
    const auto pointer = pointer_in_row(row);
    if (pointer && !*pointer) return visit(key, row.substr(0, row.size() - 1));
    auto read = pointer ? values_->read(**pointer) : Result<std::string>(fail(pointer.error()));
    value = read ? std::move(*read) : std::string();
    const bool passes = !read && !read.error().is_damage();  // no descriptor, perhaps
    if (!read && (lost || passes)) lost = fail(std::move(read).error());
    return passes && !past_damage ? false : visit(key, value);
  });
  // Whoever goes on past damage would take the values that were not given for lost.
  if (!lost && !lost.error().is_damage()) return lost;
  CFFS_TRY_VOID(done);
  const bool hidden = !past_damage && !lost && lost.error().kind == ErrorKind::corruption;
  return hidden ? Status() : lost;
}

TableSnapshot::TableSnapshot(const Table& table, leveldb::DB& db) : table_(table), db_(db) {
  table_.readers_of_past_.fetch_add(1);
}

TableSnapshot::~TableSnapshot() {
  if (snapshot_ != nullptr) db_.ReleaseSnapshot(snapshot_);
  table_.readers_of_past_.fetch_sub(1);
}

Status TableSnapshot::scan(Key first, Key last,
                           const std::function<bool(Key, std::string_view)>& visit) const {
  leveldb::ReadOptions reads = checked_reads();
  reads.snapshot = snapshot_;
  reads.fill_cache = false;  // what its users need stays there
  return table_.scan_values(reads, first, last, true, visit);
}

Result<std::optional<std::string>> TableSnapshot::get(Key key) const {
  leveldb::ReadOptions reads = checked_reads();
  reads.snapshot = snapshot_;
  CFFS_TRY(auto row, get_value(db_, reads, key));
  if (!row || !table_.values_ || key.tag() != KeyTag::file_data) return row;
  CFFS_TRY(const auto pointer, pointer_in_row(*row));
  if (!pointer) {
    row->pop_back();
    return row;
  }
  CFFS_TRY(row, table_.values_->read(*pointer));
  return row;
}

Status Table::find_what_goes(const Batch& batch, const std::vector<std::size_t>& last,
                             ValueChanges& changes) const {
  if (!values_->in_use()) return {};
  std::map<Key, bool> may_be_pointer;
  for (const Batch::DataChange& change : batch.data_) {
    const bool may = change.puts ? !change.is_new : change.bytes >= value_options_.least_bytes;
    may_be_pointer[change.key] = may_be_pointer[change.key] || may;
  }
  for (const std::size_t i : last) {
    const Batch::DataChange& change = batch.data_[i];
    if (!may_be_pointer[change.key]) continue;
    const auto row = get_value(*db_, checked_reads(), change.key);
    if (!row && row.error().kind != ErrorKind::corruption) return fail(row.error());
    // A row that cannot be read may be replaced. What it named stays, until somebody counts anew.
    const auto pointer = row && *row ? pointer_of(**row) : std::nullopt;
    if (!pointer) continue;
    changes.gone.push_back(*pointer);
    if (!change.puts) changes.erased_bytes -= change.bytes - std::min(change.bytes, kPointerBytes);
  }
  return {};
}

Status Table::compose(const Batch& batch, leveldb::WriteBatch& whole, ValueChanges& changes) {
  const std::vector<std::size_t> last = last_changes(batch.data_);
  changes.erased_bytes = batch.erased_bytes_;
  std::uint64_t data = 0;
  for (const Batch::DataChange& change : batch.data_) {
    changes.erased_bytes += change.bytes;
    data += change.value.size();
  }
  std::map<std::size_t, std::size_t> apart;  // of the batch's changes: of the values that go into the log
  std::vector<std::string_view> values;
  if (values_) {
    CFFS_TRY_VOID(find_what_goes(batch, last, changes));
    const bool enough =
        data_since_sync_.fetch_add(data, std::memory_order_relaxed) >= value_options_.after_bytes;
    if (enough && puts_apart_.load(std::memory_order_relaxed) && !batch.keeps_data_in_rows_) {
      for (const std::size_t i : last) {
        const std::string& value = batch.data_[i].value;
        const bool fits = value.size() >= value_options_.least_bytes && value.size() <= kLongestValue;
        if (!batch.data_[i].puts || !fits) continue;
        apart[i] = values.size();
        values.push_back(value);
      }
    }
    auto placed = values.empty() ? std::nullopt : values_->append(values);
    if (!placed) apart.clear();
    if (placed) changes.placed = std::move(*placed);
  }
  for (std::size_t i = 0; i < batch.data_.size(); ++i) {
    const Batch::DataChange& change = batch.data_[i];
    whole.Append(*change.before);
    const EncodedKey key(change.key);
    const auto in_log = apart.find(i);
    if (!change.puts) {
      whole.Delete(slice(key.view()));
    } else if (in_log != apart.end()) {
      whole.Put(slice(key.view()), slice(row_of_pointer(changes.placed[in_log->second])));
    } else if (values_) {
      whole.Put(slice(key.view()), slice(row_of_value(change.value)));
    } else {
      whole.Put(slice(key.view()), slice(change.value));
    }
  }
  whole.Append(*batch.batch_);
  return {};
}

Status Table::write_data(Batch& batch) {
  const ReadLock not_moved_meanwhile(values_move_);
  leveldb::WriteBatch whole;
  ValueChanges changes;
  CFFS_TRY_VOID(compose(batch, whole, changes));
  Status done = put_through(whole, batch, changes.erased_bytes);
  for (const ValuePointer& pointer : done ? changes.gone : changes.placed) values_->let_go(pointer);
  return done;
}

std::vector<std::uint64_t> Table::dead_values() const {
  if (!values_ || readers_of_past_.load() > 0) return {};
  return values_->dead();
}

// A log without a note that these rows were durable is judged by what they name (core/table/replay_check.h). So there is one, durable itself,
// before that goes; whoever synced last may not have written his yet.
bool Table::note_before_values_go() {
  const auto end = env_->synced_end();
  if (!end) return true;  // no row that is in a log is durable
  const LogSynced note{table_file_number(end->name, kTableFolder, kLogEnding), end->bytes};
  leveldb::WriteBatch change;
  change.Put(slice(EncodedKey(system_key(SystemField::log_synced)).view()), slice(encode_log_synced(note)));
  if (!put_through(change, Batch(), 0)) return false;
  if (env_->sync_logs()) return true;
  poison();
  return false;
}

void Table::drop_values(const std::vector<std::uint64_t>& dead) {
  if (dead.empty() || failed() || !begin_changes() || !note_before_values_go()) return;
  for (const std::uint64_t number : dead) {
    const std::string name = ValueLog::object_name(number);
    if (keeps_file_ && keeps_file_(name)) {
      values_->forget(number);  // who keeps it removes it
      continue;
    }
    const Status removed = store_->remove(name);
    if (!removed && removed.error().errno_value != ENOENT) continue;  // with the next commit
    values_->forget(number);
    if (when_file_removed_) when_file_removed_();
  }
}

Status Table::move_into_row(Key key, const std::vector<std::uint64_t>& from) {
  const WriteLock nobody_else(values_move_);
  CFFS_TRY(const auto row, get_value(*db_, checked_reads(), key));
  const auto pointer = row ? pointer_of(*row) : std::nullopt;
  if (!pointer || std::find(from.begin(), from.end(), pointer->object) == from.end()) return {};
  const auto value = values_->read(*pointer);
  if (!value) return {};  // its reader will report it
  leveldb::WriteBatch change;
  change.Put(slice(EncodedKey(key).view()), slice(row_of_value(*value)));
  CFFS_TRY_VOID(put_through(change, Batch(), 0));
  values_->let_go(*pointer);
  return {};
}

Status Table::tidy_values(const std::function<bool()>& go_on) {
  if (!values_ || !writable()) return {};
  return move_into_rows(values_->wasteful(), go_on);
}

// What is moved is written twice before anything is given back: no more than room is kept for (room_needed()).
bool Table::empty_values(std::uint64_t least) {
  if (!values_ || !writable()) return false;
  const std::vector<std::uint64_t> from = values_->worth_emptying(least, write_buffer_bytes_);
  return !from.empty() && move_into_rows(from, [] { return true; });
}

Status Table::move_into_rows(const std::vector<std::uint64_t>& from, const std::function<bool()>& go_on) {
  if (from.empty()) return {};
  CFFS_TRY_VOID(begin_changes());
  {
    // Nobody begins anything in them any more; what was on its way is in rows then.
    const WriteLock nobody_is_writing(values_move_);
  }
  std::vector<Key> rows;
  std::set<std::uint64_t> named;
  bool stopped = false;
  CFFS_TRY_VOID(
      scan_rows(*db_, checked_reads(), kFirstData, kLastData, false, [&](Key key, std::string_view row) {
        const auto pointer = pointer_of(row);
        if (!pointer || std::find(from.begin(), from.end(), pointer->object) == from.end()) return true;
        rows.push_back(key);
        named.insert(pointer->object);
        stopped = !go_on();
        return !stopped;
      }));
  if (stopped) return {};
  std::vector<std::uint64_t> unnamed;
  std::copy_if(from.begin(), from.end(), std::back_inserter(unnamed),
               [&](std::uint64_t number) { return !named.contains(number); });
  values_->nobody_names(unnamed);
  for (const Key key : rows) {
    if (!go_on()) return {};
    CFFS_TRY_VOID(move_into_row(key, from));
  }
  return {};
}

}  // namespace cffs
