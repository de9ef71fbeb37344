#include "replay/import/load_trace.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "core/object/file_descriptor.h"
#include "replay/import/calls_import.h"
#include "replay/import/strace_import.h"
#include "replay/import/web_import.h"
#include "replay/logs/line_reader.h"
#include "replay/logs/log_format.h"
#include "replay/trace/trace_file.h"

namespace cffs::replay {
namespace {

std::string recognise(const std::string& file) {
  if (is_trace_file(file)) return "trace";
  auto reader = LineReader::open(file);
  if (!reader) return {};
  constexpr int kLooks = 200;
  for (int i = 0; i < kLooks; ++i) {
    const auto line = reader->next();
    if (!line || !*line) return {};
    const std::string& text = **line;
    if (text.find('\0') != std::string::npos) return {};  // no text
    if (text.starts_with('{') || text.starts_with("#Fields:") || parse_access_line(text)) {
      if (const LogFormat format = format_of_line(text); is_access_log(format))
        return std::string(name_of(format));
    }
    std::size_t tabs = 0;
    for (const char c : text) tabs += c == '\t' ? 1 : 0;
    if (tabs == 8) return "calls";
    if (const LogFormat format = format_of_line(text); is_of_machine(format))
      return std::string(name_of(format));
    if (const auto call = parse_strace(text); call && call->kind == StraceLine::Kind::call) return "strace";
  }
  return {};
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

Result<Trace> load_web(const std::vector<std::string>& files, const LoadOptions& options,
                       LoadReport& report) {
  DocumentTree tree;
  for (const std::string& file : files) CFFS_TRY_VOID(tree.read_log(file));
  tree.settle();
  report.lines = tree.lines();
  report.malformed = tree.malformed();
  report.passed_over = tree.skipped();
  report.samples = tree.malformed_samples();
  if (tree.requests().empty()) {
    return fail(Error::usage(
        fmt::format("{}: {} lines, {} malformed, no successful GET among them; is it an access log?",
                    files.front(), tree.lines(), tree.malformed())));
  }
  report.site_files = tree.files().size();
  report.hosts = options.hosts != 0
                     ? options.hosts
                     : static_cast<unsigned>((options.min_files + report.site_files - 1) / report.site_files);
  tree.repeat(report.hosts);
  return trace_of(tree);
}

Result<Trace> load_recording(const std::vector<std::string>& files, const LoadOptions& options,
                             LoadReport& report, const std::function<void(std::uint64_t)>& progress) {
  if (!options.below.starts_with('/')) {
    return fail(
        Error::command_line("--below=" + options.below + " is not absolute; recordings hold absolute paths"));
  }
  TraceBuilder builder(options.below);
  if (!options.initial.empty()) {
    CFFS_TRY(auto entries, read_initial_tree(options.initial, builder));
    builder.know_initial(std::move(entries));
  }
  if (report.format == "strace") {
    StraceCounts counts;
    CFFS_TRY_VOID(import_strace(files, builder, counts, [&](const StraceCounts& c) {
      if (progress) progress(c.lines);
    }));
    report.lines = counts.lines;
    report.malformed = counts.malformed;
    report.passed_over = counts.passed_over;
    report.samples = counts.samples;
  } else {
    if (files.size() != 1) return fail(Error::command_line("one file of calls at a time, please"));
    CallsCounts counts;
    CFFS_TRY_VOID(import_calls(files.front(), builder, counts, [&](const CallsCounts& c) {
      if (progress) progress(c.lines);
    }));
    report.lines = counts.lines;
    report.malformed = counts.malformed;
    report.passed_over = counts.passed_over;
    report.samples = counts.samples;
  }
  report.passed_over += builder.counts().outside;
  report.surprises = builder.counts().surprises;
  report.first_surprise = builder.counts().first_surprise;
  report.from_outside = builder.counts().from_outside;
  report.too_large = builder.counts().too_large;
  report.unlisted_parents = builder.counts().unlisted_parents;
  report.first_unlisted = builder.counts().first_unlisted;
  return builder.finish();
}

}  // namespace

namespace {

// Inputs are read more than once; what can be read only once (a pipe, standard input) is kept in memory under a name.
Result<std::string> repeatable(const std::string& file, std::vector<FileDescriptor>& kept) {
  struct stat st;
  if (file != "-" && (::stat(file.c_str(), &st) != 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
    return file;
  CFFS_TRY(const std::string bytes, read_whole(file));
  FileDescriptor memory(::memfd_create("cffs-input", MFD_CLOEXEC));
  if (!memory) return fail(errno, file);
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t n = ::write(memory.get(), bytes.data() + at, bytes.size() - at);
    if (n < 0) return fail(errno, file);
    at += static_cast<std::size_t>(n);
  }
  kept.push_back(std::move(memory));
  return proc_path_of(kept.back().get());
}

}  // namespace

Result<Trace> load_trace(const std::vector<std::string>& given, const LoadOptions& options,
                         LoadReport& report, const std::function<void(std::uint64_t)>& progress) {
  report.format = options.format;
  std::vector<FileDescriptor> kept;
  std::vector<std::string> files;
  for (const std::string& file : given) {
    CFFS_TRY(std::string name, repeatable(file, kept));
    files.push_back(std::move(name));
  }
  // Opening it first tells a missing file from an odd one.
  CFFS_TRY(LineReader probe, LineReader::open(files.front()));
  (void)probe;
  if (report.format == "auto") report.format = recognise(files.front());
  if (report.format.empty()) {
    return fail(
        Error::usage(given.front() +
                     " is no trace, web log, strace output or file of calls; name its format with --format "
                     "if it is one of them"));
  }
  if (is_of_machine(log_format(report.format).value_or(LogFormat::automatic))) {
    return fail(
        Error::usage(given.front() + " is a recording of " + report.format +
                     ", which does not say how much was read: it cannot be replayed; cffs analyze and "
                     "cffs evaluate read it"));
  }
  if (report.format == "trace") {
    if (files.size() != 1) return fail(Error::command_line("one trace at a time, please"));
    return read_trace(files.front());
  }
  const bool web = is_access_log(log_format(report.format).value_or(LogFormat::automatic));
  CFFS_TRY(Trace trace,
           web ? load_web(files, options, report) : load_recording(files, options, report, progress));
  if (static_cast<double>(report.malformed) > options.max_bad * static_cast<double>(report.lines)) {
    return fail(Error::usage(fmt::format(
        "{}: {} of {} lines are malformed, the first: {}; is the format {}?", given.front(), report.malformed,
        report.lines, report.samples.empty() ? "" : report.samples.front(), report.format)));
  }
  const bool empty = std::all_of(trace.operations.begin(), trace.operations.end(), [](const Operation& o) {
    return o.call == Call::spawn || o.call == Call::reap || o.call == Call::sync;
  });
  if (empty) {
    return fail(Error::usage(fmt::format("{}: no operation on a file below {} in {} lines; see --below",
                                         given.front(), options.below, report.lines)));
  }
  std::string names;
  for (const std::string& file : given) names += (names.empty() ? "" : " ") + base_name(file);
  trace.about["source"] = names;
  trace.about["format"] = report.format;
  trace.about["lines"] = std::to_string(report.lines);
  trace.about["malformed_lines"] = std::to_string(report.malformed);
  return trace;
}

}  // namespace cffs::replay
