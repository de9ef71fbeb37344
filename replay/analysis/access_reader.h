// Accesses from logs of any known kind: web logs (Common, Combined), strace output, the same calls tab-separated, trace
// files, recordings of a whole machine (fatrace, opensnoop), and transactions (one a line, item numbers, as frequent-itemset programs exchange them). Plain or compressed, one
// after the other.
//
// What counts as an access: of a web log a GET answered 200, 206 or 304; of a trace a file opened for reading or run; of
// fatrace a file read, of opensnoop one opened.
// Error responses and other methods are counted and passed over; crawlers are marked. Memory: one entry for each
// distinct file; a trace file is held whole while it is read, all else is streamed.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/error.h"
#include "grouping/mining/sessions.h"
#include "replay/logs/access_log.h"
#include "replay/logs/fatrace_events.h"
#include "replay/logs/log_format.h"
#include "replay/logs/strace_line.h"

namespace cffs::replay {

enum class StreamBy { client, user, process };

struct AccessReaderOptions {
  LogFormat format = LogFormat::automatic;
  std::optional<StreamBy> stream;  // nullopt: client for web logs, process for traces
  std::string below;  // of traces only files below this directory count; their paths are relative to it
  std::size_t most_files =
      8u << 20;        // different paths that are told apart: what is known of them is in memory
  std::string prefix;  // put in front of every path: where the site lies in the store
};

struct LogInput {
  std::string name;  // as given, without directories
  LogFormat format = LogFormat::automatic;
  std::uint64_t hash = 0;  // of its lines
  std::uint64_t lines = 0, malformed = 0;
  std::uint64_t accesses = 0;
  std::uint64_t errors = 0;  // responses other than 200, 206, 304; failed calls are not logged apart
  std::uint64_t others =
      0;  // well-formed, but no access: other methods, calls, files outside `below`, paths too long
  std::int64_t first_ms = 0, last_ms = 0;
  std::vector<std::string> samples;  // of malformed lines, with their numbers
  std::uint64_t bytes = 0;           // of the file, compressed as it is, that were read
  std::uint64_t bytes_in_all = 0;    // 0: it is no file
};

struct LoggedFile {
  std::string path;  // relative
  std::uint64_t bytes = 0;
  std::uint64_t accesses = 0;
};

// Web logs may name both /a and /a/b: where a is a directory, its file is a/index.html. Files whose name is taken by
// that are left with an empty path, and so are directories in a recording of a whole machine, which does not tell them from
// files.
void settle_directories(std::vector<LoggedFile>& files, LogFormat format);
// ENOSPC, as a sentence: more than `most` different files.
Status check_files(const std::string& log, std::size_t files, std::size_t most);

class AccessReader {
 public:
  using Visit = std::function<void(const grouping::Access&)>;
  using Progress = std::function<void(const LogInput&)>;

  explicit AccessReader(AccessReaderOptions options) : options_(std::move(options)) {}

  // ENOSPC, as a sentence: more than most_files.
  Status read(const std::string& path, const Visit& visit, const Progress& progress = {});
  // Call after the last read().
  void settle_directories() { cffs::replay::settle_directories(files_, format_); }

  const std::vector<LogInput>& inputs() const { return inputs_; }
  const std::vector<LoggedFile>& files() const { return files_; }  // index: item
  std::vector<LoggedFile> take_files() { return std::move(files_); }
  // Whether its size is that of a whole reply: ranges of it say no more.
  bool has_full_reply(grouping::Item item) const { return full_reply_[item]; }
  // Of the log that is being read, or was last.
  LogFormat format() const { return format_; }

 private:
  Status read_trace_file(const std::string& path, const Visit& visit);
  grouping::Item file(std::string path);
  bool web_line(std::string_view line, LogInput& input, const Visit& visit);
  bool call_line(const std::optional<FileCall>& call, LogInput& input, const Visit& visit);
  bool transaction_line(std::string_view line, LogInput& input, const Visit& visit);
  bool is_crawler(std::string_view agent);
  std::optional<std::string> below(const std::string& path) const;

  const AccessReaderOptions options_;
  LogFormat format_ = LogFormat::automatic;
  std::vector<LogInput> inputs_;
  std::vector<LoggedFile> files_;
  AccessLog access_log_;
  FatraceEvents fatrace_;
  StraceClock strace_clock_;
  std::unordered_map<std::string, grouping::Item> by_path_;
  std::vector<bool> full_reply_;
  std::unordered_map<std::uint64_t, bool> agents_;  // hash -> crawler
  std::map<std::pair<std::uint64_t, std::int64_t>, std::pair<std::string, std::uint64_t>> descriptors_;
};

}  // namespace cffs::replay
