// From log lines to groups: formats, sessions, the paper's variant, overlap, order, plans, predictions.
#include "replay/analysis/analysis.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>

#include "core/object/memory_store.h"
#include "core/plan/plan_database.h"
#include "core/reorganise/plan_object.h"
#include "grouping/frequency_policy.h"
#include "grouping/mining/adjacency.h"
#include "grouping/mining/mine_groups.h"
#include "grouping/mining/sessions.h"
#include "replay/analysis/access_reader.h"
#include "replay/analysis/evaluation.h"
#include "replay/logs/file_call.h"
#include "replay/logs/logged_request.h"
#include "tests/unit/file_size_limit.h"
#include "tests/unit/temporary_directory.h"

namespace cffs::test {
namespace {

using grouping::Item;
using Items = std::vector<Item>;

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text = {}) {
    std::string name =
        std::string(std::getenv("TMPDIR") ? std::getenv("TMPDIR") : "/tmp") + "/cffs-analysis-XXXXXX";
    ::close(::mkstemp(name.data()));
    path_ = name;
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() { ::unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::vector<Items> sessions_of(const std::vector<grouping::Access>& accesses,
                               grouping::SessionOptions options, grouping::SessionCounts* counts = nullptr) {
  std::vector<Items> found;
  grouping::Sessions sessions(options,
                              [&](std::span<const Item> s) { found.emplace_back(s.begin(), s.end()); });
  for (const auto& a : accesses) sessions.add(a);
  sessions.finish();
  if (counts != nullptr) *counts = sessions.counts();
  return found;
}

}  // namespace

TEST_CASE("log times are read with their zones") {
  REQUIRE(replay::parse_log_time("01/Aug/1995:02:00:00 -0400") == 807256800000);
  REQUIRE(replay::parse_log_time("29/Feb/2016:23:59:59 +0130") == 1456784999000);
  REQUIRE(!replay::parse_log_time("30/Feb/2016:23:59:59 +0130"));
  REQUIRE(!replay::parse_log_time("yesterday at noon or so   "));
  const auto record = replay::parse_access_line(
      R"(h - me [01/Aug/1995:02:00:00 -0400] "GET /a HTTP/1.1" 200 5 "ref \"q\"" "agent \"x\" y" "-")");
  REQUIRE(record);
  REQUIRE(record->user == "me");
  REQUIRE(record->agent == R"(agent \"x\" y)");
}

TEST_CASE("accesses of strace -r are as far apart as they were, and those of -t go on behind midnight") {
  const TemporaryDirectory directory;
  const std::string path = directory.path + "/log";
  const auto times = [&](const std::string& lines) {
    std::ofstream(path) << lines;
    replay::AccessReaderOptions options;
    options.format = replay::LogFormat::strace;
    replay::AccessReader reader(options);
    std::vector<std::int64_t> all;
    REQUIRE(reader.read(path, [&](const grouping::Access& a) { all.push_back(a.time_ms); }, {}));
    return all;
  };
  const std::string opened = " openat(AT_FDCWD</d>, \"a\", O_RDONLY) = 3</d/a>\n";
  CHECK(times("1 1.0" + opened + "1 0.5" + opened + "1 2.0" + opened) ==
        std::vector<std::int64_t>{1000, 1500, 3500});
  CHECK(times("1 23:59:59" + opened + "1 00:00:01" + opened) ==
        std::vector<std::int64_t>{86'399'000, 86'401'000});
}

TEST_CASE("strace lines, in the forms that strace writes") {
  const auto kind = [](const char* line) {
    const auto call = replay::parse_strace_line(line);
    if (!call) return std::string("malformed");
    constexpr const char* kNames[] = {"open", "read", "size", "other"};
    return std::string(kNames[static_cast<int>(call->kind)]) + " " + call->path + " " +
           std::to_string(call->process) + " " + std::to_string(call->bytes);
  };
  REQUIRE(
      kind(R"(29 1795228278.568819 openat(AT_FDCWD</proj/w>, "a.h", O_RDONLY|O_CLOEXEC) = 3</proj/w/a.h>)") ==
      "open /proj/w/a.h 29 0");
  REQUIRE(kind(R"([pid   7] 12:34:56 open("/x y\"\303\251", O_RDONLY) = 3)") == "open /x y\"\303\251 7 0");
  REQUIRE(kind(R"(openat(AT_FDCWD</d>, "sub/a", O_RDWR) = 4)") == "open /d/sub/a 0 0");
  REQUIRE(kind(R"(1 openat(AT_FDCWD, "a", O_WRONLY|O_CREAT, 0666) = 4</a>)").starts_with("other"));
  REQUIRE(kind(R"(1 openat(AT_FDCWD, "a", O_RDONLY) = -1 ENOENT (No such file or directory))")
              .starts_with("other"));
  REQUIRE(kind(R"(1 read(3</p/a>, ""..., 4096) = 17)") == "read /p/a 1 17");
  REQUIRE(kind(R"(1 newfstatat(AT_FDCWD</p>, "f", {st_mode=S_IFREG|0644, st_size=99, ...}, 0) = 0)") ==
          "size /p/f 1 99");
  REQUIRE(kind(R"(1 newfstatat(5</p/g>, "", {st_mode=S_IFREG|0644, st_size=98, ...}, AT_EMPTY_PATH) = 0)") ==
          "size /p/g 1 98");
  REQUIRE(kind(R"(1 execve("/bin/ls", ["ls"], 0x7ff /* 3 vars */) = 0)") == "open /bin/ls 1 0");
  REQUIRE(kind("1 +++ exited with 0 +++").starts_with("other"));
  REQUIRE(kind("1 read(3, <unfinished ...>").starts_with("other"));
  REQUIRE(kind("hello") == "malformed");
  REQUIRE(kind("") == "malformed");
  const auto trace = replay::parse_calls_line("3648\t29\topen\t3\t3\t/usr/a\t-\tO_RDONLY\t-");
  REQUIRE((trace && trace->kind == replay::FileCall::Kind::open && trace->path == "/usr/a" &&
           trace->time_ms == 3));
  REQUIRE(!replay::parse_calls_line("3648\tx\topen"));
}

TEST_CASE("a session is one stream's files without a long pause") {
  grouping::SessionOptions options;
  options.gap_ms = 100;
  options.max_files = 3;
  grouping::SessionCounts counts;
  const auto found = sessions_of({{0, 1, 5, false},
                                  {10, 2, 6, false},
                                  {20, 1, 7, false},
                                  {30, 1, 5, false},
                                  {95, 1, 6, false},
                                  {250, 1, 5, false},
                                  {251, 3, 1, false},
                                  {252, 3, 2, true},
                                  {245, 2, 8, false},
                                  {300, 4, 1, false},
                                  {300, 4, 2, false},
                                  {300, 4, 3, false},
                                  {300, 4, 4, false}},
                                 options, &counts);
  REQUIRE(found == std::vector<Items>{{5, 7, 6}, {6}, {5}, {8}});
  REQUIRE(counts.apart_crawlers == 1);
  REQUIRE(counts.apart_too_large == 1);
  REQUIRE(counts.repeats == 1);
  options.cut = true;
  REQUIRE(sessions_of({{0, 1, 1, false}, {1, 1, 2, false}, {2, 1, 3, false}, {3, 1, 4, false}}, options) ==
          std::vector<Items>{{1, 2, 3}, {4}});
}

TEST_CASE("the paper's variant counts files accessed one after the other") {
  grouping::AdjacencyMiner miner({0.2, 10, 16});
  // One stream, ten accesses: a b c a b c a b c d.
  for (const Item item : {0u, 1u, 2u, 0u, 1u, 2u, 0u, 1u, 2u, 3u}) miner.add(0, item);
  const auto found = miner.finish().itemsets;
  const auto support = [&](const Items& items) {
    for (const auto& set : found) {
      if (set.items == items) return set.support;
    }
    return std::uint64_t{0};
  };
  REQUIRE(support({0, 1}) == 3);
  REQUIRE(support({1, 2}) == 3);
  REQUIRE(support({0, 2}) == 2);
  REQUIRE(support({0, 1, 2}) == 7);  // abc, bca, cab, ...: any order
  REQUIRE(support({2, 3}) == 0);     // once in ten is below 20 %
  REQUIRE(miner.batches() == 1);
}

TEST_CASE("overlap: more files, then support, then recency; confidence bounds waste") {
  const std::vector<grouping::Itemset> sets{
      {{0, 1}, 9, 5}, {{1, 2}, 9, 6}, {{3, 4}, 4, 1}, {{3, 4, 5}, 3, 1}, {{6, 7}, 9, 9}};
  const std::vector<std::uint64_t> supports{9, 10, 9, 4, 4, 4, 9, 100};
  grouping::SelectionOptions options;
  options.min_confidence = 0.5;
  const auto groups = grouping::select_groups(sets, supports, {}, options);
  REQUIRE(groups.size() == 2);
  REQUIRE(groups[0].items == Items{3, 4, 5});
  REQUIRE(groups[1].items == Items{1, 2});
  // A closed set of a page, its picture and what all pages embed: the pair is what belongs together.
  REQUIRE(grouping::select_groups({{{0, 6, 7}, 9, 0}}, supports, {}, options)[0].items == Items{0, 6});
  options.max_bytes = 10;
  REQUIRE(grouping::select_groups(sets, supports, {0, 0, 0, 4, 4, 4}, options)[0].items == Items{1, 2});
}

TEST_CASE("members lie in the order of the most prevalent sequence") {
  grouping::Transactions transactions;
  for (const Items& s : std::vector<Items>{{2, 0, 1}, {0, 1, 2}, {2, 0, 9, 1}, {1, 2}})
    REQUIRE(transactions.add(s));
  std::vector<grouping::SelectedGroup> groups{{{0, 1, 2}, 3, 0, 1, 0}};
  grouping::order_groups(groups, transactions);
  REQUIRE(groups[0].items == Items{2, 0, 1});
}

// By the cube of the members it would not end.
TEST_CASE("members of a large group of which no session has all stay as they are") {
  constexpr Item kMembers = 30'000;
  grouping::Transactions transactions;
  std::vector<grouping::SelectedGroup> groups(1);
  for (Item item = 0; item < kMembers; ++item) {
    groups[0].items.push_back(item);
    if (item % 100 == 1) REQUIRE(transactions.add(Items{item, item - 1}));
  }
  const Items before = groups[0].items;
  grouping::order_groups(groups, transactions);
  REQUIRE(groups[0].items == before);
}

TEST_CASE("sessions whose temporary file is cut give no plan of those that are left") {
  auto transactions = std::make_shared<grouping::Transactions>(4);
  for (int i = 0; i < 10; ++i) REQUIRE(transactions->add(Items{0, 1}));
  replay::ReadLogs read;
  for (const char* path : {"a", "b"}) read.files.push_back({path, 1000, 10});
  read.transactions = transactions;
  {
    const FileSizeLimit full(0);  // what is on its way to the file does not come there
    REQUIRE_FALSE(transactions->for_each([](std::uint64_t, std::span<const Item>) {}));
  }
  CHECK(transactions->problem() == EFBIG);
  std::uint64_t visited = 0;
  CHECK_FALSE(transactions->for_each([&](std::uint64_t, std::span<const Item>) { ++visited; }));
  CHECK(visited == 0);
  const auto plan = replay::plan_of(read, replay::AnalysisOptions(), {});
  REQUIRE_FALSE(plan);
  CHECK(plan.error().message().find("the temporary file for sessions") != std::string::npos);
}

TEST_CASE("analysing a log: errors, crawlers and other methods apart; a plan that reads back") {
  std::string log;
  const auto line = [&](int client, int second, const char* request, int status, const char* agent) {
    log += "10.0.0." + std::to_string(client) + " - - [01/Aug/2025:10:00:" + (second < 10 ? "0" : "") +
           std::to_string(second) + " +0000] \"" + request + "\" " + std::to_string(status) +
           " 100 \"-\" \"" + agent + "\"\n";
  };
  for (int client = 0; client < 5; ++client) {
    line(client, 1, "GET /a%20b.html?x=1 HTTP/1.1", 200, "Mozilla");
    line(client, 2, "GET /i.png HTTP/1.1", 200, "Mozilla");
    line(client, 3, "GET /missing HTTP/1.1", 404, "Mozilla");
    line(client, 4, "POST /form HTTP/1.1", 200, "Mozilla");
    line(client + 100, 5, "GET /i.png HTTP/1.1", 200, "SomeBot/1.0");
  }
  log += "not a line of a log\n";
  const TemporaryFile file(log);
  replay::AnalysisOptions options;
  const auto a = replay::analyse({file.path()}, options, {});
  REQUIRE(a);
  REQUIRE(a->plan.inputs[0].errors == 5);
  REQUIRE(a->plan.inputs[0].others == 5);
  REQUIRE(a->plan.inputs[0].malformed == 1);
  REQUIRE(a->sessions.sessions == 5);
  REQUIRE(a->sessions.apart_crawlers == 5);
  REQUIRE(a->plan.groups.size() == 1);
  REQUIRE(a->plan.files[a->plan.groups[0].items[0]].path == "a b.html");
  REQUIRE(a->savings.reads_saved == 5);

  const TemporaryFile database;
  REQUIRE(write_plan(database.path(), a->plan));
  const auto back = read_plan(database.path());
  REQUIRE(back);
  REQUIRE(back->groups.size() == 1);
  REQUIRE(back->groups[0].items == a->plan.groups[0].items);
  REQUIRE(back->files[0].path == a->plan.files[0].path);
  REQUIRE(read_plan(file.path()).error().kind == ErrorKind::usage);

  options.max_bad = 0.01;
  REQUIRE(replay::analyse({file.path()}, options, {}).error().message().find("line 26: not a line") !=
          std::string::npos);
}

TEST_CASE("a plan finds files by path, and by inode once bound") {
  grouping::PlanGroups plan;
  plan.add_group({{"a", 0}, {"b", 0}});
  plan.add_group({{"c", 0}, {"d", 0}});
  plan.bind({0, 1}, 77);
  REQUIRE(plan.find(77, "renamed")->position == 1);
  REQUIRE(plan.find(5, "b")->group == 0);
  REQUIRE(!plan.find(5, "e"));
  const grouping::FrequencyPolicy policy(std::make_shared<grouping::PlanGroups>(plan));
  using grouping::Group;
  REQUIRE(
      policy.group({{1, 1, "x", 1}, {1, 1, "a", 2}, {1, 1, "renamed", 77}, {2, 1, "d", 4}, {1, 1, "y", 5}},
                   100, {}) == std::vector<Group>{{1, 2}, {3}, {0, 4}});

  MemoryStore store;
  REQUIRE(!*read_plan_object(store));
  REQUIRE(write_plan_object(store, plan));
  const auto back = read_plan_object(store);
  REQUIRE(back);
  REQUIRE((*back)->members(0)[1].file == 77);
  REQUIRE((*back)->find(0, "d")->position == 1);
  const auto object = *store.open("plan");
  REQUIRE(object->write_at(15, as_bytes("x")));
  REQUIRE(read_plan_object(store).error().kind == ErrorKind::corruption);
}

TEST_CASE("a plan says what becomes of files without a place, in its file and in the store") {
  grouping::Plan plan;
  plan.files = {{"a", 10, 1, 1}, {"b", 10, 1, 1}};
  plan.groups = {{{0, 1}, 2, 0, 1, 20}};
  const std::vector<grouping::Candidate> files{
      {1, 10, "a", 1}, {1, 10, "x", 2}, {1, 10, "y", 3}, {1, 10, "z", 4}};
  using grouping::Group;
  const auto grouped = [&](std::optional<std::uint64_t> rest_bytes) {
    plan.rest_bytes = rest_bytes;
    plan.table_bytes = 7;
    const TemporaryFile database;
    REQUIRE(write_plan(database.path(), plan));
    const auto back = read_plan(database.path());
    REQUIRE(back);
    REQUIRE(back->rest_bytes == rest_bytes);
    REQUIRE(back->table_bytes == 7);
    MemoryStore store;
    REQUIRE(write_plan_object(store, grouping::PlanGroups(*back)));
    const auto kept = read_plan_object(store);
    REQUIRE((kept && *kept));
    REQUIRE((*kept)->rest_bytes() == rest_bytes);
    return grouping::FrequencyPolicy(std::make_shared<grouping::PlanGroups>(**kept)).group(files, 100, {});
  };
  REQUIRE(grouped({}) == std::vector<Group>{{0}, {1, 2, 3}});
  REQUIRE(grouped(20) == std::vector<Group>{{0}, {1, 2}, {3}});
  REQUIRE(grouped(0) == std::vector<Group>{{0}, {1}, {2}, {3}});
}

TEST_CASE("a plan whose word on the rest is no number is refused, whatever it would do to a terminal") {
  grouping::Plan plan;
  plan.files = {{"a", 10, 1, 1}};
  for (const std::string& said : {std::string("-1"), std::string("18446744073709551616"), std::string("1M"),
                                  std::string("\x1b]0;title\x07"), std::string(100'000, 'x')}) {
    plan.parameters = {{"rest_bytes", said}};
    const TemporaryFile database;
    REQUIRE(write_plan(database.path(), plan));
    const auto back = read_plan(database.path());
    REQUIRE(!back);
    const std::string sentence = back.error().message();
    CHECK(sentence.find("make it again with cffs analyze") != std::string::npos);
    CHECK(sentence.find('\x1b') == std::string::npos);
    CHECK(sentence.size() < 400);
  }
}

TEST_CASE("predictions: a miss brings the group, what is not used is wasted") {
  using grouping::Candidate;
  const auto of_groups = [](std::uint64_t cache) { return replay::Model{cache, replay::Reading::group, {}}; };
  const std::vector<Candidate> files{{1, 1000, "a", 0}, {1, 3000, "b", 0}, {1, 8000, "c", 0}};
  const std::vector<Item> accesses{0, 1, 0, 2};
  const auto none =
      replay::evaluate(replay::layout_of("none", files, {}), files, accesses, of_groups(1 << 20));
  REQUIRE(none.reads == 1);  // the two small ones are rows of a small table
  REQUIRE(none.hits == 1);
  REQUIRE(none.waste() == 0);
  const auto pair =
      replay::evaluate(replay::layout_of("pair", files, {{0, 1}}), files, accesses, of_groups(1 << 20));
  REQUIRE(pair.reads == 1 + 1);
  REQUIRE(pair.hits == 2);
  const auto all =
      replay::evaluate(replay::layout_of("all", files, {{0, 1, 2}}), files, {0}, of_groups(1 << 20));
  REQUIRE(all.bytes_read == 12000);
  REQUIRE(all.bytes_used == 1000);
  const auto large = replay::evaluate(replay::layout_of("large", {{1, 2'500'000, "l", 0}}, {}),
                                      {{1, 2'500'000, "l", 0}}, {0}, of_groups(1 << 20));
  REQUIRE((large.seeks == 1 && large.reads == 3));
  // A cache of one unit: every change of group is a miss.
  REQUIRE(
      replay::evaluate(replay::layout_of("small", files, {}), files, {0, 1, 0, 1}, of_groups(1000)).hits ==
      0);
}

}  // namespace cffs::test
