#include "replay/results/results_file.h"

#include "core/database/database.h"

namespace cffs::replay {
namespace {

constexpr const char* kSchema = R"sql(
CREATE TABLE environments(id INTEGER PRIMARY KEY, facts TEXT NOT NULL UNIQUE);
CREATE TABLE facts(environment INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
  PRIMARY KEY(environment, name)) WITHOUT ROWID;
CREATE TABLE runs(id INTEGER PRIMARY KEY, started TEXT NOT NULL, benchmark TEXT NOT NULL, workload TEXT NOT NULL,
  phase TEXT NOT NULL, target TEXT NOT NULL, round INTEGER NOT NULL, seconds REAL NOT NULL, operations INTEGER NOT NULL,
  environment INTEGER NOT NULL);
CREATE TABLE parameters(run INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY(run, name)) WITHOUT ROWID;
CREATE TABLE metrics(run INTEGER NOT NULL, name TEXT NOT NULL, value REAL NOT NULL, PRIMARY KEY(run, name)) WITHOUT ROWID;
CREATE TABLE latencies(run INTEGER NOT NULL, call TEXT NOT NULL, count INTEGER NOT NULL, sum_ns INTEGER NOT NULL,
  min_ns INTEGER NOT NULL, max_ns INTEGER NOT NULL, PRIMARY KEY(run, call)) WITHOUT ROWID;
CREATE TABLE buckets(run INTEGER NOT NULL, call TEXT NOT NULL, bucket INTEGER NOT NULL, upper_ns INTEGER NOT NULL,
  count INTEGER NOT NULL, PRIMARY KEY(run, call, bucket)) WITHOUT ROWID;
CREATE TABLE timeline(run INTEGER NOT NULL, series TEXT NOT NULL, slice INTEGER NOT NULL, value REAL NOT NULL,
  PRIMARY KEY(run, series, slice)) WITHOUT ROWID;
CREATE VIEW rates AS SELECT id, started, benchmark, workload, phase, target, round, operations / seconds AS per_second,
  seconds, operations FROM runs WHERE seconds > 0;
)sql";

constexpr DatabaseKind kKind{"results", 0x63666672 /* "cffr" */, kResultsVersion, kSchema,
                             "cffs replay --results and cffs bench --results make one"};

// What went wrong is told before the statements end: ending one that did well would forget it.
Status insert(const Database& database, const Run& run) {
  sqlite3* const db = database.get();
  std::string facts;
  for (const auto& [name, value] : run.environment) facts += name + "=" + value + "\n";
  Statement environment(db, "INSERT OR IGNORE INTO environments(facts) VALUES(?)");
  Statement environment_id(db, "SELECT id FROM environments WHERE facts = ?");
  bool good = environment.insert(facts);
  environment_id.ask(facts);
  if (!good || !environment_id.next()) return database.problem();
  const std::uint64_t in = environment_id.number(0);
  Statement fact(db, "INSERT OR IGNORE INTO facts VALUES(?,?,?)");
  for (const auto& [name, value] : run.environment) good = good && fact.insert(in, name, value);
  Statement row(db, "INSERT INTO runs VALUES(NULL,datetime(?,'unixepoch'),?,?,?,?,?,?,?,?)");
  good = good && row.insert(run.started_s, run.benchmark, run.workload, run.phase, run.target, run.round,
                            run.seconds, run.operations, in);
  const std::int64_t id = sqlite3_last_insert_rowid(db);
  Statement parameter(db, "INSERT INTO parameters VALUES(?,?,?)");
  for (const auto& [name, value] : run.parameters) good = good && parameter.insert(id, name, value);
  Statement metric(db, "INSERT INTO metrics VALUES(?,?,?)");
  for (const auto& [name, value] : run.metrics) good = good && metric.insert(id, name, value);
  Statement latency(db, "INSERT INTO latencies VALUES(?,?,?,?,?,?)");
  Statement bucket(db, "INSERT INTO buckets VALUES(?,?,?,?,?)");
  for (const auto& [call, h] : run.latencies) {
    if (h.count() == 0) continue;
    good = good && latency.insert(id, call, h.count(), h.sum_ns(), h.min_ns(), h.max_ns());
    h.each([&, c = &call](std::size_t index, std::uint64_t upper, std::uint64_t count) {
      good = good && bucket.insert(id, *c, index, upper, count);
    });
  }
  Statement slice(db, "INSERT INTO timeline VALUES(?,?,?,?)");
  for (const auto& [series, values] : run.timeline) {
    for (std::size_t i = 0; i < values.size(); ++i) good = good && slice.insert(id, series, i, values[i]);
  }
  if (!good) return database.problem();
  return {};
}

Status damaged(const std::string& path) {
  return fail(
      Error::usage("results " + path + " are damaged: a row names a run or bucket that is not there"));
}

}  // namespace

