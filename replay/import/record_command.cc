#include "replay/import/record_command.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <filesystem>

#include "core/object/file_descriptor.h"
#include "replay/import/strace_import.h"
#include "replay/logs/line_reader.h"

namespace cffs::replay {
namespace {

// The tree as it is, without leaving its file system.
Result<std::vector<InitialEntry>> snapshot(const std::string& root, TraceBuilder& builder) {
  namespace stdfs = std::filesystem;
  std::vector<InitialEntry> entries;
  std::error_code error;
  const auto options = stdfs::directory_options::skip_permission_denied;
  for (auto it = stdfs::recursive_directory_iterator(root, options, error);
       it != stdfs::recursive_directory_iterator(); it.increment(error)) {
    if (error) return fail(error.value(), root);
    const auto status = it->symlink_status(error);
    InitialEntry entry;
    entry.mode = static_cast<std::uint32_t>(status.permissions()) & 07777;
    if (stdfs::is_symlink(status)) {
      entry.kind = 'l';
      entry.target = stdfs::read_symlink(it->path(), error).string();
    } else if (stdfs::is_directory(status)) {
      entry.kind = 'd';
    } else if (stdfs::is_regular_file(status)) {
      entry.size = it->file_size(error);
    } else {
      continue;
    }
    if (const auto place = builder.trace_path(it->path().string())) {
      entry.path = *place;
      entries.push_back(std::move(entry));
    }
  }
  if (error) return fail(error.value(), root);
  return entries;
}

[[noreturn]] void become_strace(int output, const std::vector<std::string>& command) {
  const std::string out = "/dev/fd/" + std::to_string(output);
  std::vector<std::string> words{"strace",
                                 "-f",
                                 "-ttt",
                                 "-y",
                                 "-T",
                                 "-qq",
                                 "-s",
                                 "0",
                                 "--seccomp-bpf",
                                 "-e",
                                 "trace=%file,%desc,%process",
                                 "-e",
                                 "signal=none",
                                 "-o",
                                 out,
                                 "--"};
  words.insert(words.end(), command.begin(), command.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  (void)::fcntl(output, F_SETFD, 0);
  ::execvp("strace", argv.data());
  ::_exit(127);
}

}  // namespace

Result<RecordedCommand> record_command(const std::vector<std::string>& command, const std::string& below) {
  std::array<char, PATH_MAX> root{};
  if (::realpath(below.c_str(), root.data()) == nullptr) return fail(errno, below);
  std::array<char, PATH_MAX> here{};
  if (::getcwd(here.data(), here.size()) == nullptr) return fail(errno, "working directory");
  TraceBuilder builder(root.data());
  CFFS_TRY(auto before, snapshot(root.data(), builder));
  builder.know_initial(std::move(before));

  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail(errno, "pipe");
  FileDescriptor from_strace(ends[0]), to_us(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return fail(errno, "fork");
  if (pid == 0) become_strace(to_us.get(), command);
  to_us.reset();

  StraceImporter importer(builder, here.data(), true);
  const Status read = each_line("/dev/fd/" + std::to_string(from_strace.get()),
                                [&](const std::string& line, std::uint64_t) -> Status {
                                  importer.line(line, static_cast<std::uint64_t>(pid));
                                  return {};
                                });
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  importer.finish();
  if (!read) return fail(read.error());
  RecordedCommand recorded;
  recorded.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (recorded.exit_code == 127 && importer.counts().lines == 0) {
    return fail(
        Error::usage("cannot run strace, which does the recording; install it (apt-get install strace)"));
  }
  const StraceCounts& counts = importer.counts();
  recorded.report.format = "strace";
  recorded.report.lines = counts.lines;
  recorded.report.malformed = counts.malformed;
  recorded.report.samples = counts.samples;
  recorded.report.passed_over = counts.passed_over + builder.counts().outside;
  recorded.report.from_outside = builder.counts().from_outside;
  recorded.report.surprises = builder.counts().surprises;
  recorded.report.first_surprise = builder.counts().first_surprise;
  recorded.trace = builder.finish();
  std::string line;
  for (const std::string& word : command) line += (line.empty() ? "" : " ") + word;
  recorded.trace.about["source"] = line;
  recorded.trace.about["format"] = "command";
  return recorded;
}

}  // namespace cffs::replay
