#include "fusefs/mount_options.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "fusefs/selinux.h"

namespace cffs {
namespace {

// Known to every libfuse, or to mount(2) through it.
constexpr std::array kForFuse = {
    "allow_other", "default_permissions", "nosuid", "suid", "nodev", "dev", "noexec", "exec", "sync", "async",
    "dirsync",     "auto_unmount"};
// Labels of SELinux: the kernel's where it has that, else they can mean nothing.
constexpr std::array kLabels = {"context", "fscontext", "defcontext", "rootcontext"};
// Words for mount(8) and systemd, of a mount that is there already, or for what a mount does anyway; nothing to do.
constexpr std::array kForOthers = {
    "defaults", "auto",    "noauto",     "user",       "nouser",  "users",      "nousers",  "nofail",
    "_netdev",  "owner",   "noowner",    "group",      "nogroup", "comment",    "user_id",  "group_id",
    "rootmode", "fd",      "max_read",   "blksize",    "loud",    "nolazytime", "nomand",   "noiversion",
    "seclabel", "nogrpid", "sysvgroups", "user_xattr", "nodax",   "noquota",    "nodiscard"};
// Of mount(8), ext4 and others: what they ask for is not there to be had, and nobody is worse off without.
constexpr std::array kWithoutEffect = {
    "lazytime", "iversion", "i_version", "mand", "loop", "offset", "sizelimit", "encryption", "helper",
    "uhelper", "private", "rprivate", "slave", "rslave", "shared", "rshared", "unbindable", "runbindable",
    // ext4(5)
    "journal", "journal_async_commit", "journal_checksum", "nojournal_checksum", "journal_dev",
    "journal_path", "journal_ioprio", "noload", "norecovery", "data", "data_err", "barrier", "nobarrier",
    "abort", "max_batch_time", "min_batch_time", "auto_da_alloc", "noauto_da_alloc", "delalloc", "nodelalloc",
    "inode_readahead_blks", "stripe", "init_itable", "noinit_itable", "discard", "block_validity",
    "noblock_validity", "dioread_lock", "dioread_nolock", "max_dir_size_kb", "nombcache", "no_mbcache",
    "quota", "usrquota", "grpquota", "prjquota", "jqfmt", "usrjquota", "grpjquota", "nouser_xattr", "bsddf",
    "minixdf", "check", "nocheck", "debug", "nodebug", "errors", "grpid", "bsdgroups", "resuid", "resgid",
    "sb", "nouid32", "oldalloc", "orlov", "bh", "nobh", "mblk_io_submit", "nomblk_io_submit", "dax",
    "inlinecrypt", "test_dummy_encryption", "prefetch_block_bitmaps", "no_prefetch_block_bitmaps",
    "mb_optimize_scan", "warn_on_error", "nowarn_on_error"};

template <typename List>
bool contains(const List& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

Result<double> seconds(const std::string& value, const std::string& option, double most = 86400) {
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  if (value.empty() || *end != '\0' || !(number > 0) || number > most) {
    return fail(Error::command_line(option + " wants seconds between 0 and " +
                                    std::to_string(static_cast<long>(most)) + ", not '" + value + "'"));
  }
  return number;
}

}  // namespace

Result<rados::LocalCache::Place> parse_local_cache(const std::string& text) {
  constexpr std::uint64_t kLeast = std::uint64_t{16} << 20;
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) {
    return fail(
        Error::command_line("--local-cache wants DIR:SIZE, such as /var/cache/cffs:20G, not '" + text + "'"));
  }
  rados::LocalCache::Place place{text.substr(0, colon), 0};
  CFFS_TRY(place.most_bytes, parse_size(text.substr(colon + 1), "--local-cache"));
  if (place.most_bytes < kLeast)
    return fail(Error::command_line("--local-cache wants 16M or more, not '" + text + "'"));
  return place;
}

Result<std::uint64_t> parse_size(const std::string& text, const std::string& option) {
  char* end = nullptr;
  errno = 0;
  const unsigned long long number = std::strtoull(text.c_str(), &end, 10);
  std::uint64_t factor = 1;
  const std::string unit = end;
  if (unit == "K" || unit == "k") factor = 1u << 10;
  if (unit == "M" || unit == "m") factor = 1u << 20;
  if (unit == "G" || unit == "g") factor = 1u << 30;
  if (unit == "T" || unit == "t") factor = 1ull << 40;
  const bool known = unit.empty() || factor > 1;
  if (text.empty() || text[0] < '0' || text[0] > '9' || !known || errno != 0 ||
      number > (1ull << 60) / factor) {
    return fail(Error::command_line(option + " wants a size such as 4096, 64K or 1M, not '" + text + "'"));
  }
  return number * factor;
}

Status check_sizes(const MountOptions& o) {
  for (const auto& [text, option] :
       {std::pair(&o.regroup_budget, "--regroup-budget"), std::pair(&o.cache_size, "--cache-size"),
        std::pair(&o.awake_inodes, "--awake-inodes")}) {
    if (*text != kAutomatic) CFFS_TRY_VOID(parse_size(*text, option));
  }
  CFFS_TRY_VOID(parse_size(o.access_record, "--access-record"));
  CFFS_TRY_VOID(parse_size(o.known_inodes, "--known-inodes"));
  if (!o.local_cache.empty()) CFFS_TRY_VOID(parse_local_cache(o.local_cache));
  if (!o.metrics.empty()) CFFS_TRY_VOID(parse_metrics_address(o.metrics));
  return {};
}

namespace {

// Where the word that begins here ends: at a comma that is not within quotes.
std::size_t end_of_word(const std::string& list, std::size_t from) {
  bool quoted = false;
  for (std::size_t i = from; i < list.size(); ++i) {
    if (list[i] == '"') quoted = !quoted;
    if (list[i] == ',' && !quoted) return i;
  }
  return list.size();
}

// The kernel leaves access times to the file system, and hears of them for /proc/mounts.
bool about_access_times(const std::string& name, MountOptions& options) {
  if (name == "noatime") {
    options.access_times = AccessTimes::never;
  } else if (name == "relatime" || name == "norelatime" || name == "atime" || name == "nostrictatime") {
    options.access_times = AccessTimes::relative;  // what there is where nothing else is asked for
  } else if (name == "strictatime") {
    options.access_times = AccessTimes::strict;
  } else if (name == "nodiratime" || name == "diratime") {
    options.directory_access_times = name == "diratime";
  } else {
    return false;
  }
  return true;
}

bool about_symlinks(const std::string& name, MountOptions& options) {
  if (name != "symfollow" && name != "nosymfollow") return false;
  options.follow_symlinks = name == "symfollow";
  return true;
}

// Quotes around a value keep its commas; they are no part of it.
std::string unquoted(const std::string& value) {
  const bool quoted = value.size() >= 2 && value.front() == '"' && value.back() == '"';
  return quoted ? value.substr(1, value.size() - 2) : value;
}

// libfuse splits at commas; a backslash keeps those of a value.
std::string escaped(const std::string& word) {
  std::string plain;
  for (const char c : word) {
    if (c == ',' || c == '\\') plain += '\\';
    plain += c;
  }
  return plain;
}

}  // namespace

Status apply_option_list(const std::string& list, MountOptions& options) {
  for (std::size_t from = 0; from < list.size();) {
    const std::size_t comma = end_of_word(list, from);
    const std::string word = list.substr(from, comma - from);
    from = comma + 1;
    if (word.empty()) continue;
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? std::string() : unquoted(word.substr(equals + 1));
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
    } else if (name == "local_cache") {
      options.local_cache = value;
    } else if (name == "awake_inodes") {
      options.awake_inodes = value;
    } else if (name == "known_inodes") {
      options.known_inodes = value;
    } else if (name == "metrics") {
      options.metrics = value;
    } else if (name == "transport") {
      CFFS_TRY(options.transport, transport_of(value, "transport"));
    } else if (name == "ro" || name == "rw") {
      options.read_only = name == "ro";
      options.names_access = true;
    } else if (name == "foreign_owner") {
      options.foreign_owner = true;
    } else if (name == "follow") {
      options.follow = true;
      if (!value.empty()) {
        CFFS_TRY(options.poll_s, seconds(value, "follow"));
      }
    } else if (name == "keep") {
      CFFS_TRY(options.keep_s, seconds(value, "keep"));
    } else if (name == "standby") {
      options.standby = true;
    } else if (name == "remount") {
      options.remount = true;
    } else if (name == "acl" || name == "noacl") {
      options.acl = name == "acl";
    } else if (name == "noallow_other") {
      options.others = false;
    } else if (name == "allow_root") {
      // libfuse keeps others out with each request; what the kernel opens and finds by itself has none.
      return fail(Error::command_line(
          "mount option 'allow_root' would not keep others than root out of a cffs mount: leave it out, then "
          "it is yours alone, or give allow_other and take everybody's rights from its root directory"));
    } else if (name == "fsname" || name == "subtype") {
      options.fuse_options.push_back(name + "=" + escaped(value));
    } else if (contains(kForFuse, name)) {
      options.fuse_options.push_back(word);
    } else if (about_access_times(name, options) || about_symlinks(name, options)) {
      options.kernel_options.push_back(word);
    } else if (name == "commit") {  // ext4's name for it; 0 is the default
      options.commit_interval_s = MountOptions().commit_interval_s;
      if (value != "0") {
        CFFS_TRY(options.commit_interval_s, seconds(value, "commit"));
      }
    } else if (name == "silent") {
      options.silent = true;
    } else if (contains(kLabels, name) && selinux_is_on()) {
      options.fuse_options.push_back(name + "=" + escaped(value));
    } else if (contains(kLabels, name) || contains(kWithoutEffect, name) || name.starts_with("X-") ||
               name.starts_with("verity.")) {
      options.remarks.push_back("mount option '" + word + "' has no effect on a cffs mount and is ignored");
    } else if (!contains(kForOthers, name) && !name.starts_with("x-")) {
      return fail(Error::command_line("unknown mount option '" + word + "'; see cffs mount --help"));
    }
  }
  return {};
}

}  // namespace cffs
