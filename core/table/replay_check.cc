#include "core/table/replay_check.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "core/base/bytes.h"
#include "core/object/what_can_be_read.h"
#include "core/table/system_rows.h"
#include "core/table/table_files.h"
#include "core/table/table_log.h"
#include "core/table/value_log.h"

namespace cffs {
namespace {

bool is_refused(const Error& error) { return error.kind == ErrorKind::os && error.is_damage(); }

// What the medium gives of an object; zeros for the rest.
Result<PartialBytes> read_object(ObjectStore& store, const std::string& name) {
  const auto object = store.open(name);
  if (!object && is_refused(object.error())) return PartialBytes{{}, 0};
  if (!object) return fail(object.error());
  auto bytes = read_whole(**object);
  if (bytes) return PartialBytes{std::move(*bytes), {}};
  if (bytes.error().errno_value == EFBIG) {
    return fail(Error::corruption(store.description() + "/" + name + " is larger than any of its kind"));
  }
  if (!is_refused(bytes.error())) return fail(bytes.error());
  auto blocks = read_what_can_be(**object);
  if (!blocks && is_refused(blocks.error())) return PartialBytes{{}, 0};  // not even how much there is
  return blocks;
}

// What the records of a manifest (leveldb/db/version_edit.cc) say of the logs, and of the files that there are.
struct Manifest {
  std::uint64_t first_log = 0;      // earlier ones are in tables
  std::uint64_t last_sequence = 0;  // of the changes that were in logs by then
  std::uint64_t next_file = 0;      // the number of the next one
  std::set<std::uint64_t> files;    // of all levels
};

// Behind each key: sequence and type. LevelDB takes them off without looking whether they are there.
constexpr std::size_t kKeyTail = 8;

// False: malformed.
bool apply_edit(std::string_view record, Manifest& manifest) {
  enum Tag : std::uint64_t {
    comparator = 1,
    log_number = 2,
    next_file = 3,
    last_sequence = 4,
    compact_pointer = 5,
    deleted_file = 6,
    new_file = 7,
    previous_log = 9
  };
  ByteReader r(record);
  while (r.ok() && !r.at_end()) {
    switch (r.varint()) {
      case comparator:
        (void)r.string();
        break;
      case log_number:
        manifest.first_log = r.varint();
        break;
      case last_sequence:
        manifest.last_sequence = r.varint();
        break;
      case next_file:
        manifest.next_file = r.varint();
        break;
      case previous_log:
        (void)r.varint();
        break;
      case compact_pointer:
        (void)r.varint();
        if (r.string().size() < kKeyTail) return false;
        break;
      case deleted_file:
        (void)r.varint();  // level; what goes from one to another is added behind it
        manifest.files.erase(r.varint());
        break;
      case new_file:
        (void)r.varint();
        manifest.files.insert(r.varint());
        (void)r.varint();                              // size
        for (int i = 0; i < 2; ++i) {                  // the smallest key, the largest
          if (r.string().size() < kKeyTail) return false;
        }
        break;
      default:
        return false;
    }
  }
  return r.ok();
}

// What a batch (leveldb/db/write_batch.cc) says of what is durable.
struct Notes {
  std::map<std::uint64_t, std::uint64_t> synced;  // log: bytes
  bool closes = false;
};

void note_batch(std::string_view record, Notes& notes) {
  const EncodedKey synced_key(system_key(SystemField::log_synced));
  const EncodedKey open_key(system_key(SystemField::open_boot));
  (void)visit_changes(record, [&](std::string_view key, std::optional<std::string_view> value) {
    notes.closes = notes.closes || (!value && key == open_key.view());
    if (!value || key != synced_key.view()) return true;
    const auto synced = decode_log_synced(*value);
    if (!synced) return true;
    std::uint64_t& bytes = notes.synced[synced->log];
    bytes = std::max(bytes, synced->bytes);
    return true;
  });
}

struct Log {
  std::uint64_t number = 0;
  std::string name;
  LogContent content;
  bool missing = false;
  std::uint64_t noted = 0;                    // bytes that it had when the store was closed
  std::optional<std::uint64_t> refused = {};  // the first byte that the medium does not give

