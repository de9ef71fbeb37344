// A store below a temporary directory, formatted and mounted with the cffs binary under test, taken down and removed at
// the end, also when the test failed or the mount is wedged. The binary's path comes from CFFS_BINARY.
#pragma once

#include <string>

namespace cffs::test {

class MountedStore {
 public:
  // Arguments are appended to `cffs format` and `cffs mount`.
  MountedStore(const std::string& format_arguments, const std::string& mount_arguments);
  ~MountedStore();
  MountedStore(const MountedStore&) = delete;
  MountedStore& operator=(const MountedStore&) = delete;

  const std::string& mount_point() const { return mount_point_; }
  const std::string& store() const { return store_; }
  void mount();
  void unmount();
  void kill_daemon();  // SIGKILL, then the dead mount is taken away
  // Output of `cffs fsck`, empty where it is clean. The store must not be mounted.
  std::string fsck() const;

 private:
  std::string base_, store_, mount_point_, mount_arguments_;
  bool on_image_ = false, mounted_ = false;
};

// TMPDIR, or /tmp.
std::string temporary_directory();

// Runs a shell command under a time limit; its exit status, output into `output` where given.
int shell(const std::string& command, std::string* output = nullptr);

}  // namespace cffs::test
