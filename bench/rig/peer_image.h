// A peer of packed stores: a file system that is made once from a tree, compressed, and only read then. SquashFS and EROFS, of the
// kernel; the programs that make their images are Debian's.
//
// The image is a file on the disk that is measured, and is mounted from there: what is read of it, that disk reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace cffs::bench {

// "squashfs:zstd", "squashfs:zstd:3", "erofs:lz4".
struct PeerName {
  std::string type;   // of the mount
  std::string codec;  // as the program that makes it calls it
  std::string level;  // empty: that program's own
};
// nullopt: it is no peer's name. An error: it is, but there is no such codec or level.
Result<std::optional<PeerName>> peer_name_of(std::string_view target);

class PeerImage {
 public:
  // `image`: the file, not there yet; `point`: an empty directory.
  PeerImage(PeerName name, std::string image, std::string point)
      : name_(std::move(name)), image_(std::move(image)), point_(std::move(point)) {}
  ~PeerImage();
  PeerImage(const PeerImage&) = delete;
  PeerImage& operator=(const PeerImage&) = delete;

  // Whether this machine can make and mount such images, looked at with one of a file, in `work`. The error is one sentence that says
  // what is missing.
  static Status try_out(const PeerName& name, const std::string& work);

  Status make(const std::string& tree);
  bool is_made() const { return is_made_; }
  // Read-only. On return no program has the image or its loop device open but the mount.
  Status mount();
  // Nothing where it is not mounted. The loop device is free again.
  Status unmount();
  std::uint64_t bytes() const;  // of the image

 private:
  const PeerName name_;
  const std::string image_, point_;
  std::string device_number_;
  bool is_made_ = false, is_mounted_ = false;
};

// The command that makes such an image.
std::vector<std::string> peer_command(const PeerName& name, const std::string& tree,
                                      const std::string& image);

}  // namespace cffs::bench
