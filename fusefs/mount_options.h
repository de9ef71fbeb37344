// What a mount is asked to do: the flags of `cffs mount` and the -o list of mount(8), one set.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/fs/file_system.h"
#include "core/plan/policy_choice.h"
#include "core/rados/local_cache.h"
#include "fusefs/metrics_address.h"
#include "fusefs/request_observer.h"
#include "fusefs/transport.h"

namespace cffs {

inline constexpr const char* kAutomatic = "auto";  // of a size: as the machine has it

struct MountOptions {
  std::string store;  // directory
  std::string mount_point;
  PolicyChoice policy;
  bool plan_ahead = false;             // take a plan none of whose files are in the store
  double regroup_interval_s = 86'400;  // policy frequency: how often it mines its own accesses; 0: never
  std::string regroup_budget =
      "auto";  // bytes a second of what it then copies; 0: no limit; auto: by the medium
  std::string access_record = "4M";  // size of the ring; 0: none is kept
  double commit_interval_s = 5;
  double quiet_s = 2;
  std::string cache_size = "auto";  // bytes; auto: by the memory that there is (memory_shares.h)
  std::string local_cache;          // "DIR:SIZE", of stores in a pool; empty: none
  std::optional<rados::LocalCache::Place> local_cache_at;  // the same, found and checked by mount_store()
  std::string metrics;  // where numbers are told (fusefs/metrics_address.h); empty: nowhere
  std::optional<MetricsAddress> metrics_at;  // the same, checked by mount_store()
  std::string awake_inodes = "auto";         // a number of them; auto: the same
  std::string known_inodes = "1M";           // a number of them; 0: no bound
  unsigned threads = 16;
  Transport transport = Transport::automatic;
  bool foreground = false;
  bool read_only = false;
  bool names_access = false;   // ro or rw was among the words: a remount leaves it else
  bool foreign_owner = false;  // the store may be somebody else's
  bool standby = false;        // a store in use is waited for
  bool follow = false;         // read-only, beside the store's writer, checkpoint after checkpoint
  double poll_s = 0.5;         // between two looks for a checkpoint
  double keep_s = 60;          // what a checkpoint needs stays for those who follow
  bool remount = false;        // changes what the kernel checks of a mount that is there
  bool others = true;          // a mount made by root is for all users
  bool acl = true;             // POSIX ACLs
  AccessTimes access_times = AccessTimes::relative;
  bool directory_access_times = true;
  bool follow_symlinks = true;  // else the kernel refuses to go through one of the mount's
  // Makes what watches the requests, in the process that serves them; gone before the daemon ends.
  std::function<Result<std::unique_ptr<RequestObserver>>()> make_observer;
  // Gets what whoever mounts should know, before the mount answers.
  std::function<void(const std::string&)> say;
  std::vector<std::string> fuse_options;    // handed to libfuse: allow_other, nosuid, ...
  std::vector<std::string> kernel_options;  // words about access times and symbolic links, as they were given
  bool silent = false;                      // says no remarks
  std::vector<std::string> remarks;         // a sentence for each option that has no effect
};

// Takes one -o list ("policy=none,allow_other,ro") apart into `options`. A value in double quotes may have commas.
// Options of mount(8) and of other file systems that mean nothing here leave a remark; `usage` names an option nobody knows.
Status apply_option_list(const std::string& list, MountOptions& options);

// `usage`: one of the sizes and numbers that were given is none. What the daemon makes of them it finds out later.
Status check_sizes(const MountOptions& options);

// "/var/cache/cffs:20G". `usage`: what is wrong with it.
Result<rados::LocalCache::Place> parse_local_cache(const std::string& text);

// "4K", "1M", "2G", "17": bytes.
Result<std::uint64_t> parse_size(const std::string& text, const std::string& option);

}  // namespace cffs
