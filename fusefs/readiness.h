// How a daemon tells the command that started it that the mount answers, or why it does not: one message through a pipe.
#pragma once

#include <string>

#include "core/base/error.h"
#include "core/object/file_descriptor.h"

namespace cffs {

// The daemon's end.
class Readiness {
 public:
  Readiness() = default;  // in the foreground: nobody waits
  explicit Readiness(FileDescriptor to_parent) : fd_(std::move(to_parent)) {}
  // An empty problem is success. Only the first report counts; from then on stderr leads nowhere.
  void report(const std::string& problem);
  // Whether the command still waits for the report; true in the foreground.
  bool awaited() const;

 private:
  FileDescriptor fd_;
};

// The command's end: returns when the daemon has reported, or is gone.
Status wait_until_ready(const FileDescriptor& from_child, const std::string& mount_point);

}  // namespace cffs