Status add_results(const std::string& path, const std::vector<Run>& runs) {
  CFFS_TRY(Database db, Database::open_or_create(path, kKind));
  CFFS_TRY_VOID(db.execute("BEGIN IMMEDIATE"));
  for (const Run& run : runs) CFFS_TRY_VOID(insert(db, run));
  return db.execute("COMMIT");
}

Result<std::vector<Run>> read_results(const std::string& path) {
  CFFS_TRY(const Database db, Database::open(path, kKind));
  std::vector<Run> runs;
  std::map<std::uint64_t, std::size_t> by_id;
  std::map<std::uint64_t, std::map<std::string, std::string>> environments;
  Statement facts(db, "SELECT environment, name, value FROM facts");
  while (facts.next()) environments[facts.number(0)][facts.text(1)] = facts.text(2);
  Statement rows(
      db,
      "SELECT id, unixepoch(started), benchmark, workload, phase, target, round, seconds, operations, "
      "environment FROM runs ORDER BY id");
  while (rows.next()) {
    by_id[rows.number(0)] = runs.size();
    Run& run = runs.emplace_back();
    run.started_s = rows.signed_number(1);
    run.benchmark = rows.text(2);
    run.workload = rows.text(3);
    run.phase = rows.text(4);
    run.target = rows.text(5);
    run.round = static_cast<unsigned>(rows.number(6));
    run.seconds = rows.real(7);
    run.operations = rows.number(8);
    run.environment = environments[rows.number(9)];
  }
  const auto run_of = [&](const Statement& s) -> Run* {
    const auto it = by_id.find(s.number(0));
    return it == by_id.end() ? nullptr : &runs[it->second];
  };
  Statement parameters(db, "SELECT run, name, value FROM parameters");
  while (parameters.next()) {
    if (Run* run = run_of(parameters)) run->parameters[parameters.text(1)] = parameters.text(2);
  }
  Statement metrics(db, "SELECT run, name, value FROM metrics");
  while (metrics.next()) {
    if (Run* run = run_of(metrics)) run->metrics[metrics.text(1)] = metrics.real(2);
  }
  Statement buckets(db, "SELECT run, call, bucket, count FROM buckets");
  while (buckets.next()) {
    Run* run = run_of(buckets);
    if (run == nullptr ||
        !run->latencies[buckets.text(1)].restore_bucket(buckets.number(2), buckets.number(3)))
      return fail(damaged(path).error());
  }
  Statement latencies(db, "SELECT run, call, sum_ns, min_ns, max_ns FROM latencies");
  while (latencies.next()) {
    if (Run* run = run_of(latencies)) {
      run->latencies[latencies.text(1)].restore_extremes(latencies.number(2), latencies.number(3),
                                                         latencies.number(4));
    }
  }
  Statement timeline(db, "SELECT run, series, value FROM timeline ORDER BY run, series, slice");
  while (timeline.next()) {
    if (Run* run = run_of(timeline)) run->timeline[timeline.text(1)].push_back(timeline.real(2));
  }
  for (const Statement* s : {&facts, &rows, &parameters, &metrics, &buckets, &latencies, &timeline}) {
    if (!s->good()) return db.problem();
  }
  return runs;
}

}  // namespace cffs::replay
