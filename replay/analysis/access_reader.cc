#include "replay/analysis/access_reader.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <unordered_set>

#include "core/base/checksum.h"
#include "replay/logs/file_call.h"
#include "replay/logs/line_reader.h"
#include "replay/logs/line_sample.h"
#include "replay/logs/log_format.h"
#include "replay/logs/logged_request.h"
#include "replay/logs/opensnoop_line.h"
#include "replay/logs/site_path.h"
#include "replay/trace/trace_file.h"

namespace cffs::replay {
namespace {

constexpr std::size_t kSamples = 5;

bool is_too_long(std::string_view path) { return path.size() > kLongestPath; }

}  // namespace

grouping::Item AccessReader::file(std::string path) {
  const auto [it, fresh] = by_path_.try_emplace(std::move(path), static_cast<grouping::Item>(files_.size()));
  if (fresh) {
    files_.push_back({it->first, 0, 0});
    full_reply_.push_back(false);
  }
  return it->second;
}

bool AccessReader::is_crawler(std::string_view agent) {
  if (agent.empty()) return false;
  const std::uint64_t key = checksum(agent);
  if (const auto it = agents_.find(key); it != agents_.end()) return it->second;
  std::string lower(agent);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  // Words by which programs name themselves; browsers have none of them.
  constexpr std::array<std::string_view, 24> kWords = {
      "bot",     "crawl",  "spider", "slurp",      "archiver", "monitor", "wget",      "curl/",
      "libwww",  "python", "java/",  "go-http",    "scan",     "feed",    "validator", "httpclient",
      "fetcher", "index",  "check",  "webcollage", "nutch",    "search",  "perl",      "ruby"};
  const bool crawler = std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) {
    return lower.find(word) != std::string::npos;
  });
  constexpr std::size_t kMostAgents = 1u << 16;
  if (agents_.size() < kMostAgents) agents_.emplace(key, crawler);
  return crawler;
}

bool AccessReader::web_line(std::string_view line, LogInput& input, const Visit& visit) {
  const auto record = access_log_.parse(line);
  if (!record) return false;
  const bool got = record->status == 200 || record->status == 206 || record->status == 304;
  const std::string_view path = path_of_target(record->target);
  const bool robots = path == "/robots.txt";
  if (record->status != 0 && !got) {
    ++input.errors;
    if (!robots) return true;
  } else if (record->method != "GET" || !got || path.empty() || is_too_long(path)) {
    ++input.others;
    return true;
  }
  grouping::Access access;
  access.time_ms = record->time_ms;
  const bool by_user = options_.stream == StreamBy::user;
  access.stream = checksum(by_user ? record->user : record->client);
  access.crawler = robots || is_crawler(record->agent);
  access.item = file(options_.prefix + file_of_url_path(path));
  if (got) {
    LoggedFile& f = files_[access.item];
    ++f.accesses;
    const bool full = record->status == 200;
    if (full && !full_reply_[access.item]) f.bytes = 0;  // a whole reply knows better than ranges
    if (full) full_reply_[access.item] = true;
    if (full || !full_reply_[access.item]) f.bytes = std::max(f.bytes, record->size);
    ++input.accesses;
  }
  if (access.time_ms != 0) {
    if (input.first_ms == 0) input.first_ms = access.time_ms;
    input.last_ms = std::max(input.last_ms, access.time_ms);
  }
  visit(access);
  return true;
}

std::optional<std::string> AccessReader::below(const std::string& path) const {
  if (options_.below.empty()) return path.substr(std::min(path.find_first_not_of('/'), path.size()));
  if (!path.starts_with(options_.below)) return {};
  std::string_view rest = std::string_view(path).substr(options_.below.size());
  if (!options_.below.ends_with('/') && !rest.starts_with('/')) return {};
  rest.remove_prefix(std::min(rest.find_first_not_of('/'), rest.size()));
  return std::string(rest);
}

