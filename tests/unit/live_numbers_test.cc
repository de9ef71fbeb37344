// What counts requests, and what tells of it: fusefs/request_counts.h, core/live.
#include <linux/fuse.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include "core/live/exposition.h"
#include "core/live/heavy_hitters.h"
#include "core/live/latency_buckets.h"
#include "core/object/recent_lines.h"
#include "fusefs/request_counts.h"
#include "tests/test_seeds.h"

using namespace cffs;

namespace {

// A request as it comes from the kernel, and its answer.
struct Exchange {
  std::vector<char> request;
  Exchange(std::uint32_t opcode, std::uint64_t unique, const void* body = nullptr, std::size_t size = 0)
      : request(sizeof(fuse_in_header) + size) {
    fuse_in_header header{};
    header.len = static_cast<std::uint32_t>(request.size());
    header.opcode = opcode;
    header.unique = unique;
    header.nodeid = 7;
    header.pid = 42;
    std::memcpy(request.data(), &header, sizeof header);
    if (size > 0) std::memcpy(request.data() + sizeof header, body, size);
  }
  void begin(RequestCounts& counts) {
    fuse_buf buffer{};
    buffer.size = request.size();
    buffer.mem = request.data();
    counts.begin(buffer);
  }
  static void answer(std::uint64_t unique, int error, std::size_t bytes = 0) {
    static char data[4096];
    fuse_out_header header{static_cast<std::uint32_t>(sizeof header + bytes), -error, unique};
    const iovec pieces[2] = {{&header, sizeof header}, {data, bytes}};
    const CountedReply counted(pieces, bytes > 0 ? 2 : 1);
  }
};

struct Family {
  std::string type, help;
  std::map<std::string, double> samples;  // by name and labels
};

// What Prometheus would take, and what promtool's lint would say of it; REQUIREs that it says nothing.
std::map<std::string, Family> parsed(const std::string& text) {
  std::map<std::string, Family> families;
  std::string current;
  REQUIRE(text.back() == '\n');
  std::istringstream lines(text);
  const std::regex name("[a-zA-Z_:][a-zA-Z0-9_:]*");
  const std::regex sample(
      R"re(([a-zA-Z_:][a-zA-Z0-9_:]*)(\{((([a-zA-Z_][a-zA-Z0-9_]*)="((\\\\|\\"|\\n|[^"\\])*)",?)+)\})? (\S+))re");
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    if (line.starts_with("# HELP ")) {
      const std::size_t space = line.find(' ', 7);
      current = line.substr(7, space - 7);
      REQUIRE(std::regex_match(current, name));
      REQUIRE(!families.contains(current));  // told once, all in one place
      families[current].help = line.substr(space + 1);
      REQUIRE(!families[current].help.empty());
      continue;
    }
    if (line.starts_with("# TYPE ")) {
      REQUIRE(line.substr(7, current.size() + 1) == current + " ");
      families[current].type = line.substr(8 + current.size());
      continue;
    }
    std::smatch match;
    REQUIRE(std::regex_match(line, match, sample));
    Family& family = families.at(current);
    std::string suffix = match[1].str();
    REQUIRE(suffix.starts_with(current));
    suffix = suffix.substr(current.size());
    if (family.type == "histogram") {
      REQUIRE((suffix == "_bucket" || suffix == "_sum" || suffix == "_count"));
    } else {
      REQUIRE(suffix.empty());
    }
    std::size_t end = 0;
    const double value = std::stod(match[8].str(), &end);
    REQUIRE(end == match[8].str().size());
    REQUIRE(family.samples.emplace(match[1].str() + match[2].str(), value).second);
  }
  for (const auto& [family_name, family] : families) {
    INFO(family_name);
    REQUIRE((family.type == "counter" || family.type == "gauge" || family.type == "histogram"));
    REQUIRE((family.type == "counter") == family_name.ends_with("_total"));
    for (const char* wrong : {"_count", "_sum", "_bucket", "_milliseconds", "_ms", "_kilobytes"})
      REQUIRE(!family_name.ends_with(wrong));
  }
  return families;
}

}  // namespace

