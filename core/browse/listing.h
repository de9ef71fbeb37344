// How files are shown: the lines of `ls -l`, byte for byte as ls(1) of GNU coreutils has them in the C locale.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/fs/attributes.h"

namespace cffs {

struct ShownFile {
  std::string name;  // as it is to be shown
  Attributes attributes;
  std::string target;    // of a symbolic link, as it is to be shown
  bool has_acl = false;  // an ACL beyond the mode
};

struct LongListing {
  bool numbers_for_owners = false;
  bool human_sizes = false;
  bool inode_numbers = false;
  std::int64_t now_ns = 0;  // times up to half a year before are shown to the minute, others with their year
};

// "drwxr-xr-x"
std::string mode_text(mode_t mode);
// "4.0K", "12M", "317": powers of 1024, rounded up, as `ls -h` and `du -h`.
std::string short_size(std::uint64_t bytes);
// The user's name, or the number where there is none; of a group.
std::string user_text(uid_t uid);
std::string group_text(gid_t gid);
// "Aug  5 14:32", "Dec 24  2019", in the machine's time zone.
std::string time_text(std::int64_t time_ns, std::int64_t now_ns);
// A line for each file, columns as wide as the widest of them.
std::vector<std::string> long_lines(const std::vector<ShownFile>& files, const LongListing& how);
// Kibibytes that ls calls the total of a directory, rounded up.
std::uint64_t total_kib(const std::vector<ShownFile>& files);
// Names beside each other, in columns from top to bottom, none of them wider than `width` where that can be.
std::vector<std::string> in_columns(const std::vector<std::string>& names, std::size_t width);

}  // namespace cffs
