#include "core/plan/plan_database.h"

#include <charconv>

#include "core/base/printable.h"
#include "core/database/database.h"

namespace cffs {
namespace {

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

constexpr DatabaseKind kKind{"plan", 0x63666670 /* "cffp" */, kPlanVersion, kSchema,
                             "make one with cffs analyze -o"};

// Parameters that placing files needs.
constexpr const char* kRestBytes = "rest_bytes";
constexpr const char* kTableBytes = "table_bytes";

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
  if (plan.rest_bytes) good = good && parameter.insert(kRestBytes, std::to_string(*plan.rest_bytes));
  if (plan.table_bytes > 0) good = good && parameter.insert(kTableBytes, std::to_string(plan.table_bytes));
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
  CFFS_TRY(Database db, Database::create(path, kKind));
  if (!fill(db.get(), plan)) return db.problem();
  return db.publish();
}

bool is_plan_file(const std::string& path) { return Database::is_of_kind(path, kKind); }

Result<grouping::Plan> read_plan(const std::string& path) {
  CFFS_TRY(const Database db, Database::open(path, kKind));
  grouping::Plan plan;
  Statement parameters(db, "SELECT name, value FROM parameters");
  while (parameters.next()) {
    const std::string name = parameters.text(0);
    const std::string value = parameters.text(1);
    if (name != kRestBytes && name != kTableBytes) {
      plan.parameters.emplace_back(name, value);
      continue;
    }
    std::uint64_t bytes = 0;
    const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), bytes);
    if (problem != std::errc() || end != value.data() + value.size()) {
      return fail(Error::usage("plan " + path + ": its parameter " + name + " is no number but '" +
                               printable(value.substr(0, 40)) + "'; make it again with cffs analyze"));
    }
    if (name == kRestBytes) plan.rest_bytes = bytes;
    if (name == kTableBytes) plan.table_bytes = bytes;
  }
  Statement files(db, "SELECT id, path, bytes, accesses, sessions FROM files ORDER BY id");
  while (files.next()) {
    if (files.number(0) != plan.files.size()) {
      return fail(
          Error::usage("plan " + path + ": the ids of its files have gaps; make it again with cffs analyze"));
    }
    plan.files.push_back({files.text(1), files.number(2), files.number(3), files.number(4)});
  }
  Statement groups(db, "SELECT id, support, confidence, bytes FROM groups ORDER BY id");
  std::vector<std::uint64_t> ids;
  while (groups.next()) {
    ids.push_back(groups.number(0));
    plan.groups.push_back({{}, groups.number(1), 0, groups.real(2), groups.number(3)});
  }
  Statement members(db, "SELECT grp, file FROM members ORDER BY grp, position");
  std::size_t at = 0;
  while (members.next()) {
    while (at < ids.size() && ids[at] < members.number(0)) ++at;
    if (at == ids.size() || ids[at] != members.number(0) || members.number(1) >= plan.files.size()) {
      return fail(Error::usage(
          "plan " + path +
          ": a member names a group or file that is not there; make it again with cffs analyze"));
    }
    plan.groups[at].items.push_back(static_cast<grouping::Item>(members.number(1)));
  }
  for (const Statement* s : {&parameters, &files, &groups, &members}) {
    if (!s->good()) return db.problem();
  }
  return plan;
}

}  // namespace cffs
