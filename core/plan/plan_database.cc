#include "core/plan/plan_database.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>

namespace cffs {
namespace {

constexpr int kApplicationId = 0x63666670;  // "cffp"

constexpr const char* kSchema = R"sql(
CREATE TABLE inputs(id INTEGER PRIMARY KEY, name TEXT NOT NULL, format TEXT NOT NULL, hash TEXT NOT NULL,
  lines INTEGER NOT NULL, malformed INTEGER NOT NULL, accesses INTEGER NOT NULL, errors INTEGER NOT NULL,
  others INTEGER NOT NULL, first_ms INTEGER NOT NULL, last_ms INTEGER NOT NULL);
CREATE TABLE parameters(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE summary(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE files(id INTEGER PRIMARY KEY, path TEXT NOT NULL, bytes INTEGER NOT NULL, accesses INTEGER NOT NULL,
  sessions INTEGER NOT NULL);
CREATE TABLE itemsets(id INTEGER PRIMARY KEY, size INTEGER NOT NULL, support INTEGER NOT NULL, confidence REAL NOT NULL,
  last_session INTEGER NOT NULL, files TEXT NOT NULL);
CREATE VIEW itemset_files AS SELECT itemsets.id AS itemset, path FROM itemsets, json_each(itemsets.files)
  JOIN files ON files.id = json_each.value;
CREATE TABLE groups(id INTEGER PRIMARY KEY, size INTEGER NOT NULL, support INTEGER NOT NULL, confidence REAL NOT NULL,
  bytes INTEGER NOT NULL);
CREATE TABLE members(grp INTEGER NOT NULL, position INTEGER NOT NULL, file INTEGER NOT NULL,
  PRIMARY KEY(grp, position)) WITHOUT ROWID;
CREATE VIEW group_files AS SELECT grp, position, path, files.bytes AS bytes FROM members JOIN files ON files.id = file
  ORDER BY grp, position;
)sql";

struct CloseDatabase {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

tl::unexpected<Error> problem_with(const std::string& path, sqlite3* db) {
  return fail(Error::usage("plan " + path + ": " + (db != nullptr ? sqlite3_errmsg(db) : "out of memory")));
}

Result<Database> open_database(const std::string& path, int flags) {
  sqlite3* raw = nullptr;
  const int opened = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  Database db(raw);
  if (opened != SQLITE_OK) return problem_with(path, raw);
  return db;
}

class Statement {
 public:
  Statement(sqlite3* db, const char* sql) {
    good_ = sqlite3_prepare_v2(db, sql, -1, &statement_, nullptr) == SQLITE_OK;
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  template <typename... Values>
  bool insert(const Values&... values) {
    int column = 0;
    (bind(++column, values), ...);
    good_ = good_ && sqlite3_step(statement_) == SQLITE_DONE;
    sqlite3_reset(statement_);
    return good_;
  }
  bool next() {
    if (!good_) return false;
    const int state = sqlite3_step(statement_);
    good_ = state == SQLITE_ROW || state == SQLITE_DONE;
    return state == SQLITE_ROW;
  }
  bool good() const { return good_; }
  std::uint64_t number(int column) const {
    return static_cast<std::uint64_t>(sqlite3_column_int64(statement_, column));
  }
  std::int64_t signed_number(int column) const { return sqlite3_column_int64(statement_, column); }
  double real(int column) const { return sqlite3_column_double(statement_, column); }
  std::string text(int column) const {
    const void* bytes = sqlite3_column_blob(statement_, column);
    const auto n = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
    return bytes == nullptr ? std::string() : std::string(static_cast<const char*>(bytes), n);
  }

 private:
  void bind(int column, const std::string& v) {
    sqlite3_bind_text64(statement_, column, v.data(), v.size(), SQLITE_STATIC, SQLITE_UTF8);
  }
  void bind(int column, double v) { sqlite3_bind_double(statement_, column, v); }
  template <typename T>
  requires std::is_integral_v<T>
  void bind(int column, T v) { sqlite3_bind_int64(statement_, column, static_cast<sqlite3_int64>(v)); }

  sqlite3_stmt* statement_ = nullptr;
  bool good_ = false;
};

std::string hex(std::uint64_t value) {
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[value >> shift & 15];
  return text;
}

bool fill(sqlite3* db, const grouping::Plan& plan) {
  Statement input(db, "INSERT INTO inputs VALUES(?,?,?,?,?,?,?,?,?,?,?)");
  Statement parameter(db, "INSERT INTO parameters VALUES(?,?)");
  Statement summary(db, "INSERT INTO summary VALUES(?,?)");
  Statement file(db, "INSERT INTO files VALUES(?,?,?,?,?)");
  Statement itemset(db, "INSERT INTO itemsets VALUES(?,?,?,?,?,?)");
  Statement group(db, "INSERT INTO groups VALUES(?,?,?,?,?)");
  Statement member(db, "INSERT INTO members VALUES(?,?,?)");
  bool good = true;
  std::uint64_t id = 0;
  for (const auto& i : plan.inputs) {
    good = good && input.insert(++id, i.name, i.format, hex(i.hash), i.lines, i.malformed, i.accesses,
                                i.errors, i.others, i.first_ms, i.last_ms);
  }
  for (const auto& [name, value] : plan.parameters) good = good && parameter.insert(name, value);
  for (const auto& [name, value] : plan.summary) good = good && summary.insert(name, value);
  std::vector<std::uint64_t> supports;
  for (std::size_t f = 0; f < plan.files.size(); ++f) {
    const auto& it = plan.files[f];
    good = good && file.insert(f, it.path, it.bytes, it.accesses, it.sessions);
    supports.push_back(it.sessions);
  }
  std::string list;
  for (std::size_t s = 0; s < plan.itemsets.size(); ++s) {
    const auto& it = plan.itemsets[s];
    list = "[";
    for (const grouping::Item item : it.items) list += (list.size() > 1 ? "," : "") + std::to_string(item);
    list += ']';
    good = good && itemset.insert(s, it.items.size(), it.support, grouping::confidence_of(it, supports),
                                  it.last, list);
  }
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    const auto& it = plan.groups[g];
    good = good && group.insert(g, it.items.size(), it.support, it.confidence, it.bytes);
    for (std::size_t position = 0; position < it.items.size(); ++position) {
      good = good && member.insert(g, position, it.items[position]);
    }
  }
  return good;
}

}  // namespace

Status write_plan(const std::string& path, const grouping::Plan& plan) {
  // A new file takes the name; a device or a directory must keep its own.
  struct stat st;
  if (::stat(path.c_str(), &st) == 0 && !S_ISREG(st.st_mode)) {
    return fail(Error::usage("plan " + path + ": there is something that is no regular file; choose another name"));
  }
  const std::string unfinished = path + ".unfinished";
  (void)::unlink(unfinished.c_str());
  {
    CFFS_TRY(const Database db, open_database(unfinished, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
    const std::string begin =
        "PRAGMA journal_mode=OFF; PRAGMA application_id=" + std::to_string(kApplicationId) +
        "; PRAGMA user_version=" + std::to_string(kPlanVersion) + "; BEGIN;";
    if (sqlite3_exec(db.get(), begin.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK ||
        sqlite3_exec(db.get(), kSchema, nullptr, nullptr, nullptr) != SQLITE_OK || !fill(db.get(), plan) ||
        sqlite3_exec(db.get(), "COMMIT", nullptr, nullptr, nullptr) != SQLITE_OK) {
      const auto problem = problem_with(path, db.get());
      (void)::unlink(unfinished.c_str());
      return problem;
    }
  }
  if (::rename(unfinished.c_str(), path.c_str()) != 0) {
    const int problem = errno;
    (void)::unlink(unfinished.c_str());
    return fail(problem, "plan " + path);
  }
  return {};
}

Result<grouping::Plan> read_plan(const std::string& path) {
  if (::access(path.c_str(), R_OK) != 0) return fail(errno, "plan " + path);
  CFFS_TRY(const Database db, open_database(path, SQLITE_OPEN_READONLY));
  const auto pragma = [&](const char* sql) {
    Statement statement(db.get(), sql);
    return statement.next() ? statement.signed_number(0) : -1;
  };
  if (pragma("PRAGMA application_id") != kApplicationId) {
    return fail(Error::usage("plan " + path + " is not a plan; make one with cffs analyze -o"));
  }
  if (const std::int64_t version = pragma("PRAGMA user_version"); version != kPlanVersion) {
    return fail(Error::usage("plan " + path + " has version " + std::to_string(version) +
                             ", this program reads " + std::to_string(kPlanVersion) +
                             "; make it again with cffs analyze"));
  }
  grouping::Plan plan;
  Statement parameters(db.get(), "SELECT name, value FROM parameters");
  while (parameters.next()) plan.parameters.emplace_back(parameters.text(0), parameters.text(1));
  Statement files(db.get(), "SELECT id, path, bytes, accesses, sessions FROM files ORDER BY id");
  while (files.next()) {
    if (files.number(0) != plan.files.size()) {
      return fail(
          Error::usage("plan " + path + ": the ids of its files have gaps; make it again with cffs analyze"));
    }
    plan.files.push_back({files.text(1), files.number(2), files.number(3), files.number(4)});
  }
  Statement groups(db.get(), "SELECT id, support, confidence, bytes FROM groups ORDER BY id");
  std::vector<std::uint64_t> ids;
  while (groups.next()) {
    ids.push_back(groups.number(0));
    plan.groups.push_back({{}, groups.number(1), 0, groups.real(2), groups.number(3)});
  }
  Statement members(db.get(), "SELECT grp, file FROM members ORDER BY grp, position");
  std::size_t at = 0;
  while (members.next()) {
    while (at < ids.size() && ids[at] < members.number(0)) ++at;
    if (at == ids.size() || ids[at] != members.number(0) || members.number(1) >= plan.files.size()) {
      return fail(Error::usage("plan " + path + ": a member names a group or file that is not there"));
    }
    plan.groups[at].items.push_back(static_cast<grouping::Item>(members.number(1)));
  }
  for (const Statement* s : {&parameters, &files, &groups, &members}) {
    if (!s->good()) return problem_with(path, db.get());
  }
  return plan;
}

}  // namespace cffs
