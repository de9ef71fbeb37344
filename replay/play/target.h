// Where operations are played: a directory of any file system, or the library without a mount.
//
// Results are those of system calls: >= 0, or -errno. Paths are relative to the target's root, "" is the root. A handle is
// the target's own number. Thread-safe; one handle may be used by several threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace cffs {
class FileSystem;
}

namespace cffs::replay {

struct FileFacts {
  std::uint32_t mode = 0;
  std::uint64_t size = 0;
};

class Target {
 public:
  virtual ~Target() = default;

  virtual std::int64_t open(const std::string& path, std::uint32_t flags, std::uint32_t mode) = 0;
  virtual std::int64_t close(std::int64_t handle) = 0;
  virtual std::int64_t read(std::int64_t handle, std::uint64_t offset, std::span<char> out) = 0;
  virtual std::int64_t write(std::int64_t handle, std::uint64_t offset, std::span<const char> data) = 0;
  virtual std::int64_t truncate(const std::string& path, std::uint64_t size) = 0;
  virtual std::int64_t truncate(std::int64_t handle, std::uint64_t size) = 0;
  virtual std::int64_t fsync(std::int64_t handle, bool data_only) = 0;
  virtual std::int64_t sync() = 0;
  virtual std::int64_t stat(const std::string& path, bool follow, FileFacts& facts) = 0;
  virtual std::int64_t stat(std::int64_t handle, FileFacts& facts) = 0;
  virtual std::int64_t access(const std::string& path) = 0;
  virtual std::int64_t readlink(const std::string& path, std::string& target) = 0;
  // The number of entries but "." and ".."; their names too, where asked for.
  virtual std::int64_t list(std::int64_t handle, std::vector<std::string>* names) = 0;
  virtual std::int64_t mkdir(const std::string& path, std::uint32_t mode) = 0;
  virtual std::int64_t rmdir(const std::string& path) = 0;
  virtual std::int64_t unlink(const std::string& path) = 0;
  virtual std::int64_t rename(const std::string& from, const std::string& to, std::uint32_t flags) = 0;
  virtual std::int64_t link(const std::string& from, const std::string& to) = 0;
  virtual std::int64_t symlink(const std::string& target, const std::string& path) = 0;
  virtual std::int64_t mknod(const std::string& path, std::uint32_t mode) = 0;
  virtual std::int64_t chmod(const std::string& path, std::uint32_t mode) = 0;
  virtual std::int64_t chmod(std::int64_t handle, std::uint32_t mode) = 0;
  virtual std::int64_t chown(const std::string& path) = 0;  // to the caller's own ids
  virtual std::int64_t chown(std::int64_t handle) = 0;
  virtual std::int64_t utimens(const std::string& path) = 0;  // to now
  virtual std::int64_t utimens(std::int64_t handle) = 0;
  virtual std::int64_t getxattr(const std::string& path, const std::string& name) = 0;
  virtual std::int64_t setxattr(const std::string& path, const std::string& name, std::string_view value) = 0;
  virtual std::int64_t listxattr(const std::string& path) = 0;
  virtual std::int64_t removexattr(const std::string& path, const std::string& name) = 0;
  virtual std::int64_t getxattr(std::int64_t handle, const std::string& name) = 0;
  virtual std::int64_t setxattr(std::int64_t handle, const std::string& name, std::string_view value) = 0;
  virtual std::int64_t listxattr(std::int64_t handle) = 0;
  virtual std::int64_t removexattr(std::int64_t handle, const std::string& name) = 0;
};

// Whose links lie there. A stranger's trace makes some: what opens or changes something follows none that leads out of the directory
// (EXDEV; so for absolute ones), by openat2(2), without which such a target is refused; a change takes two calls more where a name
// lies in a folder. Who makes all himself need not.
enum class Links { anybodys, own };
// System calls below a directory.
Result<std::unique_ptr<Target>> make_directory_target(const std::string& directory,
                                                      Links links = Links::anybodys);
// The library, below a directory of its store ("" is its root). The file system must outlive the target.
Result<std::unique_ptr<Target>> make_library_target(FileSystem& fs, const std::string& below);
// TableFS-Predict (TableFS §4.3): the library, and before each call a write of the arguments' size to /dev/null, which
// stands for the system call and the copying that a kernel file system would pay.
Result<std::unique_ptr<Target>> make_predict_target(FileSystem& fs, const std::string& below);

}  // namespace cffs::replay
