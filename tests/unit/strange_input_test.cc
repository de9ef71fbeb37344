// Files that commands read and that anybody may have made: plans and traces (SQLite's), logs. What was written to do harm ends
// with one sentence, soon, within memory that the file's size bounds.
#include <malloc.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "core/database/database.h"
#include "core/plan/plan_database.h"
#include "replay/analysis/analysis.h"
#include "replay/logs/document_tree.h"
#include "replay/model/model_tree.h"
#include "replay/trace/trace_file.h"
#include "tests/unit/crafted_store.h"
#include "tests/unit/temporary_directory.h"

namespace cffs::test {
namespace {

constexpr std::size_t kLittle = std::size_t{1} << 30;  // address space, of which the program itself is a part
enum Said { kRefused = 0, kRead = 1 };

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

void change(const std::string& path, const std::string& sql) {
  sqlite3* db = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &db) == SQLITE_OK);
  char* problem = nullptr;
  const int done = sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &problem);
  INFO((problem != nullptr ? problem : ""));
  CHECK(done == SQLITE_OK);
  sqlite3_free(problem);
  sqlite3_close(db);
}

std::string make_plan(const TemporaryDirectory& in) {
  grouping::Plan plan;
  plan.parameters = {{"algorithm", "closed"}};
  plan.files = {{"a", 10, 1, 1}, {"b", 20, 1, 1}};
  plan.groups = {{{0, 1}, 2, 0, 1.0, 30}};
  const std::string path = in.path + "/plan.db";
  REQUIRE(write_plan(path, plan));
  REQUIRE(read_plan(path));
  return path;
}

std::string make_trace(const TemporaryDirectory& in) {
  replay::Trace trace;
  trace.initial.push_back({trace.intern("f"), 'f', 0644, 10, ""});
  replay::Operation o;
  o.call = replay::Call::fetch;
  o.client = trace.client("c");
  o.path = trace.intern("f");
  o.result = 10;
  trace.operations.push_back(o);
  const std::string path = in.path + "/trace.db";
  REQUIRE(replay::write_trace(path, trace));
  REQUIRE(replay::read_trace(path));
  return path;
}

std::uint64_t root_of(const std::string& path, const std::string& table) {
  sqlite3* db = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &db) == SQLITE_OK);
  std::uint64_t root = 0;
  {
    Statement statement(db, "SELECT rootpage FROM sqlite_schema WHERE name = ?1");
    statement.ask(table);
    REQUIRE(statement.next());
    root = statement.number(0);
  }
  sqlite3_close(db);
  return root;
}

// Inner pages lead to one inner page each, with all their children, from the table's root on: some levels of fifty children are
// endlessly many rows.
void use_pages_again(const std::string& path, const std::string& table) {
  const std::uint64_t root = root_of(path, table);
  std::ifstream in(path, std::ios::binary);
  std::stringstream read;
  read << in.rdbuf();
  std::string bytes = read.str();
  const auto u8 = [&](std::size_t at) { return static_cast<unsigned char>(bytes[at]); };
  constexpr std::size_t kPage = 512;
  REQUIRE((std::size_t{u8(16)} << 8 | u8(17)) == kPage);
  std::vector<std::uint64_t> inner{root};
  for (std::uint64_t page = 2; page * kPage <= bytes.size() && inner.size() < 15; ++page) {
    if (page != root && u8((page - 1) * kPage) == u8((root - 1) * kPage)) inner.push_back(page);
  }
  REQUIRE(inner.size() == 15);
  for (std::size_t i = 0; i + 1 < inner.size(); ++i) {
    const std::size_t at = (inner[i] - 1) * kPage;
    const std::string child{0, 0, static_cast<char>(inner[i + 1] >> 8), static_cast<char>(inner[i + 1])};
    const std::size_t cells = std::size_t{u8(at + 3)} << 8 | u8(at + 4);
    for (std::size_t n = 0; n < cells; ++n) {
      bytes.replace(at + (std::size_t{u8(at + 12 + 2 * n)} << 8 | u8(at + 13 + 2 * n)), 4, child);
    }
    bytes.replace(at + 8, 4, child);
  }
  write_file(path, bytes);
}

