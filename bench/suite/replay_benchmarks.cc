// The composite-file paper: a web server's log and a developer's session replayed at zero think time, by policy, cold and
// warm, with one thread and with several.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "bench/suite/session.h"
#include "bench/suite/site_sessions.h"
#include "replay/import/load_trace.h"
#include "replay/model/trace_slice.h"
#include "replay/play/make_tree.h"
#include "replay/play/replay.h"
#include "replay/trace/trace_file.h"
#include "replay/trace/trace_summary.h"

namespace cffs::bench {
namespace {

// A trace that comes with the project: beside the sources, or where it was installed.
Result<std::string> find_trace(const std::string& name) {
  if (::access(name.c_str(), R_OK) == 0) return name;
  const std::string program = own_program();
  const std::string folder = program.substr(0, program.rfind('/'));
  for (const std::string& place :
       {std::string("traces"), folder + "/../../traces", folder + "/../share/cffs/traces"}) {
    const std::string path = place + "/" + name;
    if (::access(path.c_str(), R_OK) == 0) return path;
  }
  return fail(Error::usage("trace " + name + " is not there; name one with --trace=FILE"));
}

Result<replay::Trace> load(Session& session) {
  CFFS_TRY(const std::string file, find_trace(session.text("trace")));
  replay::LoadOptions options;
  options.hosts = 0;
  options.min_files = std::max<std::uint64_t>(1, session.number("min-files"));
  options.below = session.text("below").empty() ? "/" : session.text("below");
  replay::LoadReport report;
  CFFS_TRY(replay::Trace trace, replay::load_trace({file}, options, report));
  const double share = session.real("share");
  if (share > 0 && share < 1) {
    replay::SliceOptions part;
    part.last = static_cast<std::uint64_t>(share * static_cast<double>(trace.operations.size()));
    trace = replay::slice(trace, part);
  }
  return trace;
}

// A plan for policy frequency, mined from a trace.
Result<std::string> plan_for(Session& session, const replay::Trace& trace) {
  const std::string file = session.work() + "/trace.db", plan = session.work() + "/plan.db";
  CFFS_TRY_VOID(replay::write_trace(file, trace));
  CFFS_TRY_VOID(run({own_program(), "analyze", file, "-o", plan}));
  return plan;
}

struct Variant {
  bool cold;
  unsigned threads;
};

std::vector<Variant> variants(const Session& session) {
  std::vector<Variant> list;
  for (const bool cold : {true, false}) {
    for (const double threads : session.reals("threads"))
      list.push_back({cold, static_cast<unsigned>(threads)});
  }
  return list;
}

Status play(Session& session, Rig& rig, const replay::Trace& trace, const std::string& below,
            const Variant& variant) {
  replay::ScheduleOptions schedule_options;
  schedule_options.threads = variant.threads;
  replay::PlayOptions options;
  if (session.text("check") == "size" || !session.text("site").empty()) options.check = replay::Check::size;
  CFFS_TRY(const replay::Schedule schedule, replay::schedule_for(trace, schedule_options, options.check));
  // The rig's target is its root; a replay that changes things has a directory of its own.
  std::unique_ptr<replay::Target> own;
  replay::Target* target = &rig.target();
  if (!below.empty() && rig.has_directory()) {
    CFFS_TRY(own, replay::make_directory_target(rig.directory() + "/" + below));
    target = own.get();
  }
  Phase phase(session, rig,
              fmt::format("{}, {} thread{}", variant.cold ? "cold" : "warm", variant.threads,
                          variant.threads == 1 ? "" : "s"));
  replay::Player player(trace, schedule, target);
  replay::PlayReport report = player.play(options);
  replay::Run run;
  replay::fill_run(report, run);
  phase.take(std::move(run));
  phase.finish();
  player.close_all();
  if (report.problems() > 0) {
    return fail(Error::usage(fmt::format("{}: {} operations came out otherwise than they must; the first: {}",
                                         rig.name(), report.problems(), report.first_problem)));
  }
  return {};
}

// What mining sees, and what is replayed behind it: nobody has seen that. Without a share for mining both are all of it, which is the
// best that mining can do.
struct Cut {
  replay::Trace seen, unseen;
};

Result<Cut> cut(const Session& session, const replay::Trace& trace) {
  const double share = session.real("train");
  if (!(share >= 0 && share < 1))
    return fail(Error::command_line(fmt::format("--train: {:g} is not a share from 0 to below 1", share)));
  const auto seen = static_cast<std::uint64_t>(share * static_cast<double>(trace.operations.size()));
  if (seen == 0) return Cut{trace, trace};
  replay::SliceOptions first, rest;
  first.last = seen;
  rest.first = seen + 1;
  return Cut{replay::slice(trace, first), replay::slice(trace, rest)};
}

// The documents on disk, as they were made or are, and what is asked of them.
struct Web {
  std::string tree;
  replay::Trace trace;
};

// The log's own documents, made up: their sizes are the log's, their contents nobody's.
Result<Web> logged_site(Session& session) {
  CFFS_TRY(replay::Trace trace, load(session));
  const std::string tree = session.work() + "/documents";
  if (::access(tree.c_str(), F_OK) != 0) {
    if (::mkdir(tree.c_str(), 0755) != 0) return fail(errno, tree);
    CFFS_TRY(const auto target, replay::make_directory_target(tree));
    CFFS_TRY_VOID(replay::make_tree(trace, *target));
  }
  return Web{tree, std::move(trace)};
}

// A real site's, by the log's clients and popularity.
Result<Web> real_site(Session& session, const std::string& directory) {
  if (session.text("check") == "content" && session.options().parameters.contains("check")) {
    return fail(
        Error::command_line("--check=content knows what made-up documents hold; with --site, --check=size"));
  }
  CFFS_TRY(const replay::Trace log, load(session));
  CFFS_TRY(const auto files, source_files(directory));
  std::vector<Visit> visits = visits_of(directory, files, /*alone=*/true);
  if (visits.empty()) return fail(Error::usage("--site=" + directory + ": there is no HTML in it"));
  return Web{directory, site_sessions(files, std::move(visits), log, session.seed())};
}

Status run_web(Session& session, Rig& rig) {
  const std::string site = session.text("site");
  CFFS_TRY(const Web web, site.empty() ? logged_site(session) : real_site(session, site));
  CFFS_TRY(const Cut parts, cut(session, web.trace));
  if (rig.name().starts_with("frequency")) {
    CFFS_TRY(const std::string plan, plan_for(session, parts.seen));
    CFFS_TRY_VOID(rig.use_plan(plan));
  }
  CFFS_TRY_VOID(rig.in_a_hurry([&]() -> Status {
    CFFS_TRY_VOID(rig.import(web.tree));
    return rig.settle();
  }));
  for (const Variant& variant : variants(session)) {
    if (variant.cold) CFFS_TRY_VOID(rig.cool());
    CFFS_TRY_VOID(play(session, rig, parts.unseen, "", variant));
  }
  return {};
}

Status run_development(Session& session, Rig& rig) {
  CFFS_TRY(const replay::Trace trace, load(session));
  if (rig.name().starts_with("frequency")) {
    CFFS_TRY(const std::string plan, plan_for(session, trace));
    CFFS_TRY_VOID(rig.use_plan(plan));
  }
  unsigned number = 0;
  for (const Variant& variant : variants(session)) {
    const std::string below = fmt::format("session{}", number++);
    CFFS_TRY_VOID(must(rig.target().mkdir(below, 0755), below));
    {
      CFFS_TRY(const auto target, replay::make_directory_target(rig.directory() + "/" + below));
      CFFS_TRY_VOID(replay::make_tree(trace, *target));
    }
    CFFS_TRY_VOID(rig.settle());
    if (variant.cold) CFFS_TRY_VOID(rig.cool());
    CFFS_TRY_VOID(play(session, rig, trace, below, variant));
  }
  return {};
}

}  // namespace

std::vector<Benchmark> replay_benchmarks() {
  Benchmark web;
  web.name = "web-server";
  web.title = "a web server's log replayed: latency of each request, by policy";
  web.source = "composite-file paper, web-server latency";
  web.parameters = {
      {"trace", "a web log or trace", "nasa_19950801.log.xz", "nasa_19950801.log.xz", "nasa_19950801.log.xz"},
      {"share", "of the trace, from its start", "0.02", "1", "1"},
      {"train", "of that, what frequency is mined from, and nobody replays; 0: mined from what is replayed",
       "0.5", "0.7", "0.7"},
      {"site", "a directory of HTML: its pages and what they embed, asked for as often as the log's", "", "",
       ""},
      {"min-files", "the site is repeated as virtual hosts until it has so many", "1", "10000", "50000"},
      {"threads", "clients at a time", "1,4", "1,4", "1,4"},
      {"check", "what must be right: content, or size alone, which takes no time", "content", "size",
       "size"}};
  web.targets = {"ext4", "passthrough", "none", "directory", "reference", "frequency"};
  web.run = run_web;
  Benchmark development;
  development.name = "development";
  development.title =
      "a developer's session replayed (unpack, git, builds, edits, search): by policy; frequency is mined "
      "from what is replayed, the best that mining can do";
  development.source = "composite-file paper, software-development replay";
  development.parameters = {{"trace", "a trace or strace output", "cpp_dev_session.trace.db.xz",
                             "cpp_dev_session.trace.db.xz", "cpp_dev_session.trace.db.xz"},
                            {"share", "of the trace, from its start", "0.005", "0.2", "1"},
                            {"below", "of recordings: only what is below this directory", "", "", ""},
                            {"threads", "at a time", "1,4", "1,4", "1,4"},
                            {"check", "what must be right: content, or size alone, which takes no time",
                             "content", "size", "size"}};
  development.targets = {"ext4", "passthrough", "none", "directory", "reference", "frequency"};
  development.run = run_development;
  development.needs_mount = true;
  return {web, development};
}

}  // namespace cffs::bench
