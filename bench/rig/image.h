// A file system of its own on a disk of its own: an image file, a loop device, where asked for a disk model between them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "bench/rig/process.h"
#include "core/object/file_descriptor.h"

namespace cffs::bench {

struct ImageOptions {
  std::string work;  // directory for the image and the mount points; must be there
  std::string disk = "raw";
  std::string type = "ext4";  // ext2, ext3, ext4, xfs, btrfs; "" none: the device as it is
  bool synchronous = false;   // -o sync
  std::uint64_t bytes = 4ull << 30;
  std::uint64_t inodes = 0;  // that it must have room for; ext4 cannot make more later
};

class Image {
 public:
  static Result<std::unique_ptr<Image>> make(const ImageOptions& options);
  ~Image();
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  const std::string& directory() const { return mounted_; }            // without a file system: an empty one
  const std::string& device() const { return device_; }                // "/dev/loop3"
  const std::string& device_number() const { return device_number_; }  // "7:3"
  Status remount();
  Status unmount();
  Status mount();
  // A modelled disk answers at once meanwhile.
  Status hurry(bool at_once);
  pid_t disk_server() const { return server_.pid(); }

 private:
  explicit Image(const ImageOptions& options) : options_(options) {}
  Status build();
  Status serve_model();
  Status attach();
  std::string below() const { return model_.empty() ? file_ : model_ + "/disk"; }  // the loop device

  const ImageOptions options_;
  std::string file_, model_, mounted_, device_, device_number_;
  Server server_;
  FileDescriptor held_;  // without a file system: or the device would be cleared
  bool is_mounted_ = false;
};

// Takes down everything that is mounted below a directory, deepest first.
void unmount_below(const std::string& directory);
// umount(2), again and again while something still closes its files there.
Status unmount_patiently(const std::string& directory);
bool is_mount_point(const std::string& directory);

}  // namespace cffs::bench
