#include "fusefs/mount_options.h"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace cffs {
namespace {

// Known to libfuse or to mount(2) through it.
constexpr std::array kForFuse = {"allow_other", "allow_root", "default_permissions",
                                 "nosuid",      "suid",       "nodev",
                                 "dev",         "noexec",     "exec",
                                 "noatime",     "atime",      "nodiratime",
                                 "relatime",    "norelatime", "strictatime",
                                 "sync",        "async",      "dirsync",
                                 "auto_unmount"};
// Words for mount(8) and systemd, or of a mount that is there already; nothing to do.
constexpr std::array kForOthers = {"defaults", "auto",     "noauto",   "user",   "nouser",
                                   "users",    "nofail",   "_netdev",  "owner",  "group",
                                   "user_id",  "group_id", "max_read", "blksize"};

template <typename List>
bool contains(const List& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

Result<double> seconds(const std::string& value, const std::string& option, double most = 86400) {
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  if (value.empty() || *end != '\0' || !(number > 0) || number > most) {
    return fail(Error::usage(option + " wants seconds between 0 and " +
                             std::to_string(static_cast<long>(most)) + ", not '" + value + "'"));
  }
  return number;
}

}  // namespace

Result<std::uint64_t> parse_size(const std::string& text, const std::string& option) {
  char* end = nullptr;
  errno = 0;
  const unsigned long long number = std::strtoull(text.c_str(), &end, 10);
  std::uint64_t factor = 1;
  const std::string unit = end;
  if (unit == "K" || unit == "k") factor = 1u << 10;
  if (unit == "M" || unit == "m") factor = 1u << 20;
  if (unit == "G" || unit == "g") factor = 1u << 30;
  const bool known = unit.empty() || factor > 1;
  if (text.empty() || text[0] < '0' || text[0] > '9' || !known || errno != 0 ||
      number > (1ull << 60) / factor) {
    return fail(Error::usage(option + " wants a size such as 4096, 64K or 1M, not '" + text + "'"));
  }
  return number * factor;
}

Status apply_option_list(const std::string& list, MountOptions& options) {
  for (std::size_t from = 0; from < list.size();) {
    const std::size_t comma = std::min(list.find(',', from), list.size());
    const std::string word = list.substr(from, comma - from);
    from = comma + 1;
    if (word.empty()) continue;
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? std::string() : word.substr(equals + 1);
    if (name == "policy") {
      options.policy.name = value;
    } else if (name == "plan") {
      options.policy.plan = value;
    } else if (name == "plan_ahead") {
      options.plan_ahead = true;
    } else if (name == "site_root") {
      options.policy.site_root = value;
    } else if (name == "regroup_interval") {
      options.regroup_interval_s = 0;
      if (value != "0") {
        CFFS_TRY(options.regroup_interval_s, seconds(value, "regroup_interval", 366 * 86400.0));
      }
    } else if (name == "regroup_budget") {
      options.regroup_budget = value;
    } else if (name == "access_record") {
      options.access_record = value;
    } else if (name == "commit_interval") {
      CFFS_TRY(options.commit_interval_s, seconds(value, "commit_interval"));
    } else if (name == "quiet") {
      CFFS_TRY(options.quiet_s, seconds(value, "quiet"));
    } else if (name == "cache_size") {
      options.cache_size = value;
    } else if (name == "ro" || name == "rw") {
      options.read_only = name == "ro";
    } else if (name == "remount") {
      options.remount = true;
    } else if (name == "acl" || name == "noacl") {
      options.acl = name == "acl";
    } else if (name == "noallow_other") {
      options.others = false;
    } else if (name == "fsname" || name == "subtype") {
      options.fuse_options.push_back(word);
    } else if (contains(kForFuse, name)) {
      options.fuse_options.push_back(word);
      // The kernel leaves access times to the file system.
      if (name == "noatime") options.access_times = AccessTimes::never;
      if (name == "relatime" || name == "atime") options.access_times = AccessTimes::relative;
      if (name == "strictatime") options.access_times = AccessTimes::strict;
      if (name == "nodiratime") options.directory_access_times = false;
    } else if (!contains(kForOthers, name) && !name.starts_with("x-")) {
      return fail(Error::usage("unknown mount option '" + word + "'; see cffs mount --help"));
    }
  }
  return {};
}

}  // namespace cffs
