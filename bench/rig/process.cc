#include "bench/rig/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "core/object/file_descriptor.h"

extern char** environ;

namespace cffs::bench {
namespace {

std::vector<char*> argv_of(std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  return argv;
}

// Output goes to `output`, input is empty.
Result<pid_t> spawn(std::vector<std::string> words, int output, const std::string& directory) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  if (!directory.empty()) ::posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
  pid_t pid = 0;
  std::vector<char*> argv = argv_of(words);
  const int problem = ::posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (problem != 0) return fail(problem, "cannot run " + words[0]);
  return pid;
}

}  // namespace

std::string own_program() {
  std::array<char, PATH_MAX> path{};
  const ssize_t n = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  return n > 0 ? std::string(path.data(), static_cast<std::size_t>(n)) : "cffs";
}

Status run(const std::vector<std::string>& command, const std::string& directory) {
  std::string name = (std::filesystem::temp_directory_path() / "cffs-bench-output.XXXXXX").string();
  const FileDescriptor output(::mkostemp(name.data(), O_CLOEXEC));
  if (!output) return fail(errno, name);
  (void)::unlink(name.c_str());
  CFFS_TRY(const pid_t pid, spawn(command, output.get(), directory));
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  std::string words(2000, '\0');
  const off_t size = ::lseek(output.get(), 0, SEEK_END);
  const ssize_t n = ::pread(output.get(), words.data(), words.size(), std::max<off_t>(0, size - 2000));
  words.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  while (words.ends_with('\n')) words.pop_back();
  const std::string last = words.substr(words.rfind('\n') + 1);
  std::string line;
  for (const std::string& word : command) line += (line.empty() ? "" : " ") + word;
  return fail(Error::usage(fmt::format("'{}' ended with {}{}{}", line.substr(0, 300),
                                       WIFEXITED(status) ? fmt::format("status {}", WEXITSTATUS(status))
                                                         : fmt::format("signal {}", WTERMSIG(status)),
                                       last.empty() ? "" : ": ", last)));
}

Status run_shell(const std::string& line, const std::string& directory) {
  return run({"/bin/sh", "-c", line}, directory);
}

bool is_installed(const std::string& command) {
  const char* path = std::getenv("PATH");
  std::string rest = path == nullptr ? "/usr/sbin:/usr/bin:/sbin:/bin" : path;
  rest += ":/usr/sbin:/sbin";
  while (!rest.empty()) {
    const std::string directory = rest.substr(0, rest.find(':'));
    rest.erase(0, std::min(directory.size() + 1, rest.size()));
    if (::access((directory + "/" + command).c_str(), X_OK) == 0) return true;
  }
  return false;
}

Result<Server> Server::start(const std::vector<std::string>& command) {
  const FileDescriptor null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  Server server;
  CFFS_TRY(server.pid_, spawn(command, null.get(), {}));
  return server;
}

bool Server::is_running() {
  if (pid_ == 0) return false;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) == 0) return true;
  pid_ = 0;
  return false;
}

void Server::wait() {
  int status = 0;
  while (pid_ != 0 && ::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
}

void Server::stop() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGTERM);
  wait();
}

}  // namespace cffs::bench
