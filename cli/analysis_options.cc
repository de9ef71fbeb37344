#include "cli/analysis_options.h"

#include <fmt/format.h>

#include <cstdlib>

#include "cli/commands.h"
#include "fusefs/mount_options.h"
#include "replay/analysis/disk_measure.h"

namespace cffs::cli {
namespace {

// "5%" or "0.05%": a share; "20": so many; "auto": neither.
Status parse_support(const std::string& text, std::uint64_t& absolute, double& relative) {
  if (text == "auto") return {};
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const bool share = *end == '%' && end[1] == '\0';
  const bool count =
      *end == '\0' && value >= 1 && value == static_cast<double>(static_cast<std::uint64_t>(value));
  if (text.empty() || end == text.c_str() || !(value > 0) || (share && value > 100) || (!share && !count)) {
    return fail(Error::command_line(
        "--min-support wants auto, a share such as 0.1% or a number of sessions such as 20, not '" + text +
        "'"));
  }
  if (share) relative = value / 100;
  if (!share) absolute = static_cast<std::uint64_t>(value);
  return {};
}

Result<double> parse_exchange(const AnalysisFlags& f, const replay::DiskProfile& disk) {
  if (f.exchange_bytes.empty()) return disk.exchange_bytes();
  if (f.algorithm != "benefit") {
    return fail(
        Error::command_line("--exchange-bytes goes with --algorithm=benefit, not with " + f.algorithm));
  }
  CFFS_TRY(const std::uint64_t bytes, parse_size(f.exchange_bytes, "--exchange-bytes"));
  if (bytes == 0)
    return fail(Error::command_line("--exchange-bytes wants at least 1: nothing would be grouped"));
  return static_cast<double>(bytes);
}

}  // namespace

void add_analysis_flags(CLI::App& command, AnalysisFlags& f) {
  command
      .add_option("--format", f.format,
                  "auto, common, combined, json, w3c, s3, strace, fatrace, opensnoop, trace, transactions")
      ->capture_default_str();
  command
      .add_option("--algorithm", f.algorithm,
                  "apriori: all frequent itemsets; closed: the closed ones; adjacency: the composite-file "
                  "paper's variant; benefit: groups merged while they save more than they waste; none: no "
                  "groups, the plan says only where other files go")
      ->check(CLI::IsMember({"apriori", "closed", "adjacency", "benefit", "none"}))
      ->capture_default_str();
  command
      .add_option("--min-support", f.min_support,
                  "Sessions a set must be in: a number, a share (0.1%), or auto")
      ->capture_default_str();
  command
      .add_option("--min-confidence", f.min_confidence,
                  "Least share of the sessions with a group's most used file that use all of it")
      ->check(between(0.0, 1.0))
      ->capture_default_str();
  command.add_option("--max-size", f.max_size, "Most files of an itemset; 0: any")->capture_default_str();
  command.add_option("--max-bytes", f.max_bytes, "Most bytes of a group")->capture_default_str();
  command
      .add_option("--max-itemsets", f.max_itemsets,
                  "Where there are more, the support is raised; with --algorithm=apriori and a support that "
                  "is given, "
                  "that is an error; 0: no limit")
      ->capture_default_str();
  command
      .add_option(
          "--disk", f.disk,
          "hdd, cloud, ssd: the disk that is judged for, and that prices a positioning; this: the one "
          "of --disk-at, measured")
      ->check(CLI::IsMember({"hdd", "cloud", "ssd", "network", "this"}))
      ->capture_default_str();
  command
      .add_option("--disk-at", f.disk_at,
                  "With --disk=this: a store, or another directory of the disk; a few seconds of reads")
      ->capture_default_str();
  command
      .add_option(
          "--reading", f.reading,
          "What is read where a file is not in the cache: group: its group; mount: itself, its group or "
          "its composite, as a mount decides on that disk")
      ->check(CLI::IsMember({"group", "mount"}))
      ->capture_default_str();
  command.add_option("--exchange-bytes", f.exchange_bytes,
                     "With --algorithm=benefit: bytes that are worth a positioning, instead of the disk's");
  command.add_option("--rest-bytes", f.rest_bytes,
                     "Most bytes of a group of other files, those of one directory; 0: each is alone");
  command.add_option("--table-bytes", f.table_bytes,
                     "Files of at most so many bytes are in no group: they stay in the table, as far as the "
                     "store's --inline-max allows; default 0");
  command.add_option("--stream", f.stream, "Whose accesses make a session: auto, client, user, process, one")
      ->check(CLI::IsMember({"auto", "client", "user", "process", "one"}))
      ->capture_default_str();
  command
      .add_option("--session-gap", f.session_gap,
                  "Seconds without access that end a session; auto: 1800 for web logs, 5 for traces")
      ->capture_default_str();
  command.add_option("--session-max-files", f.session_max_files, "Larger sessions are set apart")
      ->capture_default_str();
  command.add_option("--crawlers", f.crawlers, "apart: sessions of crawlers are not mined; mixed: they are")
      ->check(CLI::IsMember({"apart", "mixed"}))
      ->capture_default_str();
  command.add_option("--batch", f.batch, "Accesses of a batch, with --algorithm=adjacency")
      ->check(CLI::Range(std::size_t{1}, std::size_t{100'000'000}))
      ->capture_default_str();
  command.add_option("--below", f.below,
                     "Of traces: only files below this directory; paths are relative to it");
  command.add_option("--prefix", f.prefix,
                     "Put in front of every path: where the site lies in the store, for instance htdocs/");
  command.add_option("--max-bad", f.max_bad, "Share of malformed lines from which on a log is refused")
      ->check(between(0.0, 1.0))
      ->capture_default_str();
}

Result<replay::DiskProfile> judged_disk(const AnalysisFlags& f) {
  if (f.disk == "this") return replay::measure_disk(f.disk_at);
  return *replay::find_disk(f.disk);
}

replay::Reading judged_reading(const AnalysisFlags& f) {
  return f.reading == "mount" ? replay::Reading::mount : replay::Reading::group;
}

std::string described(const replay::DiskProfile& disk) {
  return fmt::format("{:.3f} ms a place, {:.0f} MB/s: a place is worth {}", disk.seek_ms,
                     disk.bytes_per_second / 1e6,
                     human_bytes(static_cast<std::uint64_t>(disk.exchange_bytes())));
}

Result<replay::AnalysisOptions> analysis_options(const AnalysisFlags& f, const replay::DiskProfile& disk) {
  replay::AnalysisOptions o;
  const AnalysisFlags usual;
  if (f.disk_at != usual.disk_at && f.disk != "this")
    return fail(Error::command_line("--disk-at goes with --disk=this, not with " + f.disk));
  if (f.batch != usual.batch && f.algorithm != "adjacency")
    return fail(Error::command_line("--batch goes with --algorithm=adjacency, not with " + f.algorithm));
  const auto format = replay::log_format(f.format);
  if (!format) {
    return fail(Error::command_line("unknown format '" + f.format +
                                    "'; there is: auto, common, combined, json, w3c, s3, strace, fatrace, "
                                    "opensnoop, trace, transactions"));
  }
  o.reader.format = *format;
  if (f.stream == "client") o.reader.stream = replay::StreamBy::client;
  if (f.stream == "user") o.reader.stream = replay::StreamBy::user;
  if (f.stream == "process") o.reader.stream = replay::StreamBy::process;
  o.one_stream = f.stream == "one";
  o.reader.below = f.below;
  o.reader.prefix = f.prefix;
  if (!f.prefix.empty() && !f.prefix.ends_with('/')) o.reader.prefix += '/';
  o.adjacency = f.algorithm == "adjacency";
  if (!o.adjacency) o.mining.algorithm = f.algorithm;
  CFFS_TRY_VOID(parse_support(f.min_support, o.mining.min_support, o.mining.relative_support));
  if (o.adjacency && o.mining.min_support > 0) {
    return fail(Error::command_line("--algorithm=adjacency wants --min-support as a share, for instance 5%"));
  }
  if (o.mining.relative_support > 0) o.adjacent.support = o.mining.relative_support;
  o.adjacent.batch = f.batch;
  if (f.max_size > 0) o.adjacent.max_size = f.max_size;
  o.mining.max_size = f.max_size;
  o.mining.max_itemsets = f.max_itemsets;
  o.mining.selection.min_confidence = f.min_confidence;
  CFFS_TRY(o.mining.selection.max_bytes, parse_size(f.max_bytes, "--max-bytes"));
  CFFS_TRY(o.mining.exchange_bytes, parse_exchange(f, disk));
  if (!f.rest_bytes.empty()) {
    CFFS_TRY(o.rest_bytes, parse_size(f.rest_bytes, "--rest-bytes"));
  }
  if (!f.table_bytes.empty()) {
    CFFS_TRY(o.mining.table_bytes, parse_size(f.table_bytes, "--table-bytes"));
  }
  if (f.session_gap != "auto") {
    char* end = nullptr;
    const double seconds = std::strtod(f.session_gap.c_str(), &end);
    if (f.session_gap.empty() || *end != '\0' || !(seconds > 0) || seconds > 1e9) {
      return fail(Error::command_line("--session-gap wants auto or seconds, not '" + f.session_gap + "'"));
    }
    o.session_gap_ms = static_cast<std::int64_t>(seconds * 1000);
  }
  o.session_max_files = f.session_max_files;
  o.crawlers = f.crawlers == "mixed" ? replay::Crawlers::mixed : replay::Crawlers::apart;
  o.max_bad = f.max_bad;
  return o;
}

}  // namespace cffs::cli