TEST_CASE("a percentile of latencies is at most a sixteenth above the exact one, and never below") {
  std::mt19937_64 random(cffs::test::seeds(1).front());
  for (const double spread : {0.1, 1.0, 3.0}) {
    LatencyCounts counts;
    std::vector<std::uint64_t> exact;
    std::lognormal_distribution<double> latencies(9, spread);
    for (int i = 0; i < 20'000; ++i) {
      const auto ns = static_cast<std::uint64_t>(std::min(latencies(random), 1e12));
      exact.push_back(ns);
      ++counts.buckets[latency_bucket(ns)];
    }
    std::sort(exact.begin(), exact.end());
    for (const double fraction : {0.001, 0.5, 0.9, 0.99, 0.999, 1.0}) {
      const auto rank = static_cast<std::size_t>(std::ceil(fraction * static_cast<double>(exact.size())));
      const auto truth = static_cast<double>(exact[std::max<std::size_t>(rank, 1) - 1]);
      const auto told = static_cast<double>(counts.percentile_ns(fraction));
      INFO("fraction " << fraction << " spread " << spread << " exact " << truth << " told " << told);
      REQUIRE(told >= truth);
      REQUIRE(told <= truth * (1 + 1.0 / 16) + 1);
    }
  }
}

TEST_CASE("each bucket of latencies begins where the one before it ends, and a power of two is a bound") {
  REQUIRE(latency_bucket(0) == 0);
  for (std::size_t i = 0; i + 1 < kLatencyBuckets; ++i) {
    REQUIRE(latency_bucket(latency_upper_ns(i)) == i);
    REQUIRE(latency_bucket(latency_upper_ns(i) + 1) == i + 1);
  }
  REQUIRE(latency_bucket(~std::uint64_t{0}) == kLatencyBuckets - 1);
  for (unsigned octave = 0; octave <= kLatencyOctaves; ++octave) {
    const std::uint64_t power = std::uint64_t{1} << octave;
    LatencyCounts counts;
    ++counts.buckets[latency_bucket(power)];
    REQUIRE(counts.up_to(power) == 1);
    REQUIRE(counts.up_to(power - 1) == 0);
  }
  REQUIRE(LatencyCounts().percentile_ns(0.5) == 0);
}

TEST_CASE("heavy hitters are exact while there is room, and miss nobody who comes often where there is not") {
  std::mt19937_64 random(cffs::test::seeds(1).front());
  HeavyHitters<std::uint64_t, int> roomy(100), tight(50);
  std::map<std::uint64_t, std::uint64_t> exact;
  std::geometric_distribution<std::uint64_t> keys(0.05);
  std::uint64_t all = 0;
  bool is_new = false;
  for (int i = 0; i < 20'000; ++i, ++all) {
    const std::uint64_t key =
        i % 4 == 0 ? 1'000'000 + random() % 100'000 : std::min<std::uint64_t>(keys(random), 90);
    ++exact[key];
    (void)tight.add(key, is_new);
    if (key < 100) (void)roomy.add(key, is_new);
  }
  for (const auto& [key, entry] : roomy.top(100)) {
    REQUIRE(entry->over == 0);
    REQUIRE(entry->count == exact[key]);
  }
  REQUIRE(tight.size() == 50);
  std::set<std::uint64_t> kept;
  std::uint64_t before = ~std::uint64_t{0};
  for (const auto& [key, entry] : tight.top(50)) {
    kept.insert(key);
    REQUIRE(entry->count >= exact[key]);
    REQUIRE(entry->count - entry->over <= exact[key]);
    REQUIRE(entry->count <= before);
    before = entry->count;
  }
  for (const auto& [key, n] : exact) {
    INFO("key " << key << " came " << n);
    if (n > all / 50) REQUIRE(kept.contains(key));
  }
}

