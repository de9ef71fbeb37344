#include "replay/import/record_command.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>

#include "core/object/file_descriptor.h"
#include "replay/import/snapshot.h"
#include "replay/import/strace_import.h"
#include "replay/logs/line_reader.h"

namespace cffs::replay {
namespace {

[[noreturn]] void become_strace(int output, const std::vector<std::string>& command) {
  const std::string out = "/dev/fd/" + std::to_string(output);
  std::vector<std::string> words{
      "strace",
      "-f",
      "-ttt",
      "-y",
      "-T",
      "-q",  // but that a process ended is told: its descriptors go with it, its number comes again
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

// Of a command that strace could not start it tells nothing, or that the exec failed, and how its own child ended.
bool is_of_failed_start(const std::string& line) {
  return line.find("+++ ") != std::string::npos ||
         (line.find("execve(") != std::string::npos && line.find(") = -1 ") != std::string::npos);
}

// What a terminal sends is the command's to obey: it ends, or not, and what was recorded until then is kept.
class LeftToTheCommand {
 public:
  LeftToTheCommand() {
    struct sigaction ignored {};
    ignored.sa_handler = SIG_IGN;
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &ignored, &before_[i]);
  }
  ~LeftToTheCommand() { as_before(); }
  LeftToTheCommand(const LeftToTheCommand&) = delete;
  LeftToTheCommand& operator=(const LeftToTheCommand&) = delete;
  void as_before() const {
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
  }

 private:
  static constexpr std::array<int, 3> kSignals{SIGINT, SIGQUIT, SIGHUP};
  std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace

Result<RecordedCommand> record_command(const std::vector<std::string>& command, const std::string& below) {
  std::array<char, PATH_MAX> root{};
  if (::realpath(below.c_str(), root.data()) == nullptr) return fail(errno, below);
  std::array<char, PATH_MAX> here{};
  if (::getcwd(here.data(), here.size()) == nullptr) return fail(errno, "working directory");
  TraceBuilder builder(root.data());
  CFFS_TRY(const auto found, snapshot(root.data()));
  std::vector<InitialEntry> before;
  for (const auto& [path, entry] : found) {
    before.push_back(entry);
    before.back().path = builder.trace().intern(path);
  }
  builder.know_initial(std::move(before));

  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail(errno, "pipe");
  FileDescriptor from_strace(ends[0]), to_us(ends[1]);
  const LeftToTheCommand signals;
  const pid_t pid = ::fork();
  if (pid < 0) return fail(errno, "fork");
  if (pid == 0) {
    signals.as_before();
    become_strace(to_us.get(), command);
  }
  to_us.reset();

  StraceImporter importer(builder, here.data(), true);
  bool began = false;
  const Status read = each_line("/dev/fd/" + std::to_string(from_strace.get()),
                                [&](const std::string& line, std::uint64_t) -> Status {
                                  began = began || !is_of_failed_start(line);
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
  if (!began) {  // strace has said why
    return fail(Error::usage("strace could not run the command: nothing is recorded"));
  }
  const StraceCounts& counts = importer.counts();
  recorded.report.format = "strace";
  recorded.report.lines = counts.lines;
  recorded.report.malformed = counts.malformed;
  recorded.report.samples = counts.samples;
  recorded.report.passed_over = counts.passed_over + builder.counts().outside;
  recorded.report.from_outside = builder.counts().from_outside;
  recorded.report.too_large = builder.counts().too_large;
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
