// A file for readers that take a path.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "core/base/error.h"

namespace cffs::fuzz {

// One for the process, in memory; gone with it where it ends in order.
class ScratchFile {
 public:
  ScratchFile() : path_("/dev/shm/cffs-fuzz." + std::to_string(::getpid())) {}
  ~ScratchFile() { remove(); }

  const std::string& with(std::string_view bytes) {
    remove();
    const int fd = ::open(path_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    CFFS_INVARIANT(fd >= 0);
    CFFS_INVARIANT(::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    (void)::close(fd);
    return path_;
  }

 private:
  // With what SQLite leaves beside a file that says it has a log.
  void remove() const {
    for (const char* ending : {"", "-wal", "-shm", "-journal"}) (void)::unlink((path_ + ending).c_str());
  }

  const std::string path_;
};

}  // namespace cffs::fuzz