TEST_CASE("what is told in Prometheus's format can be read back, labels and all") {
  Exposition e;
  LatencyCounts latencies;
  for (const std::uint64_t ns : {500, 2048, 2049, 1'000'000, 2'000'000'000}) {
    ++latencies.buckets[latency_bucket(ns)];
    latencies.sum_ns += ns;
  }
  e.histogram("cffs_test_duration_seconds", "With a \\ and\na second line.");
  e.sample(latencies, {{"kind", "read"}});
  e.counter("cffs_test_total", "Of strange labels.");
  e.sample(std::uint64_t{18446744073709551615u}, {{"path", "a\"b\\c\nd"}, {"other", ""}});
  e.gauge("cffs_test_seconds", "A fraction.");
  e.sample(0.25);
  const auto families = parsed(e.text());
  REQUIRE(families.size() == 3);
  REQUIRE(families.at("cffs_test_duration_seconds").help == "With a \\\\ and\\na second line.");
  const auto& samples = families.at("cffs_test_duration_seconds").samples;
  const auto bucket = [&](const std::string& le) {
    return samples.at("cffs_test_duration_seconds_bucket{kind=\"read\",le=\"" + le + "\"}");
  };
  REQUIRE(bucket("2.048e-06") == 2);
  REQUIRE(bucket("4.096e-06") == 3);
  REQUIRE(bucket("0.001048576") == 4);
  REQUIRE(bucket("2.147483648") == 5);
  REQUIRE(bucket("+Inf") == 5);
  REQUIRE(samples.at("cffs_test_duration_seconds_count{kind=\"read\"}") == 5);
  REQUIRE(samples.at("cffs_test_duration_seconds_sum{kind=\"read\"}") == Approx(2.001004597));
  double before = 0;
  std::istringstream lines(e.text());
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("cffs_test_duration_seconds_bucket")) continue;
    const double n = std::stod(line.substr(line.rfind(' ')));
    REQUIRE(n >= before);
    before = n;
  }
  REQUIRE(families.at("cffs_test_total").samples.begin()->first ==
          R"(cffs_test_total{path="a\"b\\c\nd",other=""})");
}

TEST_CASE("requests are counted by kind, with bytes and errors, when they are answered") {
  RequestCounts counts;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    Exchange(FUSE_READ, i).begin(counts);
    Exchange::answer(i, 0, 100);
  }
  fuse_write_in write{};
  write.size = 77;
  Exchange(FUSE_WRITE, 4, &write, sizeof write).begin(counts);
  Exchange::answer(4, 0, 8);
  Exchange(FUSE_WRITE, 5, &write, sizeof write).begin(counts);
  Exchange::answer(5, ENOSPC);
  Exchange(FUSE_GETXATTR, 6).begin(counts);
  Exchange::answer(999, 0);  // another's
  Exchange::answer(0, 0);    // a notification
  REQUIRE(!counts.numbers().kinds.contains(FUSE_GETXATTR));
  Exchange::answer(6, ENODATA);
  Exchange::answer(6, ENODATA);  // once is all
  fuse_batch_forget_in forget{};
  forget.count = 5;
  Exchange(FUSE_BATCH_FORGET, 7, &forget, sizeof forget).begin(counts);
  Exchange(FUSE_FORGET, 8).begin(counts);
  Exchange(63, 9).begin(counts);  // nobody knows it
  Exchange::answer(9, ENOSYS);
  Exchange(200, 10).begin(counts);
  Exchange::answer(10, ENOSYS);

  const RequestNumbers n = counts.numbers();
  REQUIRE(n.kinds.size() == 3);
  REQUIRE(n.kinds.at(FUSE_READ).latencies.count() == 3);
  REQUIRE(n.kinds.at(FUSE_READ).bytes == 300);
  REQUIRE(n.kinds.at(FUSE_READ).errors.empty());
  REQUIRE(n.kinds.at(FUSE_WRITE).latencies.count() == 2);
  REQUIRE(n.kinds.at(FUSE_WRITE).bytes == 77);
  REQUIRE(n.kinds.at(FUSE_WRITE).errors == std::map<int, std::uint64_t>{{ENOSPC, 1}});
  REQUIRE(n.kinds.at(FUSE_GETXATTR).errors == std::map<int, std::uint64_t>{{ENODATA, 1}});
  REQUIRE(n.forgotten == 6);
  REQUIRE(request_name(FUSE_READ) == "read");
  REQUIRE(error_name(ENODATA) == "ENODATA");
}

