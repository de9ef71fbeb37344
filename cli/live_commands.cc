// stats, top: what a mount does just now.
#include <fmt/format.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/commands.h"
#include "cli/stop_signals.h"
#include "core/base/printable.h"
#include "fusefs/operations.h"

namespace cffs::cli {
namespace {

using LiveJson = nlohmann::ordered_json;

// Sleeps so long, unless a signal ends the watching.
void sleep_watching(double seconds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!StopSignals::came()) {
    const auto left = until - std::chrono::steady_clock::now();
    if (left <= left.zero()) return;
    std::this_thread::sleep_for(std::min<std::chrono::duration<double>>(left, std::chrono::milliseconds(50)));
  }
}

Result<LiveJson> ask_mount(const std::string& path, const std::string& attribute) {
  CFFS_TRY_VOID(check_there(path));
  std::string text(64 * 1024, '\0');
  const ssize_t n = ::getxattr(path.c_str(), attribute.c_str(), text.data(), text.size());
  if (n < 0 && (errno == ENODATA || errno == EOPNOTSUPP))
    return fail(Error::usage(path + " is not where a store is mounted (or not by you); cffs stat STORE looks "
                                    "into one that is not"));
  if (n < 0 && errno == EBUSY)
    return fail(Error::usage("four others are watching " + path + "; end one of them"));
  if (n < 0) return fail(errno, path);
  text.resize(static_cast<std::size_t>(n));
  auto json = LiveJson::parse(text, nullptr, false);
  if (json.is_discarded()) return fail(Error::usage(path + " answered what is no JSON"));
  return json;
}

std::string human_time(double ns) {
  if (ns < 1e3) return fmt::format("{:.0f} ns", ns);
  if (ns < 1e6) return fmt::format("{:.1f} us", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.1f} ms", ns / 1e6);
  return fmt::format("{:.2f} s", ns / 1e9);
}

std::uint64_t count_in(const LiveJson& json, const char* key) { return json.value(key, std::uint64_t{0}); }

std::uint64_t count_since(const LiveJson& now, const LiveJson& before, const char* key) {
  return count_in(now, key) - std::min(count_in(now, key), count_in(before, key));
}

// Those of one interval: what the buckets have more than before.
std::vector<std::pair<std::uint64_t, std::uint64_t>> buckets_since(const LiveJson& now,
                                                                   const LiveJson& before) {
  std::map<std::uint64_t, std::uint64_t> n;
  for (const auto& bucket : now) n[bucket[0].get<std::uint64_t>()] += bucket[1].get<std::uint64_t>();
  for (const auto& bucket : before) {
    auto& more = n[bucket[0].get<std::uint64_t>()];
    more -= std::min(more, bucket[1].get<std::uint64_t>());
  }
  return {n.begin(), n.end()};
}

double percentile(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& buckets, double fraction) {
  std::uint64_t all = 0, seen = 0;
  for (const auto& [upper, n] : buckets) all += n;
  for (const auto& [upper, n] : buckets) {
    seen += n;
    if (n > 0 && static_cast<double>(seen) >= fraction * static_cast<double>(all))
      return static_cast<double>(upper);
  }
  return 0;
}

// `before` null: since the mount began.
void print_requests(const LiveJson& now, const LiveJson& before, double seconds) {
  fmt::print("{:<16}{:>12}{:>10}{:>11}{:>11}{:>11}{:>11}{:>11}  errors\n", "request", "count", "per s", "p50",
             "p90", "p99", "p99.9", "bytes");
  for (const auto& [kind, of] : now.at("requests").items()) {
    const LiveJson old =
        before.is_object() ? before.at("requests").value(kind, LiveJson::object()) : LiveJson::object();
    const std::uint64_t n = count_since(of, old, "count");
    if (n == 0) continue;
    const auto buckets = buckets_since(of.at("buckets"), old.value("buckets", LiveJson::array()));
    std::string errors;
    const LiveJson all_errors = of.value("errors", LiveJson::object());
    const LiveJson old_errors = old.value("errors", LiveJson::object());
    for (const auto& [name, count] : all_errors.items()) {
      const std::uint64_t more = count_since(all_errors, old_errors, name.c_str());
      if (more > 0) errors += fmt::format(" {} {}", printable(name), more);
    }
    const std::uint64_t bytes = count_since(of, old, "bytes");
    fmt::print("{:<16}{:>12}{:>10.0f}{:>11}{:>11}{:>11}{:>11}{:>11} {}\n", printable(kind), n,
               static_cast<double>(n) / std::max(seconds, 1e-3), human_time(percentile(buckets, 0.5)),
               human_time(percentile(buckets, 0.9)), human_time(percentile(buckets, 0.99)),
               human_time(percentile(buckets, 0.999)), bytes > 0 ? human_bytes(bytes) : "", errors);
  }
}

void print_rest(const LiveJson& s) {
  const auto bytes = [](const LiveJson& of, const char* key) { return human_bytes(count_in(of, key)); };
  const LiveJson &ahead = s.at("read_ahead"), &frames = s.at("frames"), &table = s.at("table"),
                 &commits = s.at("commits"), &backlog = s.at("backlog"), &written = s.at("written"),
                 &memory = s.at("memory"), &process = s.at("process");
  fmt::print("read ahead   {}, of it used {}, not (yet) {}\n", bytes(ahead, "bytes"),
             bytes(ahead, "used_bytes"), bytes(ahead, "unused_bytes"));
  const LiveJson handed = s.value("handed_over", LiveJson::object());
  if (count_in(handed, "files") > 0) {
    fmt::print("handed over  {} files, {}, to the kernel's cache before it asked\n", count_in(handed, "files"),
               bytes(handed, "bytes"));
  }
  if (count_in(frames, "decompressed") + count_in(frames, "in_memory") > 0) {
    fmt::print("frames       {} decompressed, {} in {:.2f} s; {} were in memory\n",
               count_in(frames, "decompressed"), bytes(frames, "bytes"), frames.value("seconds", 0.0),
               count_in(frames, "in_memory"));
  }
  std::string levels;
  for (const auto& files : table.at("files_by_level"))
    levels += fmt::format(" {}", files.get<std::uint64_t>());
  fmt::print(
      "table        files by level{}; {} blocks read, {}; {} batches, {} syncs; log {}, value log {}{}\n",
      levels, count_in(table, "block_reads"), bytes(table, "block_read_bytes"), count_in(table, "writes"),
      count_in(table, "syncs"), bytes(table, "log_bytes"), bytes(table, "value_log_bytes"),
      table.value("read_only_after_error", false) ? "; READ-ONLY AFTER AN ERROR" : "");
  fmt::print("commits      {}, {} failed; the last {:.1f} s ago, every {:g} s, took {}\n",
             count_in(commits, "count"), count_in(commits, "failed"), commits.value("age_s", 0.0),
             commits.value("interval_s", 0.0), human_time(commits.value("last_took_s", 0.0) * 1e9));
  fmt::print(
      "waiting      {} directories to be consolidated (longest {:.0f} s), {} composites to be compacted, {} "
      "freed\n",
      count_in(backlog, "staged_directories"), backlog.value("longest_staged_s", 0.0),
      count_in(backlog, "wasteful_composites"), bytes(backlog, "freed_bytes"));
  fmt::print(
      "written      by users {}, to the store {}{}: log {}, table {}, values {}, composites {}, blobs {}\n",
      bytes(written, "by_users_bytes"), bytes(written, "to_store_bytes"),
      written.contains("amplification")
          ? fmt::format(" ({:.2f} x)", written.at("amplification").get<double>())
          : "",
      bytes(written, "log_bytes"), bytes(written, "table_bytes"), bytes(written, "value_bytes"),
      bytes(written, "composite_bytes"), bytes(written, "blob_bytes"));
  fmt::print(
      "memory       {} resident: table's blocks {}, its rows {}, frames {}, inodes {} ({} awake, {} "
      "asleep)\n",
      bytes(memory, "resident_bytes"), bytes(memory, "table_block_cache_bytes"),
      bytes(memory, "table_rows_bytes"), bytes(memory, "frame_cache_bytes"),
      bytes(memory, "inode_table_bytes"), count_in(memory, "inodes_awake"),
      count_in(memory, "inodes_asleep"));
  std::string lines;
  for (const auto& [level, n] : s.at("log_lines").items())
    lines += fmt::format("{} {} {}", lines.empty() ? "" : ",", n.get<std::uint64_t>(), printable(level));
  fmt::print("process      {} of {} descriptors, {} threads, {:.1f} s of processor; log lines:{}\n",
             count_in(process, "descriptors"), count_in(process, "most_descriptors"),
             count_in(process, "threads"), process.value("cpu_seconds", 0.0), lines);
}

// On a terminal the picture before goes.
void begin_picture() {
  if (::isatty(STDOUT_FILENO) == 1) fmt::print("\033[H\033[J");
}

struct StatsFlags {
  std::string path;
  std::string watch;  // seconds; empty: once
  bool json = false, table_log = false;
};

Status run_stats(const StatsFlags& o) {
  if (o.table_log) {
    CFFS_TRY_VOID(ask_mount(o.path, kLiveXattr));  // a sentence where it is no mount
    fmt::print("{}", mount_attribute(o.path, kTableLogXattr));
    return {};
  }
  CFFS_TRY(LiveJson now, ask_mount(o.path, kLiveXattr));
  if (o.watch.empty()) {
    if (o.json) {
      fmt::print("{}\n", now.dump(2));
      return {};
    }
    print_requests(now, nullptr, now.value("uptime_s", 0.0));
    print_rest(now);
    return {};
  }
  const StopSignals signals(kStopSignals);  // what they end is a command that watches; it is no failure
  for (;;) {
    LiveJson before = std::move(now);
    sleep_watching(std::stod(o.watch));
    if (StopSignals::came()) return {};
    CFFS_TRY(now, ask_mount(o.path, kLiveXattr));
    if (o.json) {
      fmt::print("{}\n", now.dump());
    } else {
      begin_picture();
      const bool is_another = now.value("uptime_s", 0.0) < before.value("uptime_s", 0.0);  // mounted anew
      if (is_another) before = nullptr;
      const double seconds = now.value("uptime_s", 0.0) - (is_another ? 0.0 : before.value("uptime_s", 0.0));
      fmt::print("{}, the last {:.1f} s; below, since the mount began\n", o.path, seconds);
      print_requests(now, before, seconds);
      print_rest(now);
    }
    if (std::fflush(stdout) != 0) return fail(errno, "standard output");
  }
}

struct TopFlags {
  std::string path;
  std::string interval = "2", sort = "requests";
  unsigned lines = 10;
  bool once = false, json = false;
};

double sorted_by(const LiveJson& entry, const std::string& by) {
  if (by == "read") return entry.value("read_bytes", 0.0);
  if (by == "written") return entry.value("written_bytes", 0.0);
  if (by == "time") return entry.value("seconds", 0.0);
  return entry.value(by, 0.0);  // requests, errors
}

void print_loads(const LiveJson& loads, const TopFlags& o, const char* what, double seconds) {
  std::vector<LiveJson> list(loads.begin(), loads.end());
  std::stable_sort(list.begin(), list.end(), [&](const LiveJson& a, const LiveJson& b) {
    return sorted_by(a, o.sort) > sorted_by(b, o.sort);
  });
  if (list.size() > o.lines) list.resize(o.lines);
  fmt::print("{:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7}  {}\n", "req/s", "time", "lookups",
             "lists", "reads", "writes", "changes", "read", "written", "errors", what);
  for (const LiveJson& of : list) {
    const auto n = [&](const char* key) { return count_in(of, key); };
    const std::string who = of.contains("pid")
                                ? fmt::format("{} {}", of.at("pid").get<int>(), of.value("name", ""))
                                : of.value("path", "");
    fmt::print("{:>8.0f}{} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7}  {}\n",
               static_cast<double>(n("requests")) / seconds, n("over") > 0 ? '~' : ' ',
               human_time(of.value("seconds", 0.0) * 1e9), n("lookups"), n("listings"), n("reads"),
               n("writes"), n("changes"), human_bytes(n("read_bytes")), human_bytes(n("written_bytes")),
               n("errors"), printable(who));
  }
}

Status run_top(const TopFlags& o) {
  const StopSignals signals(kStopSignals);  // what they end is a command that watches; it is no failure
  const double interval = std::stod(o.interval);
  const std::string viewer = kLoadXattr + std::to_string(::getpid()) + ".";
  const std::string attribute = viewer + std::to_string(static_cast<std::int64_t>(interval * 1000) + 10'000);
  CFFS_TRY(LiveJson load, ask_mount(o.path, attribute));
  Status done;
  do {
    sleep_watching(interval);
    if (StopSignals::came()) break;
    auto next = ask_mount(o.path, attribute);
    if (!next) {
      done = fail(next.error());
      break;
    }
    load = std::move(*next);
    if (o.json) {
      fmt::print("{}\n", load.dump(o.once ? 2 : -1));
    } else {
      const double seconds = std::max(load.value("seconds", 0.0), 1e-3);
      if (!o.once) begin_picture();
      fmt::print("{}, the last {:.1f} s: {} requests{}\n", o.path, seconds, count_in(load, "requests"),
                 count_in(load, "missed") > 0
                     ? fmt::format(", {} more not attributed", count_in(load, "missed"))
                     : "");
      print_loads(load.at("processes"), o, "process", seconds);
      print_loads(load.at("directories"), o, "directory", seconds);
    }
    if (std::fflush(stdout) != 0) return fail(errno, "standard output");
  } while (!o.once);
  (void)ask_mount(o.path, viewer + "0");
  return done;
}

}  // namespace

void add_stats(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "stats",
      "Show what a mount does just now: requests with their latencies, read-ahead, table, commits, memory");
  auto o = std::make_shared<StatsFlags>();
  command->add_option("MNT", o->path, "Where a store is mounted")->required();
  auto* watch = command
                    ->add_flag("--watch{2}", o->watch,
                               "Again and again, what is new in so many seconds (2 where none is given)")
                    ->check(between(0.1, 86400.0));
  auto* json = command->add_flag("--json", o->json, "For programs; with --watch one line each time");
  command
      ->add_flag("--table-log", o->table_log,
                 "LevelDB's own log instead: the newest 64 KiB since the mount began")
      ->excludes(watch)
      ->excludes(json);
  command->footer("What each number means: docs/OBSERVING.md.");
  command->callback([o, &exit_code] {
    if (const Status done = run_stats(*o); !done) exit_code = complain(done.error());
  });
}

void add_top(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "top", "Show which processes and which directories cause what a mount does, and go on");
  auto o = std::make_shared<TopFlags>();
  command->add_option("MNT", o->path, "Where a store is mounted")->required();
  command->add_option("--interval", o->interval, "Seconds that each picture is about")
      ->check(between(0.1, 3600.0))
      ->capture_default_str();
  command->add_option("--sort", o->sort, "What comes first")
      ->check(CLI::IsMember({"requests", "time", "read", "written", "errors"}))
      ->capture_default_str();
  command->add_option("--lines", o->lines, "Processes, and directories, that are shown")
      ->check(CLI::Range(1u, 100u))
      ->capture_default_str();
  command->add_flag("--once", o->once, "One picture, then end");
  command->add_flag("--json", o->json, "For programs; without --once a line for each picture");
  command->footer("Ctrl-C ends it. The mount counts for it only while it runs.");
  command->callback([o, &exit_code] {
    if (const Status done = run_top(*o); !done) exit_code = complain(done.error());
  });
}

}  // namespace cffs::cli
