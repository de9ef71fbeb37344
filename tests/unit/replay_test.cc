#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "replay/import/web_import.h"
#include "replay/logs/document_tree.h"
#include "replay/logs/logged_request.h"
#include "replay/play/make_tree.h"
#include "replay/play/player.h"
#include "tests/unit/temporary_directory.h"

namespace cffs::replay::test {
namespace {

using cffs::test::TemporaryDirectory;

}  // namespace

TEST_CASE("access log lines") {
  const auto common = parse_access_line(
      R"(host.example.org - - [01/Aug/1995:02:00:00 -0400] "GET /a/b.html HTTP/1.0" 200 1839)");
  REQUIRE(common);
  REQUIRE(common->client == "host.example.org");
  REQUIRE(common->method == "GET");
  REQUIRE(common->target == "/a/b.html");
  REQUIRE(common->status == 200);
  REQUIRE(common->size == 1839);
  const auto combined = parse_access_line(
      R"(10.0.0.1 - user [17/May/2015:10:05:03 +0000] "GET /x?y=1#z HTTP/1.1" 304 - "http://a/\"q\"" "Agent \"1\"" "-")");
  REQUIRE(combined);
  REQUIRE(combined->target == "/x?y=1#z");
  REQUIRE(combined->size == 0);
  const auto quotes = parse_access_line(R"(1 - - [x] "GET /a"b" c.html HTTP/1.0" 200 5)");
  REQUIRE(quotes);
  REQUIRE(quotes->target == R"(/a"b" c.html)");
  REQUIRE(parse_access_line(R"(1 - - [x] "GET /old" 200 5)")->target == "/old");
  REQUIRE(parse_access_line(R"(1 - - [x] "GET /a HTTP/1.0" - 5)")->status == 0);
  REQUIRE(parse_access_line(R"(1 - - [x] "-" 408 -)")->target.empty());
  for (const char* bad : {"", "nonsense", R"(1 - - [x "GET / HTTP/1.0" 200 5)", R"(1 - - [x] GET / 200 5)",
                          R"(1 - - [x] "GET / HTTP/1.0" two 5)", R"(1 - - [x] "GET / HTTP/1.0" 200)"}) {
    REQUIRE(!parse_access_line(bad));
  }
}

TEST_CASE("paths of targets") {
  REQUIRE(path_of_target("/a/b?c/d") == "/a/b");
  REQUIRE(path_of_target("/a#b") == "/a");
  REQUIRE(path_of_target("http://host/a/b?c") == "/a/b");
  REQUIRE(path_of_target("http://host") == "/");
  REQUIRE(path_of_target("/redirect?to=http://x/y") == "/redirect");
  REQUIRE(path_of_target("*").empty());
}

TEST_CASE("a log becomes a tree, and its replay reads every byte of it") {
  const TemporaryDirectory directory;
  const std::string log = directory.path + "/log";
  std::ofstream(log) << "a - - [t] \"GET / HTTP/1.0\" 200 100\n"
                        "a - - [t] \"GET /dir HTTP/1.0\" 200 30\n"
                        "b - - [t] \"GET /dir/x.gif HTTP/1.0\" 200 5000\n"
                        "b - - [t] \"GET /dir/x.gif HTTP/1.0\" 304 0\n"
                        "b - - [t] \"GET /dir/ HTTP/1.0\" 200 40\n"
                        "b - - [t] \"GET /dir/../up HTTP/1.0\" 200 7\n"
                        "c - - [t] \"GET /missing HTTP/1.0\" 404 -\n"
                        "c - - [t] \"POST /form HTTP/1.0\" 200 9\n"
                        "garbage\n"
                        "c - - [t] \"GET /part HTTP/1.0\" 206 11\n";
  REQUIRE(std::system(("xz -k " + log + " && gzip -k " + log + " && zstd -q " + log).c_str()) == 0);
  for (const char* suffix : {"", ".xz", ".gz", ".zst"}) {
    DocumentTree tree;
    REQUIRE(tree.read_log(log + suffix));
    tree.settle();
    REQUIRE(tree.lines() == 10);
    REQUIRE(tree.malformed() == 1);
    REQUIRE(tree.malformed_samples().size() == 1);
    REQUIRE(tree.skipped() == 2);
    REQUIRE(tree.files().size() == 5);  // /dir and /dir/ are one
    REQUIRE(tree.requests().size() == 7);
    tree.repeat(3);
    REQUIRE(tree.files().size() == 15);
    const std::string made = directory.path + "/tree" + suffix;
    std::filesystem::create_directory(made);
    const Trace trace = trace_of(tree);
    const auto target = make_directory_target(made);
    REQUIRE(target);
    REQUIRE(make_tree(trace, **target));
    REQUIRE(!make_tree(trace, **target));  // it is there already
    REQUIRE(std::filesystem::file_size(made + "/host01/dir/x.gif") == 5000);
    REQUIRE(std::filesystem::file_size(made + "/host00/dir/index.html") == 40);
    const Schedule schedule = make_schedule(trace, {3, 1});
    const PlayReport report = Player(trace, schedule, target->get()).play({});
    REQUIRE(report.operations == 7);
    REQUIRE(report.problems() == 0);
    REQUIRE(report.read_bytes == 100 + 40 + 5000 + 5000 + 40 + 7 + 11);
    std::ofstream(made + "/host01/dir/x.gif", std::ios::in | std::ios::out) << "other bytes";
    REQUIRE(Player(trace, schedule, target->get()).play({}).wrong_content == 2);
    std::filesystem::resize_file(made + "/host01/dir/x.gif", 17);
    REQUIRE(Player(trace, schedule, target->get()).play({}).wrong_size == 2);
    std::filesystem::remove(made + "/host01/dir/x.gif");
    REQUIRE(Player(trace, schedule, target->get()).play({}).failed == 2);
  }
  DocumentTree none;
  REQUIRE(!none.read_log(directory.path + "/nothing"));
}

TEST_CASE("histogram percentiles are exact to one percent") {
  LatencyHistogram all, one, two;
  std::vector<std::uint64_t> values;
  std::mt19937_64 random(3);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t ns = random() % (std::uint64_t{1} << (4 + random() % 30));
    values.push_back(ns);
    all.record(ns);
    (i % 2 == 0 ? one : two).record(ns);
  }
  std::sort(values.begin(), values.end());
  one.merge(two);
  for (const double p : {0.1, 0.5, 0.9, 0.99, 0.999}) {
    const auto exact = static_cast<double>(values[static_cast<std::size_t>(p * 20000) - 1]);
    REQUIRE(static_cast<double>(all.percentile_ns(p)) == Approx(exact).epsilon(0.01).margin(1));
    REQUIRE(one.percentile_ns(p) == all.percentile_ns(p));
  }
  REQUIRE(all.max_ns() == values.back());
  REQUIRE(all.percentile_ns(1.0) == values.back());
  REQUIRE(LatencyHistogram().percentile_ns(0.5) == 0);
  // Of few, too: nobody is left out.
  LatencyHistogram few;
  for (const std::uint64_t ns : {10, 20, 30}) few.record(ns);
  REQUIRE(few.percentile_ns(0.5) == 20);
  REQUIRE(few.percentile_ns(0.34) == 20);
  REQUIRE(few.percentile_ns(0.99) == 30);
  REQUIRE(few.percentile_ns(0) == 10);
}

}  // namespace cffs::replay::test
