#include <fmt/format.h>
#include <sys/stat.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/replay_report.h"
#include "core/base/printable.h"
#include "replay/import/load_trace.h"
#include "replay/import/record_command.h"
#include "replay/model/trace_slice.h"
#include "replay/trace/trace_file.h"
#include "replay/trace/trace_summary.h"

namespace cffs::cli {
namespace {

constexpr double kEver = 1e18;  // seconds

struct TraceOptions {
  std::vector<std::string> inputs;
  std::string output, directory = ".";
  replay::LoadOptions load;
  replay::SliceOptions slice;
  std::uint64_t limit = 20;
  bool json = false;
};

std::string text_of(std::int64_t result) {
  return result < 0 ? std::strerror(static_cast<int>(-result)) : std::to_string(result);
}

void print_report(const replay::Trace& trace, const replay::LoadReport& report, const std::string& output) {
  const replay::TraceSummary s = replay::summary_of(trace);
  fmt::print("{}: {} operations of {} clients in {:.1f} s; before them {} files in {} directories, {}\n",
             output, s.operations, s.clients, s.seconds, s.initial_files, s.initial_directories,
             human_bytes(s.initial_bytes));
  fmt::print("  {} lines: {} malformed, {} without an operation on the tree\n", report.lines,
             report.malformed, report.passed_over);
  for (const std::string& sample : report.samples) fmt::print("  malformed: {}\n", sample);
  print_unlisted(report);
  if (report.surprises > 0) {
    fmt::print("  {} outcomes do not follow from what was recorded; the first: {}\n", report.surprises,
               report.first_surprise);
  }
}

Status import(const TraceOptions& o) {
  CFFS_TRY_VOID(apart_from(o.output, o.inputs));
  CFFS_TRY_VOID(apart_from(o.output, {o.load.initial}));
  replay::LoadReport report;
  ProgressLine progress;
  CFFS_TRY(const replay::Trace trace, replay::load_trace(o.inputs, o.load, report, [&](std::uint64_t lines) {
             progress.show(fmt::format("{} lines", lines));
           }));
  CFFS_TRY_VOID(replay::write_trace(o.output, trace));
  progress.clear();
  print_report(trace, report, o.output);
  return {};
}

Result<int> record(const TraceOptions& o) {
  CFFS_TRY(const replay::RecordedCommand recorded, replay::record_command(o.inputs, o.directory));
  CFFS_TRY_VOID(replay::write_trace(o.output, recorded.trace));
  std::fflush(stdout);
  print_report(recorded.trace, recorded.report, o.output);
  return recorded.exit_code;
}

Result<replay::Trace> load(const TraceOptions& o) {
  replay::LoadReport report;
  return replay::load_trace(o.inputs, o.load, report);
}

Status show(const TraceOptions& o) {
  CFFS_TRY(replay::Trace trace, load(o));
  const std::uint64_t last = std::min<std::uint64_t>(trace.operations.size(), o.slice.last);
  std::uint64_t shown = 0;
  for (std::uint64_t i = std::max<std::uint64_t>(1, o.slice.first); i <= last; ++i) {
    const replay::Operation& op = trace.operations[i - 1];
    const double seconds = static_cast<double>(op.time_ns) / 1e9;
    if (seconds < o.slice.from_s || seconds >= o.slice.to_s) continue;
    if (o.limit != 0 && shown++ == o.limit) {
      fmt::print("... --limit=0 shows all, --first=, --from= others\n");
      break;
    }
    std::string what;
    const bool of_process = op.call == replay::Call::spawn || op.call == replay::Call::reap;
    if (of_process) what += " client " + printable(trace.clients()[op.handle]);
    if (op.path != replay::kNoPath) what += " /" + printable(trace.path(op.path));
    if (op.path2 != replay::kNoPath) what += " -> " + printable(trace.path(op.path2));
    if (op.handle != replay::kNoHandle && !of_process) what += fmt::format(" #{}", op.handle);
    if (op.call == replay::Call::read || op.call == replay::Call::write)
      what += fmt::format(" {}+{}", op.offset, op.length);
    fmt::print("{:>8} {:>12.6f} {:<10} {:<9}{} = {}\n", i, seconds, printable(trace.clients()[op.client]),
               replay::name_of(op.call), what, text_of(op.result));
  }
  return {};
}

Status stat(const TraceOptions& o) {
  CFFS_TRY(const replay::Trace trace, load(o));
  const replay::TraceSummary s = replay::summary_of(trace);
  if (o.json) {
    nlohmann::ordered_json calls;
    for (std::size_t i = 0; i < replay::kCalls; ++i) {
      const auto& c = s.calls[i];
      if (c.calls == 0) continue;
      calls[std::string(replay::name_of(static_cast<replay::Call>(i)))] = {
          {"calls", c.calls}, {"failed", c.failed}, {"bytes", c.bytes}};
    }
    fmt::print("{}\n", nlohmann::ordered_json{{"about", trace.about},
                                              {"operations", s.operations},
                                              {"clients", s.clients},
                                              {"seconds", s.seconds},
                                              {"idle_seconds", s.idle_seconds},
                                              {"paths_touched", s.paths_touched},
                                              {"files_opened", s.files_opened},
                                              {"initial_files", s.initial_files},
                                              {"initial_directories", s.initial_directories},
                                              {"initial_symlinks", s.initial_symlinks},
                                              {"initial_bytes", s.initial_bytes},
                                              {"changes_tree", s.changes},
                                              {"calls", calls}}
                           .dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    return {};
  }
  for (const auto& [name, value] : trace.about) fmt::print("{:<16} {}\n", printable(name), printable(value));
  fmt::print("{:<16} {} in {:.1f} s, {:.1f} s of them idle\n", "operations", s.operations, s.seconds,
             s.idle_seconds);
  fmt::print("{:<16} {}\n{:<16} {} touched, {} opened\n", "clients", s.clients, "paths", s.paths_touched,
             s.files_opened);
  fmt::print("{:<16} {} files in {} directories, {} symlinks, {}\n", "initial tree", s.initial_files,
             s.initial_directories, s.initial_symlinks, human_bytes(s.initial_bytes));
  fmt::print("\n{:<12} {:>10} {:>10} {:>12}\n", "call", "calls", "failed", "bytes");
  for (std::size_t i = 0; i < replay::kCalls; ++i) {
    const auto& c = s.calls[i];
    if (c.calls == 0) continue;
    fmt::print("{:<12} {:>10} {:>10} {:>12}\n", replay::name_of(static_cast<replay::Call>(i)), c.calls,
               c.failed, c.bytes > 0 ? human_bytes(c.bytes) : "");
  }
  return {};
}

Status slice(const TraceOptions& o) {
  CFFS_TRY_VOID(apart_from(o.output, o.inputs));
  CFFS_TRY(const replay::Trace trace, load(o));
  const replay::Trace part = replay::slice(trace, o.slice);
  if (part.operations.empty()) {
    return fail(Error::usage("no operation of " + o.inputs.front() +
                             " is in that part; cffs trace stat tells its length"));
  }
  CFFS_TRY_VOID(replay::write_trace(o.output, part));
  const replay::TraceSummary s = replay::summary_of(part);
  fmt::print("{}: {} operations of {} clients in {:.1f} s; before them {} files in {} directories, {}\n",
             o.output, s.operations, s.clients, s.seconds, s.initial_files, s.initial_directories,
             human_bytes(s.initial_bytes));
  return {};
}

void add_range(CLI::App& command, TraceOptions& o) {
  command.add_option("--from", o.slice.from_s, "First second, of recorded time")->check(between(0.0, kEver));
  command.add_option("--to", o.slice.to_s, "End, in seconds of recorded time")->check(between(0.0, kEver));
  command.add_option("--first", o.slice.first, "First operation, counted from 1");
  command.add_option("--last", o.slice.last, "Last operation");
}

void add_output(CLI::App& command, TraceOptions& o) {
  command.add_option("-o,--output", o.output, "The trace to write, an SQLite file")->required();
}

}  // namespace

void add_trace_input_flags(CLI::App& command, replay::LoadOptions& load) {
  command.add_option("--format", load.format, "Of the input")
      ->check(CLI::IsMember({"auto", "trace", "common", "combined", "json", "w3c", "s3", "strace", "calls"}))
      ->capture_default_str();
  command
      .add_option("--below", load.below,
                  "Of recordings: only files below this directory; it becomes the tree's root")
      ->capture_default_str();
  command.add_option("--initial", load.initial,
                     "Of recordings: the tree before, a list of type, mode, size, path; else it is inferred");
}

void add_trace(CLI::App& app, int& exit_code) {
  auto* trace = app.add_subcommand("trace", "Make, look into and cut traces of file-system operations");
  trace->require_subcommand(1);
  auto o = std::make_shared<TraceOptions>();
  const auto finish = [&exit_code](CLI::App* command, auto action) {
    command->callback([action, &exit_code] {
      if (const Status done = action(); !done) exit_code = complain(done.error());
    });
  };

  auto* command = trace->add_subcommand("import", "A web log or strace output becomes a trace");
  command->add_option("LOG", o->inputs, "Plain or compressed; several web logs, or the files of strace -ff")
      ->required();
  add_output(*command, *o);
  add_trace_input_flags(*command, o->load);
  command->add_option("--hosts", o->load.hosts, "Of web logs: copies of the site as virtual hosts")
      ->capture_default_str();
  finish(command, [o] { return import(*o); });

  command =
      trace->add_subcommand("record", "Run a command and record what it does to the files below a directory");
  command->add_option("--below", o->directory, "The tree to record")->capture_default_str();
  add_output(*command, *o);
  command->add_option("COMMAND", o->inputs, "With its arguments, after --")->required();
  command->callback([o, &exit_code] {
    const auto done = record(*o);
    exit_code = done ? *done : complain(done.error());
  });

  command = trace->add_subcommand("show", "Print operations, one a line");
  command->add_option("TRACE", o->inputs)->required()->expected(1);
  add_range(*command, *o);
  command->add_option("--limit", o->limit, "Most lines; 0: all")->capture_default_str();
  finish(command, [o] { return show(*o); });

  command = trace->add_subcommand("stat", "What is in a trace, in numbers");
  command->add_option("TRACE", o->inputs)->required()->expected(1);
  command->add_flag("--json", o->json, "For programs");
  finish(command, [o] { return stat(*o); });

  command =
      trace->add_subcommand("slice", "A part of a trace as a trace, with the tree as it was at its start");
  command->add_option("TRACE", o->inputs)->required()->expected(1);
  add_output(*command, *o);
  add_range(*command, *o);
  command->add_option("--below", o->slice.below, "A directory of the trace, which becomes the root");
  finish(command, [o] { return slice(*o); });
}

}  // namespace cffs::cli
