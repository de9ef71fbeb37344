#include "cli/replay_flags.h"

#include <fmt/format.h>

#include <cstdlib>

#include "cli/commands.h"
#include "replay/logs/line_reader.h"

namespace cffs::cli {
namespace {

tl::unexpected<Error> wrong(const std::string& option, const std::string& value, const std::string& wanted) {
  return fail(Error::command_line(fmt::format("--{}={} is none of: {}", option, value, wanted)));
}

Status settle_hosts(ReplayFlags& o) {
  if (o.hosts == "auto") {
    o.load.hosts = 0;
  } else {
    char* end = nullptr;
    const unsigned long n = std::strtoul(o.hosts.c_str(), &end, 10);
    if (*end != '\0' || n < 1 || n > 10'000)
      return fail(Error::command_line("--hosts wants auto or a number, not '" + o.hosts + "'"));
    o.load.hosts = static_cast<unsigned>(n);
  }
  return {};
}

constexpr double kLongestSeconds = 1e9;
constexpr double kMostThink = 1e6;  // times what was recorded

Status settle_think(ReplayFlags& o) {
  if (o.think == "zero") {
    o.replay.play.think = 0;
  } else if (o.think == "recorded") {
    o.replay.play.think = 1;
  } else {
    char* end = nullptr;
    o.replay.play.think = std::strtod(o.think.c_str(), &end);
    if (end == o.think.c_str() || *end != '\0' ||
        !(o.replay.play.think >= 0 && o.replay.play.think <= kMostThink))
      return wrong("think", o.think, "zero, recorded, a factor");
  }
  return {};
}

Status settle_cache(ReplayFlags& o) {
  if (o.cold) o.cache = "cold";
  if (o.cache == "as-is") {
    o.replay.cache = replay::CacheState::as_is;
  } else if (o.cache == "cold") {
    o.replay.cache = replay::CacheState::cold;
  } else if (o.cache == "warm") {
    o.replay.cache = replay::CacheState::warm;
  } else if (o.cache.starts_with("list:")) {
    o.replay.cache = replay::CacheState::list;
    CFFS_TRY_VOID(replay::each_line(o.cache.substr(5), [&](const std::string& line, std::uint64_t) -> Status {
      if (!line.empty()) o.replay.cache_list.push_back(line);
      return {};
    }));
  } else {
    return wrong("cache", o.cache, "as-is, cold, warm, list:FILE");
  }
  return {};
}

}  // namespace

Status settle(ReplayFlags& o) {
  if (o.make_tree && o.target.empty()) return fail(Error::command_line("--make-tree needs --target=DIR"));
  if (o.target.empty() == o.library.empty())
    return fail(Error::command_line("say where to replay: either --target=DIR or --library=STORE"));
  CFFS_TRY_VOID(settle_hosts(o));
  CFFS_TRY_VOID(settle_think(o));
  CFFS_TRY_VOID(settle_cache(o));
  o.replay.play.check = o.check == "content" ? replay::Check::content
                        : o.check == "size"  ? replay::Check::size
                                             : replay::Check::none;
  o.replay.schedule.longest_idle_ns = static_cast<std::int64_t>(o.longest_idle_s * 1e9);
  return {};
}

void add_replay_flags(CLI::App& command, ReplayFlags& o) {
  command
      .add_option("TRACE", o.inputs, "A trace, a web log, strace output; plain or compressed; - for stdin")
      ->required();
  add_trace_input_flags(command, o.load);
  command.add_option("--target", o.target, "Directory to replay in: native or any mount");
  auto* library =
      command.add_option("--library", o.library, "Store to replay on through the library, without FUSE");
  command
      .add_flag("--foreign-owner", o.foreign_owner, "With --library: the store may belong to another user")
      ->needs(library);
  command
      .add_flag("--predict", o.predict,
                "With --library: a write to /dev/null before each call (TableFS-Predict)")
      ->needs(library);
  auto* make_tree = command.add_flag("--make-tree", o.make_tree,
                                     "Make the tree that the trace starts from in --target, and stop");
  command
      .add_flag("--fresh", o.replay.fresh,
                "Each round makes its own tree in a directory of its own, removed afterwards")
      ->excludes(make_tree);
  command
      .add_option("--hosts", o.hosts,
                  "Of web logs: copies of the site as virtual hosts; auto: enough for --min-files")
      ->capture_default_str();
  o.load.min_files = 10'000;
  command.add_option("--min-files", o.load.min_files, "Fewest files in the tree, with --hosts=auto")
      ->capture_default_str();
  o.replay.schedule.threads = 4;
  command
      .add_option("--threads", o.replay.schedule.threads,
                  "Each client's operations keep their order, and those that touch the same files")
      ->check(CLI::Range(1u, 1024u))
      ->capture_default_str();
  command
      .add_option("--think", o.think,
                  "Time between operations: zero, recorded, or a factor of the recorded one")
      ->capture_default_str();
  command
      .add_option("--longest-idle", o.longest_idle_s,
                  "Seconds to which recorded stretches without any operation are cut")
      ->check(between(0.0, kLongestSeconds))
      ->capture_default_str();
  auto* cache =
      command
          .add_option(
              "--cache", o.cache,
              "Before each round: as-is, cold, warm (all files read), list:FILE (cold, then these paths)")
          ->capture_default_str();
  command.add_flag("--cold", o.cold, "The same as --cache=cold")->excludes(cache);
  command.add_option("--before", o.before, "Command run whenever the target is opened, say to mount it anew");
  command
      .add_option("--warm-up", o.replay.warm_up, "Share of the operations that is played first and not timed")
      ->check(between(0.0, 0.99));
  command.add_option("--rounds", o.replay.rounds, "Rounds; means come with 90 % confidence intervals")
      ->check(CLI::Range(1u, 1000u))
      ->capture_default_str();
  command.add_option("--check", o.check, "What must be right of what comes back: content, size, none")
      ->check(CLI::IsMember({"content", "size", "none"}))
      ->capture_default_str();
  command
      .add_option(
          "--max-surprises", o.max_surprises,
          "Share of operations that do not follow from the recording above which the exit status is 1")
      ->check(between(0.0, 1.0))
      ->capture_default_str();
  command.add_option("--results", o.results, "Results file (SQLite) that the runs are added to");
  command.add_option("--name", o.name, "The target's name in results");
  command.add_flag("--json", o.json, "For programs");
}

}  // namespace cffs::cli
