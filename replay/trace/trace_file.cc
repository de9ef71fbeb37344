#include "replay/trace/trace_file.h"

#include <algorithm>
#include <optional>

#include "core/database/database.h"
#include "replay/logs/line_reader.h"
#include "replay/logs/site_path.h"

namespace cffs::replay {
namespace {

constexpr const char* kSchema = R"sql(
CREATE TABLE about(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE paths(id INTEGER PRIMARY KEY, path TEXT NOT NULL);
CREATE TABLE clients(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE initial(path INTEGER PRIMARY KEY, kind TEXT NOT NULL, mode INTEGER NOT NULL, size INTEGER NOT NULL,
  target TEXT);
CREATE TABLE operations(id INTEGER PRIMARY KEY, time_ns INTEGER NOT NULL, duration_ns INTEGER, client INTEGER NOT NULL,
  call TEXT NOT NULL, path INTEGER, path2 INTEGER, handle INTEGER, offset INTEGER, length INTEGER,
  result INTEGER NOT NULL, flags INTEGER, mode INTEGER);
CREATE VIEW readable AS SELECT operations.id AS id, time_ns / 1e9 AS seconds, clients.name AS client, call,
  a.path AS path, b.path AS path2, handle, offset, length, result, flags, mode, duration_ns / 1e3 AS duration_us
  FROM operations JOIN clients ON clients.id = client LEFT JOIN paths a ON a.id = operations.path
  LEFT JOIN paths b ON b.id = operations.path2 ORDER BY operations.id;
)sql";

constexpr DatabaseKind kKind{"trace", 0x63666674 /* "cfft" */, kTraceVersion, kSchema,
                             "make one with cffs trace import"};
constexpr std::string_view kMagic("SQLite format 3\0", 16);

// NULL stands for "none"; zeros too, which most columns hold.
class Row {
 public:
  explicit Row(Statement& statement) : statement_(statement) {}
  std::uint32_t id(int column, std::uint32_t none) const {
    return statement_.is_null(column) ? none : static_cast<std::uint32_t>(statement_.number(column));
  }

 private:
  Statement& statement_;
};

Status damaged(const std::string& path, const std::string& what) {
  return fail(Error::usage("trace " + path + ": " + what + "; make it again with cffs trace import"));
}

// A path of a trace leads nowhere else: relative, without "..". Who replays a trace relies on it.
bool stays_inside(const std::string& path) {
  if (path.starts_with('/')) return false;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t slash = std::min(path.find('/', at), path.size());
    if (path.compare(at, slash - at, "..") == 0) return false;
    at = slash + 1;
  }
  return path.find('\0') == std::string::npos;
}

bool is_of_process(Call call) { return call == Call::spawn || call == Call::reap; }

// What is wrong with an operation, for a person; empty: nothing.
std::string flaw_of(const Operation& o, const Trace& trace) {
  const std::size_t paths = trace.paths().size();
  if (o.client >= trace.clients().size()) return "names a client that is not there";
  if ((o.path != kNoPath && o.path >= paths) || (o.path2 != kNoPath && o.path2 >= paths))
    return "names a path that is not there";
  if (is_of_process(o.call))
    return o.handle < trace.clients().size() ? "" : "names a client that is not there";
  if (o.call != Call::sync && o.path == kNoPath && o.handle == kNoHandle)
    return "has neither path nor handle";
  const bool two_names = o.call == Call::rename || o.call == Call::link;
  if (o.path2 == kNoPath && (two_names || o.call == Call::symlink)) return "has no second path";
  if (o.path != kNoPath && !stays_inside(trace.path(o.path))) return "has a path that leads out of the tree";
  if (two_names && !stays_inside(trace.path(o.path2))) return "has a path that leads out of the tree";
  const bool by_name = two_names || o.call == Call::open || o.call == Call::mkdir || o.call == Call::rmdir ||
                       o.call == Call::unlink || o.call == Call::symlink || o.call == Call::mknod ||
                       o.call == Call::fetch || o.call == Call::readlink || o.call == Call::access;
  if (by_name && o.path == kNoPath) return "has no path";
  if (o.call == Call::close && o.handle == kNoHandle) return "has no handle";
  if (!has_possible_bytes(o)) return "has more bytes than a file can have";
  if (o.time_ns < 0) return "happened before the trace began";
  return {};
}

Status read_operations(const std::string& path, const Database& db, Trace& trace) {
  Statement statement(
      db,
      "SELECT time_ns, duration_ns, client, call, path, path2, handle, offset, length, result, flags, mode "
      "FROM operations ORDER BY id");
  const Row row(statement);
  std::unordered_map<std::uint32_t, std::uint32_t> handles;
  std::uint64_t line = 0;
  while (statement.next()) {
    ++line;
    Operation o;
    const std::string name = statement.text(3);
    if (!statement.good()) break;
    const auto call = call_of(name);
    if (!call) {
      std::string what = "operation " + std::to_string(line);
      what += " is '";
      what += name;
      what += "', which this program does not know";
      return damaged(path, what);
    }
    o.time_ns = statement.signed_number(0);
    o.duration_ns = static_cast<std::uint32_t>(statement.number(1));
    o.client = static_cast<std::uint32_t>(statement.number(2));
    o.call = *call;
    o.path = row.id(4, kNoPath);
    o.path2 = row.id(5, kNoPath);
    o.handle = row.id(6, kNoHandle);
    o.offset = statement.number(7);
    o.length = statement.number(8);
    o.result = statement.signed_number(9);
    o.flags = static_cast<std::uint32_t>(statement.number(10));
    o.mode = static_cast<std::uint32_t>(statement.number(11));
    if (const std::string flaw = flaw_of(o, trace); !flaw.empty()) {
      return damaged(path, "operation " + std::to_string(line) + " " + flaw);
    }
    // Numbers of handles are anybody's; from here on they have no gaps.
    if (!is_of_process(o.call) && o.handle != kNoHandle) {
      const auto next = static_cast<std::uint32_t>(handles.size() + 1);
      o.handle = handles.try_emplace(o.handle, next).first->second;
    }
    trace.operations.push_back(o);
  }
  if (!statement.good()) return damaged(path, db.what_is_wrong());
  return {};
}

Result<Trace> read_database(const std::string& path, const Database& db) {
  Trace trace;
  Statement about(db, "SELECT name, value FROM about");
  while (about.next()) trace.about[about.text(0)] = about.text(1);
  Statement paths(db, "SELECT id, path FROM paths ORDER BY id");
  while (paths.next()) {
    const std::string text = paths.text(1);
    if (paths.number(0) != trace.intern(text)) return fail(damaged(path, "its paths have gaps").error());
  }
  Statement clients(db, "SELECT id, name FROM clients ORDER BY id");
  while (clients.next()) {
    if (clients.number(0) != trace.client(clients.text(1))) {
      return fail(damaged(path, "its clients have gaps").error());
    }
  }
  Statement initial(db, "SELECT path, kind, mode, size, target FROM initial");
  while (initial.next()) {
    const std::string kind = initial.text(1);
    if (initial.number(0) >= trace.paths().size() || (kind != "f" && kind != "d" && kind != "l")) {
      return fail(damaged(path, "its initial tree has an entry without a path or kind").error());
    }
    if (initial.number(3) > kMostFileBytes) {
      return fail(damaged(path, "its initial tree has more bytes than a file can have").error());
    }
    if (!stays_inside(trace.path(static_cast<PathId>(initial.number(0))))) {
      return fail(damaged(path, "its initial tree has a path that leads out of it").error());
    }
    trace.initial.push_back({static_cast<PathId>(initial.number(0)), kind[0],
                             static_cast<std::uint32_t>(initial.number(2)), initial.number(3),
                             initial.text(4)});
  }
  for (const Statement* s : {&about, &paths, &clients, &initial}) {
    if (!s->good()) return fail(damaged(path, db.what_is_wrong()).error());
  }
  std::sort(trace.initial.begin(), trace.initial.end(), [&](const InitialEntry& a, const InitialEntry& b) {
    return trace.path(a.path) < trace.path(b.path);
  });
  CFFS_TRY_VOID(read_operations(path, db, trace));
  return trace;
}

}  // namespace

Result<TraceWriter> TraceWriter::create(const std::string& path) {
  CFFS_TRY(Database db, Database::create(path, kKind));
  return TraceWriter(std::move(db));
}

Status TraceWriter::write(const Trace& trace) {
  if (begun_) return fail(failed_.value_or(Error::os(ENOMEM, "trace")));  // no error: something was thrown
  begun_ = true;
  Statement path(db_.get(), "INSERT INTO paths VALUES(?,?)");
  Statement client(db_.get(), "INSERT INTO clients VALUES(?,?)");
  Statement operation(
      db_.get(),
      "INSERT INTO operations VALUES(?,?,nullif(?,0),?,?,nullif(?,-1),nullif(?,-1),nullif(?,0),"
      "nullif(?,0),nullif(?,0),?,nullif(?,0),nullif(?,0))");
  bool good = true;
  for (; paths_ < trace.paths().size(); ++paths_) good = good && path.insert(paths_, trace.paths()[paths_]);
  for (; clients_ < trace.clients().size(); ++clients_)
    good = good && client.insert(clients_, trace.clients()[clients_]);
  const auto path_or_none = [](PathId p) { return p == kNoPath ? std::int64_t{-1} : std::int64_t{p}; };
  for (const Operation& o : trace.operations) {
    good = good && operation.insert(++operations_, o.time_ns, o.duration_ns, o.client, name_of(o.call),
                                    path_or_none(o.path), path_or_none(o.path2), o.handle, o.offset, o.length,
                                    o.result, o.flags, o.mode);
  }
  if (!good) {
    failed_ = db_.problem().value();
    return fail(*failed_);
  }
  begun_ = false;
  return {};
}

Status TraceWriter::append(Trace& trace) {
  CFFS_TRY_VOID(write(trace));
  trace.operations.clear();
  return {};
}

Status TraceWriter::finish(const Trace& trace) {
  CFFS_TRY_VOID(write(trace));
  bool good = true;
  {
    Statement about(db_.get(), "INSERT INTO about VALUES(?,?)");
    Statement initial(db_.get(), "INSERT INTO initial VALUES(?,?,?,?,?)");
    for (const auto& [name, value] : trace.about) good = good && about.insert(name, value);
    for (const InitialEntry& e : trace.initial) {
      const std::string kind(1, e.kind);
      good = good && (e.kind == 'l' ? initial.insert(e.path, kind, e.mode, e.size, e.target)
                                    : initial.insert(e.path, kind, e.mode, e.size, nullptr));
    }
  }
  if (!good) return db_.problem();
  return db_.publish();
}

Status write_trace(const std::string& path, const Trace& trace) {
  CFFS_TRY(TraceWriter writer, TraceWriter::create(path));
  return writer.finish(trace);
}

bool is_trace_file(const std::string& path) {
  if (path == "-") return false;
  const auto head = read_head(path, kMagic.size());
  return head && *head == kMagic;
}

Result<Trace> read_trace(const std::string& path) {
  CFFS_TRY(const std::string bytes, read_whole(path));
  if (!bytes.starts_with(kMagic)) {
    return fail(Error::usage("trace " + path + " is not a trace; " + kKind.cure));
  }
  CFFS_TRY(const Database db, Database::open_bytes(path, kKind, bytes));
  return read_database(path, db);
}

}  // namespace cffs::replay