  bool cut() const { return !missing && content.intact < noted; }
  bool damaged() const { return missing || content.damaged() || cut() || refused; }
  // For a report: what it had, where it is shorter now; 0: it is not.
  std::uint64_t had() const { return !missing && content.size < noted ? noted : 0; }
};

std::string log_name(const std::string& folder, std::uint64_t number) {
  return table_file_name(folder, number, kLogEnding);
}

// Those to be replayed, in order: all from `first` on. That one's name was durable before any manifest named it, so where its
// object is not there it is lost; 0: nobody knows which is the first.
Result<std::vector<Log>> logs_since(ObjectStore& store, const std::string& folder, std::uint64_t first,
                                    const std::map<std::uint64_t, std::uint64_t>& noted) {
  CFFS_TRY(const auto names, store.list(folder));
  std::map<std::uint64_t, std::string> found;
  for (const std::string& name : names) {
    const std::uint64_t number = table_file_number(name, folder, kLogEnding);
    if (number > 0 && number >= first) found[number] = name;
  }
  std::vector<Log> logs;
  if (first > 0 && !found.contains(first)) {
    logs.push_back({first, log_name(folder, first), {}, true, 0});
  }
  for (const auto& [number, name] : found) {
    CFFS_TRY(const PartialBytes read, read_object(store, name));
    const auto own = noted.find(number);
    logs.push_back(
        {number, name, read_log(read.bytes), false, own != noted.end() ? own->second : 0, read.refused});
  }
  for (const auto& [number, bytes] : noted) {
    if (first > 0 && number > first && !found.contains(number))
      logs.push_back({number, log_name(folder, number), {}, true, bytes});
  }
  std::sort(logs.begin(), logs.end(), [](const Log& a, const Log& b) { return a.number < b.number; });
  return logs;
}

// Whether a note behind the first damage, which is in logs[first], says that the damaged bytes were durable; or may have said so, where the
// medium does not give what is there.
bool was_durable(const std::vector<Log>& logs, std::size_t first) {
  if (logs[first].cut()) return true;
  if (std::any_of(logs.begin() + static_cast<std::ptrdiff_t>(first), logs.end(),
                  [](const Log& log) { return log.refused.has_value(); }))
    return true;
  Notes notes;
  for (const LogRecord& record : logs[first].content.behind) note_batch(record.bytes, notes);
  for (std::size_t i = first + 1; i < logs.size(); ++i) {
    if (logs[i].noted > 0) return true;
    for (const LogRecord& record : logs[i].content.before) note_batch(record.bytes, notes);
    for (const LogRecord& record : logs[i].content.behind) note_batch(record.bytes, notes);
  }
  if (notes.closes) return true;
  const std::uint64_t number = logs[first].number;
  const auto own = notes.synced.find(number);
  if (own != notes.synced.end() && own->second > logs[first].content.intact) return true;
  return notes.synced.upper_bound(number) != notes.synced.end();  // a sync of a later log is one of this, too
}

// The sequence of a batch's first change, and of what comes behind its last.
std::pair<std::uint64_t, std::uint64_t> sequences_of(std::string_view record) {
  ByteReader r(record);
  const std::uint64_t first = r.u64();
  return {first, first + r.u32()};
}

// The log that lost its end between two records: of two the medium may have the later, and not all of the earlier. Each batch goes on where the
// last one ended, in another log too. Those from `end` on are not looked at.
std::optional<std::size_t> log_without_its_end(const std::vector<Log>& logs, std::size_t end,
                                               std::uint64_t last_sequence) {
  std::uint64_t next = last_sequence + 1;  // where the first log has nothing
  for (std::size_t i = 0; i < end; ++i) {
    const std::vector<LogRecord>& records = logs[i].content.before;
    if (records.empty()) continue;
    if (i > 0 && sequences_of(records.front().bytes).first > next) return i - 1;
    next = sequences_of(records.back().bytes).second;
  }
  return {};
}

// Whether the last change says that the store was closed; the note of its own sync is behind it.
bool closes(const Log& log) {
  for (auto record = log.content.before.rbegin(); record != log.content.before.rend(); ++record) {
    Notes notes;
    note_batch(record->bytes, notes);
    if (notes.closes || notes.synced.empty()) return notes.closes;
  }
  return false;
}

// No power cut leaves a sector that cannot be read: what is there may have been acknowledged.
Error not_given_value(const ObjectStore& store, const ValuePointer& pointer) {
  return Error::corruption(store.description() + "/" + ValueLog::object_name(pointer.object) + ": " +
                           std::to_string(pointer.length) + " bytes from " + std::to_string(pointer.offset) +
                           " on cannot be read, and may have been those of a file; nothing was changed, and "
                           "cffs fsck --repair keeps what is before and behind them");
}

// Whether each value that the record puts into the value log is there. One that the medium does not give is, for who keeps what is whole: its
// reader is told.
Result<bool> has_its_values(ObjectStore& store, std::string_view record, bool keep_what_is_whole) {
  Status problem;
  bool all = true;
  (void)visit_changes(record, [&](std::string_view key, std::optional<std::string_view> row) {
    if (!row || key.size() != kKeyBytes || decode_key(key).tag() != KeyTag::file_data) return true;
    const auto pointer = pointer_in_row(*row);
    if (!pointer || !*pointer) return true;
    const auto value = read_value(store, **pointer);
    const bool unreadable = !value && value.error().kind != ErrorKind::corruption;
    const bool not_given = !value && is_refused(value.error());
    if (not_given && keep_what_is_whole) return true;
    if (unreadable) problem = fail(not_given ? not_given_value(store, **pointer) : value.error());
    all = value.has_value();
    return all;
  });
  CFFS_TRY_VOID(problem);
  return all;
}

// Rows reach the medium before the values that they name where neither was synced: such a log ends before the first of them, as one whose
// end is torn. What is noted as durable is not looked at: what is missing there has rotted, and who reads it is told.
Status end_before_lost_values(ObjectStore& store, bool keep_what_is_whole, std::vector<Log>& logs) {
  Notes notes;
  for (const Log& log : logs) {
    for (const LogRecord& record : log.content.before) note_batch(record.bytes, notes);
    for (const LogRecord& record : log.content.behind) note_batch(record.bytes, notes);
  }
  if (notes.closes && !logs.empty() && closes(logs.back())) return {};
  for (Log& log : logs) {
    if (notes.synced.upper_bound(log.number) != notes.synced.end())
      continue;  // a sync of a later log is one of this, too
    const auto own = notes.synced.find(log.number);
    const std::uint64_t durable = own != notes.synced.end() ? own->second : 0;
    std::vector<LogRecord>& records = log.content.before;
    for (auto record = records.begin(); record != records.end(); ++record) {
      if (record->end <= durable) continue;
      CFFS_TRY(const bool whole, has_its_values(store, record->bytes, keep_what_is_whole));
      if (whole) continue;
      log.content.intact = record->begin;
      log.content.behind.insert(log.content.behind.begin(), std::make_move_iterator(record),
                                std::make_move_iterator(records.end()));
      records.erase(record, records.end());
      return {};
    }
    if (log.damaged()) return {};  // nothing behind it is replayed, or all of it was durable
  }
  return {};
}

std::string rewritten(const LogContent& content, bool also_behind) {
  std::vector<const LogRecord*> records;
  for (const LogRecord& record : content.before) records.push_back(&record);
  if (also_behind) {
    for (const LogRecord& record : content.behind) records.push_back(&record);
  }
  return write_log(records);
}

LogDamage damage_of(std::string object, std::uint64_t at, std::uint64_t size, bool was_durable,
                    std::optional<std::uint64_t> refused) {
  LogDamage damage;
  damage.object = std::move(object);
  damage.at = at;
  damage.size = size;
  damage.was_durable = was_durable;
  damage.refused = refused;
  return damage;
}

LogDamage damage_of(const Log& log, bool was_durable) {
  LogDamage damage = damage_of(log.name, log.content.intact, log.content.size, was_durable, log.refused);
  damage.missing = log.missing;
  damage.had = log.had();
  return damage;
}

Error refused(const ObjectStore& store, const LogDamage& damage) {
  return Error::corruption(
      store.description() + "/" + damage.sentence() +
      "; nothing was changed, and cffs fsck --repair keeps what is before and behind it");
}

// The manifest's word on where to begin; its own damage goes into the plan.
Result<Manifest> read_manifest(ObjectStore& store, const std::string& folder, const std::string& name,
                               bool keep_what_is_whole, const CloseNote& note, ReplayPlan& plan) {
  CFFS_TRY(const PartialBytes read, read_object(store, name));
  const LogContent content = read_log(read.bytes);
  Manifest manifest;
  bool whole = true;
  for (const LogRecord& record : content.before) whole = whole && apply_edit(record.bytes, manifest);
  const std::uint64_t number = manifest_number(name, folder);
  const std::uint64_t had = number == note.manifest ? note.manifest_bytes : 0;
  const bool cut = content.intact < had, is_older = number < note.manifest;
  if (whole && !content.damaged() && !cut && !is_older && !read.refused) return manifest;
  LogDamage damage = damage_of(name, content.intact, content.size, true, read.refused);
  if (content.size < had) damage.had = had;
  if (is_older && whole && !content.damaged() && !read.refused) {
    damage.object = folder + "/CURRENT";
    damage.is_older = true;
  }
  // Each record is synced before anything relies on it, so only the last one may be torn; and the log that it would have
  // let go of is then still there.
  if (whole && content.behind.empty() && !cut && !is_older && !read.refused) {
    CFFS_TRY(const bool there, store.exists(log_name(folder, manifest.first_log)));
    if (there) {
      damage.was_durable = false;
      plan.instead[name] = rewritten(content, false);
      plan.dropped.push_back(std::move(damage));
      return manifest;
    }
  }
  if (!keep_what_is_whole) return fail(refused(store, damage));
  plan.rebuild = true;
  plan.dropped.push_back(std::move(damage));
  return manifest;
}

}  // namespace

std::string LogDamage::sentence() const {
  if (missing) return object + " is missing";
  if (is_older) return object + " names an older manifest than when the store was closed";
  if (had > 0 && !refused) {
    return object + " is whole up to byte " + std::to_string(at) + ", and had " + std::to_string(had) +
           " bytes when the store was closed: rows are missing";
  }
  std::string where = object + " is damaged at byte " + std::to_string(at) + " of " + std::to_string(size);
  if (refused) where += ", where bytes from " + std::to_string(*refused) + " on cannot be read";
  return was_durable ? where + ", which had been durable"
                     : where + ": a tail that was not durable is left out";
}

Result<ReplayPlan> check_replay(ObjectStore& store, const std::string& folder, bool keep_what_is_whole,
                                bool values_apart, const std::optional<CloseNote>& said) {
  ReplayPlan plan;
  const CloseNote note = said.value_or(CloseNote());
  const std::string current = folder + "/CURRENT";
  CFFS_TRY(const bool is_there, store.exists(current));
  if (!is_there) {
    CFFS_TRY(auto names, store.list(folder));
    std::erase(names, folder + "/" + kCloseNote);
    plan.no_table = names.empty();
    if (plan.no_table) return plan;
    LogDamage lost = damage_of(current, 0, 0, true, {});
    lost.missing = true;
    if (!keep_what_is_whole) return fail(refused(store, lost));
    plan.rebuild = true;
    plan.dropped.push_back(std::move(lost));
  }
  PartialBytes read;
  if (is_there) {
    CFFS_TRY(read, read_object(store, current));
  }
  std::string text = std::move(read.bytes);
  const std::uint64_t current_size = text.size();
  const bool named = text.starts_with("MANIFEST-") && text.ends_with('\n');
  if (named) text.pop_back();
  const std::string name = folder + "/" + text;
  CFFS_TRY(const bool manifest_there, named ? store.exists(name) : Result<bool>(false));
  if (is_there && !manifest_there) {
    LogDamage damage = damage_of(current, 0, current_size, true, read.refused);
    if (!keep_what_is_whole && read.refused) return fail(refused(store, damage));
    if (!keep_what_is_whole) {
      return fail(
          Error::corruption(store.description() + "/" + current +
                            " names no manifest; nothing was changed, and cffs fsck --repair makes one from "
                            "what is there"));
    }
    plan.rebuild = true;
    plan.dropped.push_back(std::move(damage));
  }
  Manifest manifest;
  if (manifest_there) {
    CFFS_TRY(manifest, read_manifest(store, folder, name, keep_what_is_whole, note, plan));
    if (!plan.rebuild) plan.parts = TableParts{manifest.files, manifest.next_file, manifest.first_log};
  }
  CFFS_TRY(std::vector<Log> logs,
           logs_since(store, folder, plan.rebuild ? 0 : manifest.first_log, note.logs));
  if (values_apart) CFFS_TRY_VOID(end_before_lost_values(store, keep_what_is_whole, logs));
  for (const Log& log : logs) {
    if (log.content.has_room) plan.until[log.name] = log.content.size;
  }
  auto damaged = std::find_if(logs.begin(), logs.end(), [](const Log& log) { return log.damaged(); });
  // One that is damaged may be whole up to there.
  const auto looked_at =
      std::min<std::size_t>(logs.size(), static_cast<std::size_t>(damaged - logs.begin()) + 1);
  const auto short_one =
      plan.rebuild ? std::nullopt : log_without_its_end(logs, looked_at, manifest.last_sequence);
  if (short_one) damaged = logs.begin() + static_cast<std::ptrdiff_t>(*short_one);
  if (damaged == logs.end()) {
    plan.closed = plan.dropped.empty() && !logs.empty() && closes(logs.back());
    return plan;
  }
  const auto first = static_cast<std::size_t>(damaged - logs.begin());
  const bool rot = plan.rebuild || damaged->missing || was_durable(logs, first);
  LogDamage damage = damage_of(*damaged, rot);
  if (rot && !keep_what_is_whole) return fail(refused(store, damage));
  plan.dropped.push_back(std::move(damage));
  if (!damaged->missing) plan.instead[damaged->name] = rewritten(damaged->content, rot);
  for (auto log = damaged + 1; log != logs.end(); ++log) {
    if (rot) {
      if (!log->damaged()) continue;
      plan.dropped.push_back(damage_of(*log, true));
      if (!log->missing) plan.instead[log->name] = rewritten(log->content, true);
    } else {
      if (!log->content.before.empty())
        plan.dropped.push_back(damage_of(log->name, 0, log->content.size, false, {}));
      plan.instead[log->name] = {};
    }
  }
  return plan;
}

}  // namespace cffs
