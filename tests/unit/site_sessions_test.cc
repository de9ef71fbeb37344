// Sessions on a real site: pages by the log's ranks, what they embed behind them, once in half an hour for each client.
#include "bench/suite/site_sessions.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <set>

#include "tests/unit/temporary_directory.h"

namespace cffs::bench {
namespace {

replay::Trace log_of(const std::vector<std::tuple<double, std::string, std::string>>& requests) {
  replay::Trace log;
  for (const auto& [minutes, client, path] : requests) {
    replay::Operation o;
    o.call = replay::Call::fetch;
    o.time_ns = static_cast<std::int64_t>(minutes * 60e9);
    o.client = log.client(client);
    o.path = log.intern(path);
    log.operations.push_back(o);
  }
  return log;
}

std::vector<std::string> fetched(const replay::Trace& trace) {
  std::vector<std::string> lines;
  for (const replay::Operation& o : trace.operations) {
    REQUIRE(o.call == replay::Call::fetch);
    lines.push_back(trace.clients()[o.client] + " " + trace.path(o.path) + " " + std::to_string(o.result));
  }
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("site sessions: what a page embeds follows it, unless the browser has it") {
  const std::vector<SourceFile> files{{"a/page.html", 100}, {"a/style.css", 20}, {"logo.png", 30}};
  const auto log = log_of({{0, "x", "index.html"},
                           {1, "x", "logo.gif"},  // no page: the site has its own
                           {2, "x", "index.html"},
                           {3, "y", "index.html"},
                           {40, "x", "index.html"}});
  const auto trace = site_sessions(files, {{0, 1, 2}}, log, 1);
  CHECK(fetched(trace) == Lines{"x a/page.html 100", "x a/style.css 20", "x logo.png 30", "x a/page.html 100",
                                "y a/page.html 100", "y a/style.css 20", "y logo.png 30", "x a/page.html 100",
                                "x a/style.css 20", "x logo.png 30"});
  REQUIRE(trace.initial.size() == 4);
  CHECK(trace.path(trace.initial[0].path) == "a");
  CHECK(trace.initial[0].kind == 'd');
  CHECK(trace.initial[1].size == 100);
}

TEST_CASE("site sessions: the popularity is the log's, the order the seed's") {
  const std::vector<SourceFile> files{{"0.html", 1}, {"1.html", 1}, {"2.html", 1}};
  const auto log = log_of({{0, "x", "much"},
                           {1, "x", "much"},
                           {2, "x", "much"},
                           {3, "x", "some.htm"},
                           {4, "x", "some.htm"},
                           {5, "x", "dir/once"},
                           {6, "x", "dir/twice.html"}});
  const auto one = site_sessions(files, {{0}, {1}, {2}}, log, 7);
  REQUIRE(one.operations.size() == 7);
  std::map<replay::PathId, int> counts;
  for (const auto& o : one.operations) ++counts[o.path];
  std::multiset<int> how_often;
  for (const auto& [path, count] : counts) how_often.insert(count);
  CHECK(how_often == std::multiset<int>{1, 2, 4});  // the fourth rank is the first page again
  CHECK(fetched(one) == fetched(site_sessions(files, {{0}, {1}, {2}}, log, 7)));
}

TEST_CASE("site sessions: a log without pages is taken as it is") {
  const auto trace = site_sessions({{"p.html", 5}}, {{0}}, log_of({{0, "x", "a.gif"}, {1, "y", "b.gif"}}), 1);
  CHECK(fetched(trace) == Lines{"x p.html 5", "y p.html 5"});
}

TEST_CASE("documents of a tree: pages with what they embed, and alone where that is asked for") {
  const test::TemporaryDirectory directory;
  const auto make = [&](const std::string& name, const std::string& content) {
    std::ofstream(directory.path + "/" + name) << content;
    return SourceFile{name, content.size()};
  };
  const std::vector<SourceFile> files{make("a.html", "<img src=logo.png><link rel=stylesheet href=s.css>"),
                                      make("b.html", "<p>nothing"), make("logo.png", "x"),
                                      make("s.css", "p {}")};
  CHECK(visits_of(directory.path, files, false) == std::vector<Visit>{{0, 2, 3}});
  CHECK(visits_of(directory.path, files, true) == std::vector<Visit>{{0, 2, 3}, {1}});
}

}  // namespace cffs::bench