template <typename Read>
void expect_refused(const Read& read, const std::string& says) {
  const int said = in_bounds(
      [&] {
        const auto result = read();
        if (result) return int{kRead};
        const std::string message = result.error().message();
        if (message.find(says) != std::string::npos) return int{kRefused};
        (void)!::write(STDERR_FILENO, message.data(), message.size());
        return 2;
      },
      kLittle);
  CHECK(said == kRefused);
}

std::uint64_t held() {
  const struct mallinfo2 now = ::mallinfo2();
  return now.uordblks + now.hblkhd;
}

std::string web_line(const std::string& client, const std::string& path) {
  return client + " - - [01/Jul/1995:00:00:01 -0400] \"GET " + path + " HTTP/1.0\" 200 6245\n";
}

}  // namespace

TEST_CASE("a pipe is no database, and nobody waits for its writer") {
  const TemporaryDirectory in;
  const std::string path = in.path + "/plan.db";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const auto plan = read_plan(path);
  REQUIRE_FALSE(plan);
  CHECK(plan.error().message().find("is no regular file") != std::string::npos);
}

TEST_CASE("a plan whose tables are something else is refused", "[strange]") {
  const TemporaryDirectory directory;
  const std::string path = make_plan(directory);
  const auto read = [&] { return read_plan(path); };
  SECTION("a view without an end") {
    change(path,
           "DROP TABLE parameters; CREATE VIEW parameters(name, value) AS WITH RECURSIVE n(i) AS (SELECT 1 "
           "UNION ALL "
           "SELECT i + 1 FROM n) SELECT i, hex(zeroblob(1000)) FROM n");
    expect_refused(read, "'parameters' is no table");
  }
  SECTION("a virtual table") {
    change(path, "DROP TABLE groups; CREATE VIRTUAL TABLE groups USING fts5(id, support, confidence, bytes)");
    expect_refused(read, "'groups' is no table");
  }
  SECTION("columns that are computed") {
    change(path,
           "DROP TABLE parameters; CREATE TABLE parameters(name TEXT, value AS (replace(hex(zeroblob(1000)), "
           "'0', name)) VIRTUAL); INSERT INTO parameters VALUES (hex(zeroblob(100)))");
    expect_refused(read, "'parameters' is no table");
  }
  SECTION("a table that is missing") {
    change(path, "DROP TABLE members");
    expect_refused(read, "'members' is no table");
  }
  SECTION("a view beside them is no harm") {
    change(
        path,
        "CREATE VIEW more AS SELECT 1; CREATE TRIGGER t AFTER INSERT ON files BEGIN DELETE FROM files; END");
    CHECK(read_plan(path));
  }
}

TEST_CASE("a small file that says endlessly much is refused", "[strange]") {
  const TemporaryDirectory directory;
  const std::string rows =
      "WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < 60000) ";
  SECTION("a plan, in a table by name") {
    const std::string path = make_plan(directory);
    change(path, "PRAGMA page_size = 512; VACUUM; INSERT INTO parameters " + rows +
                     "SELECT 'name' || i, 'value' FROM n");
    use_pages_again(path, "parameters");
    expect_refused([&] { return read_plan(path); }, "says more than a file of its size can");
  }
  SECTION("a plan, in a table by number") {
    const std::string path = make_plan(directory);
    change(path,
           "PRAGMA page_size = 512; VACUUM; INSERT INTO groups " + rows + "SELECT i, 2, 2, 0.5, 10 FROM n");
    use_pages_again(path, "groups");
    expect_refused([&] { return read_plan(path); }, "says more than a file of its size can");
  }
  SECTION("a trace") {
    const std::string path = make_trace(directory);
    change(
        path,
        "PRAGMA page_size = 512; VACUUM; INSERT INTO operations(id, time_ns, client, call, path, result) " +
            rows + "SELECT i, i, 0, 'fetch', 0, 10 FROM n");
    REQUIRE(replay::read_trace(path));
    use_pages_again(path, "operations");
    expect_refused([&] { return replay::read_trace(path); }, "says more than a file of its size can");
  }
}

