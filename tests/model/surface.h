// The file-system operations that random sequences exercise, path-based, with the errno as result: one face
// for the in-memory reference, the library and a mounted directory.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace cffs::test {

struct Visible {  // everything stat, readlink, read and listxattr show of one name
  mode_t mode = 0;
  std::uint64_t nlink = 0, size = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  std::int64_t mtime_ns = -1;  // -1: set by the system, not comparable
  std::string content;         // of files; the target of symlinks
  std::map<std::string, std::string> xattrs;
  friend bool operator==(const Visible&, const Visible&) = default;
};

using Tree = std::map<std::string, Visible>;  // by path; "" is the root

class Surface {
 public:
  virtual ~Surface() = default;
  // Paths are relative, without leading slash. Results: 0 or an errno.
  virtual int create(const std::string& path, mode_t mode) = 0;  // exclusive, empty
  virtual int mkdir(const std::string& path, mode_t mode) = 0;
  virtual int unlink(const std::string& path) = 0;
  virtual int rmdir(const std::string& path) = 0;
  virtual int symlink(const std::string& target, const std::string& path) = 0;
  virtual int link(const std::string& from, const std::string& to) = 0;
  virtual int rename(const std::string& from, const std::string& to, unsigned flags) = 0;  // RENAME_*
  virtual int write(const std::string& path, std::uint64_t offset, const std::string& data) = 0;
  virtual int truncate(const std::string& path, std::uint64_t size) = 0;
  // fallocate(2) with these flags.
  virtual int allocate(const std::string& path, int flags, std::uint64_t offset, std::uint64_t length) = 0;
  // copy_file_range(2) between two different files, until all is copied or the source ends.
  virtual int copy(const std::string& from, std::uint64_t from_offset, const std::string& to,
                   std::uint64_t to_offset, std::uint64_t length) = 0;
  // Makes an unnamed file (O_TMPFILE) beside `path`, writes it and gives it that name.
  virtual int make_unnamed(const std::string& path, mode_t mode, const std::string& data) = 0;
  virtual int chmod(const std::string& path, mode_t mode) = 0;
  virtual int set_mtime(const std::string& path, std::int64_t mtime_ns) = 0;
  virtual int setxattr(const std::string& path, const std::string& name, const std::string& value) = 0;
  virtual int removexattr(const std::string& path, const std::string& name) = 0;
  virtual int read(const std::string& path, std::uint64_t offset, std::size_t n, std::string& out) = 0;
  // Handles keep a file open, also past its last name. hold() returns 0 and a handle.
  virtual int hold(const std::string& path, int& handle) = 0;
  virtual int write_held(int handle, std::uint64_t offset, const std::string& data) = 0;
  virtual int truncate_held(int handle, std::uint64_t size) = 0;
  virtual int read_held(int handle, std::string& all) = 0;
  virtual void drop(int handle) = 0;
  virtual Tree tree() = 0;
  // Starts over from what is stored (remount, reopen); handles must have been dropped.
  virtual void reopen() = 0;
  // Background work that users must not notice; may do nothing.
  virtual void reorganise() {}
};

}  // namespace cffs::test