TEST_CASE("a request that another thread answers keeps the time at which it came") {
  using namespace std::chrono_literals;
  RequestCounts counts;
  Exchange(FUSE_READ, 1).begin(counts);
  const ServedRequest left = RequestCounts::leave();
  Exchange::answer(1, 0, 10);  // it is not this thread's any more
  REQUIRE(counts.numbers().kinds.empty());
  std::this_thread::sleep_for(20ms);
  std::thread([&] {
    RequestCounts::go_on_with(left);
    Exchange::answer(1, 0, 10);
  }).join();
  const RequestNumbers n = counts.numbers();
  REQUIRE(n.kinds.at(FUSE_READ).latencies.count() == 1);
  REQUIRE(n.kinds.at(FUSE_READ).latencies.sum_ns >= 20'000'000);
}

TEST_CASE("no request of many threads is lost") {
  constexpr int kThreads = 12, kEach = 5'000;  // more threads than stripes
  RequestCounts counts;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (std::uint64_t i = 1; i <= kEach; ++i) {
        Exchange(FUSE_LOOKUP, i).begin(counts);
        Exchange::answer(i, i % 5 == 0 ? ENOENT : 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const RequestNumbers n = counts.numbers();
  REQUIRE(n.kinds.at(FUSE_LOOKUP).latencies.count() == std::uint64_t{kThreads} * kEach);
  REQUIRE(n.kinds.at(FUSE_LOOKUP).errors.at(ENOENT) == std::uint64_t{kThreads} * kEach / 5);
}

TEST_CASE("of many lines the newest are kept, whole, within the bound") {
  RecentLines lines;
  for (int i = 0; i < 100'000; ++i) {
    lines.add("line " + std::to_string(i));
    if (i % 1000 == 0) REQUIRE(lines.text().size() <= RecentLines::kMost);
  }
  const std::string text = lines.text();
  REQUIRE(text.size() <= RecentLines::kMost);
  REQUIRE(text.size() >= RecentLines::kMost / 2);
  REQUIRE(text.starts_with("line "));
  REQUIRE(text.ends_with("line 99999\n"));
  lines.add(std::string(1'000'000, 'x'));
  REQUIRE(lines.text().size() <= RecentLines::kMost);
}

// By hand: unit_tests "[cost]".
TEST_CASE("what counting costs a request", "[.][cost]") {
  constexpr std::uint64_t kTimes = 2'000'000;
  RequestCounts counts;
  Exchange request(FUSE_GETATTR, 1);
  fuse_buf buffer{};
  buffer.size = request.request.size();
  buffer.mem = request.request.data();
  fuse_out_header header{sizeof header, 0, 1};
  const iovec piece{&header, sizeof header};
  for (int round = 0; round < 5; ++round) {
    timespec begin, end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    for (std::uint64_t i = 0; i < kTimes; ++i) {
      counts.begin(buffer);
      const CountedReply counted(&piece, 1);
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    const double ns = static_cast<double>(end.tv_sec - begin.tv_sec) * 1e9 +
                      static_cast<double>(end.tv_nsec - begin.tv_nsec);
    WARN(ns / static_cast<double>(kTimes) << " ns a request");
  }
  REQUIRE(counts.numbers().kinds.at(FUSE_GETATTR).latencies.count() == 5 * kTimes);
}
