// What a mount is asked to do: the flags of `cffs mount` and the -o list of mount(8), one set.
#pragma once

#include <string>
#include <vector>

#include "core/base/error.h"

namespace cffs {

struct MountOptions {
  std::string store;  // directory
  std::string mount_point;
  std::string policy = "directory";
  double commit_interval_s = 5;
  double quiet_s = 2;
  std::string cache_size = "32M";
  unsigned threads = 16;
  bool foreground = false;
  bool read_only = false;
  std::vector<std::string> fuse_options;  // handed to libfuse: allow_other, nosuid, ...
};

// Takes one -o list ("policy=none,allow_other,ro") apart into `options`. `usage` names an option nobody
// knows.
Status apply_option_list(const std::string& list, MountOptions& options);

// "4K", "1M", "2G", "17": bytes.
Result<std::uint64_t> parse_size(const std::string& text, const std::string& option);

}  // namespace cffs