bool AccessReader::call_line(const std::optional<FileCall>& call, LogInput& input, const Visit& visit) {
  if (!call) return false;
  const std::pair<std::uint64_t, std::int64_t> descriptor{call->process, call->descriptor};
  std::string absolute = call->path;
  if (call->kind == FileCall::Kind::read && absolute.empty()) {
    if (const auto it = descriptors_.find(descriptor); it != descriptors_.end()) absolute = it->second.first;
  }
  const auto path = absolute.empty() ? std::nullopt : below(absolute);
  if (call->kind == FileCall::Kind::other || !path || path->empty() || is_too_long(absolute)) {
    ++input.others;
    return true;
  }
  if (call->kind == FileCall::Kind::size) {
    // Only of files that are read, too: the others are not the plan's business.
    if (const auto it = by_path_.find(options_.prefix + *path); it != by_path_.end()) {
      files_[it->second].bytes = std::max(files_[it->second].bytes, call->bytes);
    }
    ++input.others;
    return true;
  }
  if (call->kind == FileCall::Kind::read) {
    // A file is at least as long as what was read of it since it was opened.
    const auto it = descriptors_.find(descriptor);
    if (it != descriptors_.end() && it->second.first == absolute) {
      it->second.second += call->bytes;
      LoggedFile& f = files_[file(options_.prefix + *path)];
      f.bytes = std::max(f.bytes, it->second.second);
    }
    ++input.others;
    return true;
  }
  constexpr std::size_t kMostDescriptors = 1u << 16;
  if (descriptors_.size() > kMostDescriptors) descriptors_.clear();
  descriptors_[descriptor] = {absolute, 0};
  grouping::Access access;
  access.time_ms = call->time_ms;
  access.stream = call->process;
  access.item = file(options_.prefix + *path);
  ++files_[access.item].accesses;
  ++input.accesses;
  if (input.accesses == 1) input.first_ms = access.time_ms;
  input.last_ms = std::max(input.last_ms, access.time_ms);
  visit(access);
  return true;
}

bool AccessReader::transaction_line(std::string_view line, LogInput& input, const Visit& visit) {
  // Each line is a stream of its own; its time keeps the order.
  const std::uint64_t stream = input.lines;
  for (std::size_t at = line.find_first_not_of(' '); at < line.size(); at = line.find_first_not_of(' ', at)) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    const std::string_view word = line.substr(at, end - at);
    if (word.find_first_not_of("0123456789") != std::string_view::npos || word.size() > 18) return false;
    at = end;
    const grouping::Item item = file(std::string(word));
    ++files_[item].accesses;
    ++input.accesses;
    visit({static_cast<std::int64_t>(stream), stream, item, false});
  }
  return true;
}

// A trace file: opens for reading, whole-file reads, and first reads by path count.
Status AccessReader::read_trace_file(const std::string& path, const Visit& visit) {
  CFFS_TRY(const Trace trace, read_trace(path));
  LogInput input;
  input.name = path.substr(path.rfind('/') + 1);
  const auto about = [&](const char* name) {
    const auto it = trace.about.find(name);
    return it == trace.about.end() ? std::string() : it->second;
  };
  input.format = log_format(about("format")).value_or(LogFormat::trace);
  if (input.format == LogFormat::strace || input.format == LogFormat::automatic)
    input.format = LogFormat::trace;
  format_ = input.format;
  std::unordered_map<PathId, std::uint64_t> sizes;
  for (const InitialEntry& entry : trace.initial) sizes[entry.path] = entry.size;
  for (const Operation& o : trace.operations) {
    ++input.lines;
    input.hash = (input.hash ^ static_cast<std::uint64_t>(o.time_ns) ^ (std::uint64_t{o.path} << 32)) *
                 0x9e3779b97f4a7c15u;
    const bool opens = o.call == Call::open && (o.flags & (O_ACCMODE | O_DIRECTORY)) == O_RDONLY;
    const bool reads =
        o.call == Call::fetch || (o.call == Call::read && o.handle == kNoHandle && o.offset == 0);
    if (o.result < 0 || o.path == kNoPath || !(opens || reads) || trace.path(o.path).empty()) {
      ++input.others;
      continue;
    }
    const auto inside = below("/" + trace.path(o.path));
    if (!inside || inside->empty() || is_too_long(*inside)) {
      ++input.others;
      continue;
    }
    grouping::Access access;
    access.time_ms = o.time_ns / 1'000'000;
    access.stream = o.client;
    access.item = file(options_.prefix + *inside);
    LoggedFile& f = files_[access.item];
    ++f.accesses;
    const auto known = sizes.find(o.path);
    f.bytes = std::max({f.bytes, known == sizes.end() ? 0 : known->second,
                        opens ? 0 : static_cast<std::uint64_t>(o.result)});
    if (input.accesses++ == 0) input.first_ms = access.time_ms;
    input.last_ms = std::max(input.last_ms, access.time_ms);
    CFFS_TRY_VOID(check_files(path, files_.size(), options_.most_files));
    visit(access);
  }
  inputs_.push_back(std::move(input));
  return {};
}

Status check_files(const std::string& log, std::size_t files, std::size_t most) {
  if (files <= most) return {};
  return fail(Error::usage(fmt::format(
      "{}: more than {} different files; --below takes those of one directory, or give it less of the log",
      log, most)));
}

