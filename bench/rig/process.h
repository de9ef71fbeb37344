// Programs that benchmarks run: to their end, or as servers beside them.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "core/base/error.h"

namespace cffs::bench {

// The path of this program, to run it again.
std::string own_program();

// Runs a command to its end; what it prints is dropped. An error names the command, its status and its last words.
Status run(const std::vector<std::string>& command, const std::string& directory = {});
// The same for a line of shell.
Status run_shell(const std::string& line, const std::string& directory);
// Whether a command can be found on PATH.
bool is_installed(const std::string& command);

// A server that ends by itself, when what it serves is unmounted, or is told to.
class Server {
 public:
  static Result<Server> start(const std::vector<std::string>& command);
  Server() = default;
  Server(Server&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}
  Server& operator=(Server&& other) noexcept {
    std::swap(pid_, other.pid_);
    return *this;
  }
  ~Server() { stop(); }
  pid_t pid() const { return pid_; }
  void wait();
  void stop();  // SIGTERM, and waits
  bool is_running();

 private:
  pid_t pid_ = 0;
};

}  // namespace cffs::bench
