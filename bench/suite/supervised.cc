#include "bench/suite/supervised.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "bench/rig/image.h"
#include "core/base/readable_text.h"

namespace cffs::bench {
namespace {

// Processes whose command line names something below the directory: daemons of its mounts.
std::vector<pid_t> processes_of(const std::string& directory) {
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto pid = static_cast<pid_t>(std::strtol(name.c_str(), nullptr, 10));
    if (pid == ::getpid()) continue;
    const std::string line = readable_text(entry.path() / "cmdline").value_or("");
    if (line.find(directory + "/") != std::string::npos) found.push_back(pid);
  }
  return found;
}

void clean_up(const std::string& directory, pid_t child) {
  unmount_below(directory);
  constexpr int kTries = 100;
  for (int i = 0; i < kTries && !processes_of(directory).empty(); ++i) ::usleep(50'000);
  for (const pid_t pid : processes_of(directory)) ::kill(pid, SIGKILL);
  unmount_below(directory);
  std::error_code ignored;
  const std::string prefix = "cffs-bench-" + std::to_string(child) + "-";
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", ignored)) {
    if (entry.path().filename().string().starts_with(prefix)) std::filesystem::remove(entry.path(), ignored);
  }
  for (const char* above : {"/sys/fs/cgroup/memory/", "/sys/fs/cgroup/"})
    (void)::rmdir((std::string(above) + "cffs-bench-" + std::to_string(child)).c_str());
}

}  // namespace

int run_supervised(const std::string& directory, const std::function<int()>& work) {
  struct sigaction old_int {
  }, old_term{};
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    (void)::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(1);
    const int code = work();
    std::fflush(stdout);
    std::fflush(stderr);
    ::_exit(code);
  }
  // A request to end is handed on, and that it was Ctrl-C, too; the child's end ends us, behind what it leaves.
  static volatile pid_t told = 0;
  told = child;
  struct sigaction hand_on {};
  hand_on.sa_handler = [](int signal) {
    if (told > 0) ::kill(told, signal);
  };
  ::sigaction(SIGINT, &hand_on, &old_int);
  ::sigaction(SIGTERM, &hand_on, &old_term);
  int status = 0;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  told = 0;
  clean_up(directory, child);
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  ::sigaction(SIGINT, &old_int, nullptr);
  ::sigaction(SIGTERM, &old_term, nullptr);
  if (child < 0) return 1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace cffs::bench