TEST_CASE("a trace that is compressed too well is refused", "[strange]") {
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/trace.gz";
  REQUIRE(std::system(("head -c 400000000 /dev/zero | gzip -9 > " + path).c_str()) == 0);
  expect_refused([&] { return replay::read_trace(path); }, "compressed bytes become more than");
}

TEST_CASE("numbers that no file has are refused in a trace", "[strange]") {
  const TemporaryDirectory directory;
  const std::string path = make_trace(directory);
  for (const char* sql :
       {"UPDATE operations SET offset = 0x7fffffffffffffff", "UPDATE operations SET length = -1",
        "UPDATE operations SET result = 0x7fffffffffffffff", "UPDATE initial SET size = -5"}) {
    const std::string before = make_trace(directory);
    change(path, sql);
    expect_refused([&] { return replay::read_trace(path); }, "more bytes than a file can have");
  }
}

TEST_CASE("logs that were written to fill memory do not", "[strange]") {
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/log";
  replay::AnalysisOptions options;
  options.reader.format = replay::LogFormat::common;
  const std::uint64_t before = held();
  std::uint64_t most = 0;
  const auto analyse = [&] {
    return replay::analyse({path}, options, [&](const WorkStep&) { most = std::max(most, held()); });
  };
  SECTION("long paths") {
    std::ofstream out(path, std::ios::binary);
    for (int i = 0; i < 80; ++i) out << web_line("a", "/" + std::to_string(i) + std::string(1'000'000, 'x'));
    out << web_line("a", "/one") << web_line("a", "/two");
    out.close();
    const auto analysis = analyse();
    REQUIRE(analysis);
    CHECK(analysis->plan.files.size() == 2);
    CHECK(held() - before < (20u << 20));
  }
  SECTION("deep paths") {
    std::string deep;
    for (int i = 0; i < 2000; ++i) deep += "/a";
    std::ofstream out(path, std::ios::binary);
    for (int i = 0; i < 200; ++i) out << web_line("a", "/" + std::to_string(i) + deep);
    out.close();
    const auto peak = [] {
      std::ifstream status("/proc/self/status");
      for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmHWM:")) return std::strtoull(line.c_str() + 6, nullptr, 10) << 10;
      }
      return 0ull;
    };
    std::ofstream("/proc/self/clear_refs") << 5;  // the peak is now what is held
    const auto earlier = peak();
    const auto analysis = analyse();
    REQUIRE(analysis);
    CHECK(analysis->plan.files.size() == 200);
    replay::DocumentTree tree;
    REQUIRE(tree.read_log(path));
    tree.settle();
    CHECK(tree.files().size() == 200);
    CHECK(peak() - earlier < (150u << 20));
  }
  SECTION("a line without an end") {
    write_file(path, "");
    REQUIRE(::truncate(path.c_str(), std::int64_t{600} << 20) == 0);
    options.reader.format = replay::LogFormat::automatic;
    expect_refused([&] { return replay::analyse({path}, options, {}); }, "of no known format");
  }
  SECTION("different paths") {
    options.reader.most_files = 10'000;
    std::ofstream out(path, std::ios::binary);
    for (int i = 0; i < 10'001; ++i) out << web_line("a", "/" + std::to_string(i));
    out.close();
    expect_refused(analyse, "more than 10000 different files");
    options.reader.most_files = 10'001;
    CHECK(analyse());
  }
  SECTION("clients that never end") {
    grouping::SessionOptions few;
    few.most_open = 100;
    std::uint64_t sessions = 0;
    grouping::Sessions open(few, [&](std::span<const grouping::Item>) { ++sessions; });
    for (std::uint64_t client = 0; client < 1000; ++client) open.add({0, client, 1, false});
    CHECK(sessions == 900);
    open.finish();
    CHECK(sessions == 1000);
  }
}

}  // namespace cffs::test