Status AccessReader::read(const std::string& path, const Visit& visit, const Progress& progress) {
  if (is_trace_file(path)) return read_trace_file(path, visit);
  CFFS_TRY(LineReader reader, LineReader::open(path));
  const std::size_t slash = path.rfind('/');
  access_log_ = AccessLog();
  fatrace_ = FatraceEvents();
  strace_clock_ = StraceClock();
  LogInput input;
  input.name = path.substr(slash == std::string::npos ? 0 : slash + 1);
  input.format = options_.format;
  input.bytes_in_all = reader.bytes_in_all();
  constexpr std::uint64_t kGiveUp = 1000;
  std::uint64_t unknown = 0;  // lines before the format is known
  // Those of them that an access log has between its requests: messages of the server, S3's other operations.
  std::uint64_t no_requests = 0;
  for (;;) {
    CFFS_TRY(const auto line, reader.next());
    if (!line) break;
    ++input.lines;
    input.hash = checksum(*line) + input.hash * 0x9e3779b97f4a7c15u;
    if (progress && input.lines % 8192 == 0) {
      input.bytes = reader.bytes_read();
      progress(input);
    }
    if (line->empty() || line->starts_with('#')) {
      (void)access_log_.parse(*line);  // may name the fields of those that follow
      continue;
    }
    bool good = false;
    if (input.format == LogFormat::automatic) {
      const auto request = access_log_.parse(*line);
      input.format = request && !request->method.empty() ? access_log_.format() : format_of_line(*line);
      if (input.format == LogFormat::automatic) {
        ++unknown;
        if (request && unknown < kGiveUp) {
          ++no_requests;
          continue;
        }
      } else {
        (is_access_log(input.format) ? input.others : input.malformed) += no_requests;
      }
    }
    format_ = input.format;
    switch (input.format) {
      case LogFormat::common:
      case LogFormat::combined:
      case LogFormat::json:
      case LogFormat::w3c:
      case LogFormat::s3:
        good = web_line(*line, input, visit);
        break;
      case LogFormat::strace:
        good = call_line(parse_strace_line(*line, &strace_clock_), input, visit);
        break;
      case LogFormat::trace:
        good = call_line(parse_calls_line(*line), input, visit);
        break;
      case LogFormat::fatrace:
        good = call_line(fatrace_.parse(*line), input, visit);
        break;
      case LogFormat::opensnoop:
        good = call_line(parse_opensnoop_line(*line), input, visit);
        break;
      case LogFormat::transactions:
        good = transaction_line(*line, input, visit);
        break;
      case LogFormat::automatic:
        break;
    }
    CFFS_TRY_VOID(check_files(path, files_.size(), options_.most_files));
    if (good) continue;
    ++input.malformed;
    if (input.samples.size() < kSamples) {
      input.samples.push_back(fmt::format("{} line {}: {}", input.name, input.lines, line_sample(*line)));
    }
    if (unknown >= kGiveUp) break;
  }
  if (input.format == LogFormat::automatic && input.lines > 0 && unknown > 0) {
    return fail(Error::usage(fmt::format(
        "{}: its first {} lines are of no known format (Common, Combined, JSON, W3C, S3, strace, fatrace, "
        "opensnoop, trace, transactions); name it with --format if it is one of them",
        path, unknown)));
  }
  inputs_.push_back(std::move(input));
  return {};
}

void settle_directories(std::vector<LoggedFile>& files, LogFormat format) {
  // Parts of the files' own paths, not copies: of a path of 2,000 levels these would take a thousand times its bytes.
  std::unordered_set<std::string_view> directories;
  std::unordered_set<std::string> paths;
  for (const LoggedFile& f : files) {
    const std::string_view path = f.path;
    for (std::size_t slash = path.rfind('/'); slash != path.npos && slash > 0;
         slash = path.rfind('/', slash - 1)) {
      if (!directories.insert(path.substr(0, slash)).second) break;
    }
  }
  // Of the paths as they were read those count that may be asked for.
  for (const LoggedFile& f : files) {
    if (f.path.ends_with("/index.html")) paths.insert(f.path);
  }
  std::vector<LoggedFile*> of_directories;  // found before any path changes
  for (LoggedFile& f : files) {
    if (directories.contains(f.path)) of_directories.push_back(&f);
  }
  directories.clear();
  for (LoggedFile* one : of_directories) {
    LoggedFile& f = *one;
    const std::string index = f.path + "/index.html";
    f.path = is_of_machine(format) || paths.contains(index) ? std::string() : index;
  }
}

}  // namespace cffs::replay
