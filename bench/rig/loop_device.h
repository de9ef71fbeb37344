// A file as a block device: a loop device, free again when nobody has it open or mounted any more.
#pragma once

#include <string>

#include "core/base/error.h"
#include "core/object/file_descriptor.h"

namespace cffs::bench {

class LoopDevice {
 public:
  enum class Access { read_write, read_only };

  // Past the file's page cache where that is possible: a disk has no second one below it.
  static Result<LoopDevice> over(const std::string& file, Access access);

  const std::string& path() const { return path_; }      // "/dev/loop3"
  const std::string& number() const { return number_; }  // "7:3"

 private:
  LoopDevice(std::string path, std::string number, FileDescriptor open)
      : path_(std::move(path)), number_(std::move(number)), open_(std::move(open)) {}

  std::string path_, number_;
  FileDescriptor open_;  // until a mount has it
};

// Waits until the loop device of that number has let go of the file, a moment after its last user. One that stays has users that no umount
// of ours reaches, as a mount namespace with a copy of all mounts: the caches would not be cold, and XFS is not mounted twice. `usage`
// where that takes more than a minute.
Status wait_until_free(const std::string& number, const std::string& file);

}  // namespace cffs::bench
