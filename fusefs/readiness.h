// How it becomes known that the mount answers, or why it does not: a daemon tells the command that started it, one message through
// a pipe; a mount in the foreground its service manager, if there is one.
#pragma once

#include <atomic>
#include <string>
#include <thread>

#include "core/base/error.h"
#include "core/object/file_descriptor.h"

namespace cffs {

// The end of who serves.
class Readiness {
 public:
  // In the foreground: nobody waits but a service manager. `status` is the line that it then shows.
  Readiness(std::string mount_point, std::string status)
      : mount_point_(std::move(mount_point)), status_(std::move(status)) {}
  explicit Readiness(FileDescriptor to_parent) : fd_(std::move(to_parent)) {}
  ~Readiness();
  Readiness(const Readiness&) = delete;
  Readiness& operator=(const Readiness&) = delete;
  // An empty problem is success. Only the first report counts; from then on stderr of a daemon leads nowhere.
  void report(const std::string& problem, int errno_value = 0);
  // Whether the command still waits for the report; true in the foreground.
  bool awaited() const;
  // Whether success was reported.
  bool succeeded() const { return succeeded_.load(); }

 private:
  FileDescriptor fd_;
  std::string mount_point_, status_;
  std::atomic<bool> succeeded_{false};
  std::thread settling_;
};

// The command's end: returns when the daemon has reported, or is gone.
Status wait_until_ready(const FileDescriptor& from_child, const std::string& mount_point);

}  // namespace cffs
