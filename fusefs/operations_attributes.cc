// GETATTR, SETATTR, the extended attributes, STATFS.
#include <linux/limits.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "core/follow/followed_file_system.h"
#include "core/fs/acl.h"
#include "core/inspect/directory_sizes.h"
#include "core/inspect/statistics_json.h"
#include "core/object/blocking_section.h"
#include "core/plan/policy_choice.h"
#include "core/reorganise/policy_adoption.h"
#include "fusefs/live_numbers.h"
#include "fusefs/load_windows.h"
#include "fusefs/raw_requests.h"
#include "fusefs/reply.h"
#include "fusefs/selinux.h"

namespace cffs::fuse {
namespace {

constexpr std::size_t kAttributeMost = XATTR_SIZE_MAX;

// The virtual attributes of the root are for root and for whoever mounted.
bool may_administer(fuse_req_t req) {
  const uid_t uid = fuse_req_ctx(req)->uid;
  return uid == 0 || uid == ::geteuid();
}

// What only the mount does that may change the store.
bool is_virtual(std::string_view name) {
  return name == kCompactXattr || name == kPolicyXattr || name == kRegroupXattr || name == kScrubXattr ||
         name == kBackupXattr || name == kCommitXattr;
}

std::string follow_json(const FollowedFileSystem& followed) {
  const double age_s = static_cast<double>(followed.clock().now_ns() - followed.checkpoint_at_ns()) / 1e9;
  std::string json = "{\"checkpoint\": " + std::to_string(followed.sequence()) +
                     ", \"age_s\": " + std::to_string(age_s) + ", \"pid\": " + std::to_string(::getpid());
  if (const std::string problem = followed.problem(); !problem.empty()) {
    json += ", \"problem\": " +
            nlohmann::json(problem).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  return json + "}";
}

// The depth behind the attribute's name; nullopt: it is none.
std::optional<unsigned> depth_asked_for(std::string_view name) {
  if (!name.starts_with(kDirectoriesXattr)) return {};
  const std::string_view digits = name.substr(std::string_view(kDirectoriesXattr).size());
  unsigned depth = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), depth);
  if (error != std::errc() || end != digits.data() + digits.size() || depth > kDeepest) return {};
  return depth;
}

// Who watches, and for how long it need not be heard of; nullopt: the attribute is none of these.
struct Viewer {
  std::string id;
  std::int64_t keep_ms = 0;
};
std::optional<Viewer> viewer_asking(std::string_view name) {
  if (!name.starts_with(kLoadXattr)) return {};
  name.remove_prefix(std::string_view(kLoadXattr).size());
  const std::size_t dot = name.find('.');
  if (dot == 0 || dot == std::string_view::npos || dot > 32) return {};
  Viewer viewer{std::string(name.substr(0, dot)), 0};
  const std::string_view digits = name.substr(dot + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), viewer.keep_ms);
  if (error != std::errc() || end != digits.data() + digits.size() || viewer.keep_ms < 0) return {};
  return viewer;
}

// The virtual attributes of the root that are made here; nullopt: not one of them.
std::optional<Result<std::string>> virtual_attribute(MountContext& mount, std::string_view name) {
  if (name == kStatisticsXattr) {
    announce_blocking();  // a scan of the whole table: somebody else receives meanwhile
    const auto state = mount.followed != nullptr ? mount.followed->state() : nullptr;
    const auto statistics = collect_statistics(state ? *state : mount.fs);
    if (!statistics) return Result<std::string>(fail(statistics.error()));
    return Result<std::string>(statistics_json(*statistics, mount.over_ring ? "ring" : "device"));
  }
  if (const auto depth = depth_asked_for(name)) {
    announce_blocking();
    const auto state = mount.followed != nullptr ? mount.followed->state() : nullptr;
    const auto sizes = collect_directory_sizes(state ? *state : mount.fs, *depth);
    if (!sizes) return Result<std::string>(fail(sizes.error()));
    return Result<std::string>(directory_sizes_json(*sizes, kAttributeMost));
  }
  if (name == kLiveXattr && mount.live != nullptr)
    return Result<std::string>(mount.live->json(kAttributeMost));
  if (name == kTableLogXattr) return Result<std::string>(mount.fs.table_log());
  if (const auto viewer = viewer_asking(name); viewer && mount.windows != nullptr) {
    announce_blocking();  // names of directories may have to be read
    return mount.windows->take(viewer->id, viewer->keep_ms, kAttributeMost);
  }
  if (name == kDaemonXattr) return Result<std::string>(std::to_string(::getpid()));
  if (name == kFollowXattr && mount.followed != nullptr)
    return Result<std::string>(follow_json(*mount.followed));
  if (mount.followed != nullptr && is_virtual(name)) return Result<std::string>(fail(EOPNOTSUPP));
  if (name == kCompactXattr) return Result<std::string>(mount.compact_job.status_json());
  if (name == kPolicyXattr) return Result<std::string>(std::string(mount.fs.policy()->name()));
  if (name == kRegroupXattr) return Result<std::string>(mount.regroup_jobs.status_json());
  if (name == kScrubXattr) return Result<std::string>(mount.scrub_job.status_json());
  if (name == kBackupXattr) return Result<std::string>(mount.backup_job.status_json());
  return {};
}

std::optional<Status> set_virtual_attribute(MountContext& mount, std::string_view name,
                                            const std::string& value) {
  if (mount.followed != nullptr && is_virtual(name)) return Status(fail(EROFS));
  const bool regroup = name == kRegroupXattr;
  if (name == kCompactXattr) {
    announce_blocking();
    return value == "begin" ? mount.compact_job.start() : mount.reorganiser.compact_now();
  }
  if (name == kCommitXattr) {
    announce_blocking();
    return mount.fs.commit();
  }
  if (name == kScrubXattr) {
    announce_blocking();  // one that is stopped ends first
    return mount.scrub_job.request(value);
  }
  if (name == kBackupXattr) {
    announce_blocking();
    return mount.backup_job.request(value);
  }
  if (!regroup && name != kPolicyXattr) return {};
  announce_blocking();
  RegroupRequest request;
  if (value.starts_with('{')) {
    auto asked = request_of_json(value);
    if (!asked) return Status(fail(asked.error()));
    request = std::move(*asked);
  } else {
    request.choice.emplace().name = value;
    if (const Status known = check_choice(*request.choice); !known) return known;
  }
  if (regroup && request.cancel) return mount.regroup_jobs.cancel() ? Status() : Status(fail(ENODATA));
  if (!regroup && (request.compression || request.dedupe))
    return Status(fail(
        Error::usage("how composites are compressed, and what files share, is a regrouping's to change")));
  if (!request.choice) {
    return mount.regroup_jobs.start({nullptr, request.compression, request.dedupe, request.dry_run});
  }
  const std::optional<PolicyChoice>& choice = request.choice;
  auto policy = choose_policy(mount.store, *choice);
  if (!policy) {
    mount.log(policy.error().message());
    return Status(fail(policy.error()));
  }
  if (regroup)
    return mount.regroup_jobs.start(
        {std::move(*policy), request.compression, request.dedupe, request.dry_run});
  if (choice->groups) return mount.regroup_jobs.adopt(std::move(*policy));
  mount.fs.set_policy(std::move(*policy));
  return Status();
}

void reply_attributes(fuse_req_t req, const Result<Attributes>& attributes) {
  if (!attributes) {
    fuse_reply_err(req, errno_of(attributes.error()));
    return;
  }
  const struct stat st = stat_of(*attributes);
  fuse_reply_attr(req, &st, kForEver);
}

void getattr(fuse_req_t req, fuse_ino_t node, fuse_file_info*) {
  guarded(req, "getattr", [&] {
    Watch watch(req, Watch::What::getattr, inode_of(node));
    context(req).receipts.told(inode_of(node), fuse_req_ctx(req)->pid);  // a directory's, perhaps
    context(req).receipts.told_of_file(fuse_req_ctx(req)->pid);
    reply_attributes(req, watch.outcome(fs(req).getattr(inode_of(node))));
  });
}

void setattr(fuse_req_t req, fuse_ino_t node, struct stat* attr, int to_set, fuse_file_info*) {
  guarded(req, "setattr", [&] {
    AttributeChange change;
    // Without anything to set, the kernel is about to change the file and leaves clearing its set-id bits to us; so does
    // chown(2) to nobody in particular. With a size, it says that root does without CAP_FSETID (raw_requests.h).
    constexpr int kKnown = FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID | FUSE_SET_ATTR_SIZE |
                           FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_ATIME_NOW | FUSE_SET_ATTR_MTIME |
                           FUSE_SET_ATTR_MTIME_NOW | FUSE_SET_ATTR_CTIME;
    change.drop_set_id = (to_set & kKnown) == 0 || RawRequests::truncation_drops_set_id();
    if ((to_set & FUSE_SET_ATTR_MODE) != 0) change.mode = attr->st_mode & 07777;
    if ((to_set & FUSE_SET_ATTR_UID) != 0) change.uid = attr->st_uid;
    if ((to_set & FUSE_SET_ATTR_GID) != 0) change.gid = attr->st_gid;
    if ((to_set & FUSE_SET_ATTR_SIZE) != 0) change.size = static_cast<std::uint64_t>(attr->st_size);
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    if ((to_set & FUSE_SET_ATTR_ATIME) != 0) change.atime_ns = to_ns(attr->st_atim);
    if ((to_set & FUSE_SET_ATTR_ATIME_NOW) != 0) change.atime_ns = to_ns(now);
    if ((to_set & FUSE_SET_ATTR_MTIME) != 0) change.mtime_ns = to_ns(attr->st_mtim);
    if ((to_set & FUSE_SET_ATTR_MTIME_NOW) != 0) change.mtime_ns = to_ns(now);
    if ((to_set & FUSE_SET_ATTR_CTIME) != 0) change.ctime_ns = to_ns(attr->st_ctim);
    Watch watch(req, Watch::What::utimens, inode_of(node));
    if (change.size) {
      watch.seen().what = Watch::What::truncate;
      watch.seen().length = *change.size;
    } else if (change.mode) {
      watch.seen().what = Watch::What::chmod;
    } else if (change.uid || change.gid) {
      watch.seen().what = Watch::What::chown;
    }
    reply_attributes(req, watch.outcome(fs(req).setattr(inode_of(node), change, caller(req))));
  });
}

void reply_bytes(fuse_req_t req, const std::string& bytes, std::size_t size) {
  if (size == 0) {
    fuse_reply_xattr(req, bytes.size());
  } else if (bytes.size() > size) {
    fuse_reply_err(req, ERANGE);
  } else {
    fuse_reply_buf(req, bytes.data(), bytes.size());
  }
}

// `ls -l` asks for a label of each file, unless it hears that there can be none. Not so of ACLs: who hears that of the access list of a
// directory does not ask for its default list, and cp and tar would leave that out.
int errno_of_absent(const MountContext& mount, std::string_view name, const Error& error) {
  const int code = errno_of(error);
  return code == ENODATA && name == kSelinuxLabel && !mount.labels ? EOPNOTSUPP : code;
}

void getxattr(fuse_req_t req, fuse_ino_t node, const char* name, std::size_t size) {
  guarded(req, "getxattr", [&] {
    if (inode_of(node) == kRootInode && may_administer(req)) {
      // Told once: who has no room for it is not told, and asks again.
      if (size < kAttributeMost && viewer_asking(name)) {
        if (size == 0) {
          fuse_reply_xattr(req, kAttributeMost);
        } else {
          fuse_reply_err(req, ERANGE);
        }
        return;
      }
      if (const auto made = virtual_attribute(context(req), name)) {
        if (!*made) {
          fuse_reply_err(req, errno_of(made->error()));
        } else {
          reply_bytes(req, **made, size);
        }
        return;
      }
    }
    Watch watch(req, Watch::What::getxattr, inode_of(node));
    watch.seen().name = name;
    const auto value = fs(req).getxattr(inode_of(node), name);
    watch.ended(value ? static_cast<std::int64_t>(value->size()) : -errno_of(value.error()));
    if (!value) {
      fuse_reply_err(req, errno_of_absent(context(req), name, value.error()));
    } else {
      reply_bytes(req, *value, size);
    }
  });
}

void listxattr(fuse_req_t req, fuse_ino_t node, std::size_t size) {
  guarded(req, "listxattr", [&] {
    Watch watch(req, Watch::What::listxattr, inode_of(node));
    const auto names = fs(req).listxattr(inode_of(node));
    watch.ended(names ? 0 : -errno_of(names.error()));
    if (!names) {
      fuse_reply_err(req, errno_of(names.error()));
      return;
    }
    const bool sees_trusted = fuse_req_ctx(req)->uid == 0;
    std::string all;
    for (const std::string& name : *names) {
      if (sees_trusted || !name.starts_with("trusted.")) all.append(name).push_back('\0');
    }
    reply_bytes(req, all, size);
  });
}

void setxattr(fuse_req_t req, fuse_ino_t node, const char* name, const char* value, std::size_t size,
              int flags) {
  guarded(req, "setxattr", [&] {
    if (inode_of(node) == kRootInode && may_administer(req)) {
      if (const auto done = set_virtual_attribute(context(req), name, std::string(value, size))) {
        reply_status(req, *done);
        return;
      }
    } else if (inode_of(node) == kRootInode && is_virtual(name)) {
      // Kept as an ordinary one it would be an order of root's, who copies the tree with its attributes into another mount.
      fuse_reply_err(req, EPERM);
      return;
    }
    const XattrMode mode = (flags & XATTR_CREATE) != 0    ? XattrMode::create
                           : (flags & XATTR_REPLACE) != 0 ? XattrMode::replace
                                                          : XattrMode::any;
    if ((flags & XATTR_CREATE) != 0 && (flags & XATTR_REPLACE) != 0) {  // can never be true
      fuse_reply_err(req, fs(req).getxattr(inode_of(node), name) ? EEXIST : ENODATA);
      return;
    }
    Watch watch(req, Watch::What::setxattr, inode_of(node));
    watch.seen().name = name;
    watch.seen().length = size;
    if (!context(req).acl && is_acl(name)) {
      reply_status(req, watch.outcome(Status(fail(EOPNOTSUPP))));
      return;
    }
    const Status set = fs(req).setxattr(inode_of(node), name, {value, size}, mode, caller(req));
    if (set) attributes_changed(req, inode_of(node));
    reply_status(req, watch.outcome(set));
  });
}

void removexattr(fuse_req_t req, fuse_ino_t node, const char* name) {
  guarded(req, "removexattr", [&] {
    Watch watch(req, Watch::What::removexattr, inode_of(node));
    watch.seen().name = name;
    const Status removed = fs(req).removexattr(inode_of(node), name);
    if (removed) attributes_changed(req, inode_of(node));
    reply_status(req, watch.outcome(removed));
  });
}

void statfs(fuse_req_t req, fuse_ino_t) {
  guarded(req, "statfs", [&] {
    const auto space = fs(req).statfs();
    if (!space) {
      fuse_reply_err(req, errno_of(space.error()));
      return;
    }
    constexpr std::uint64_t kBlock = 4096;
    // A file costs about a quarter of a block of table; the table has no other limit.
    constexpr std::uint64_t kFileCost = 1024;
    struct statvfs v {};
    v.f_bsize = kBlock;
    v.f_frsize = kBlock;
    v.f_blocks = space->total_bytes / kBlock;
    v.f_bfree = space->free_bytes / kBlock;
    v.f_bavail = space->available_bytes / kBlock;
    v.f_ffree = space->free_bytes / kFileCost;
    v.f_files =
        v.f_ffree + fs(req).file_count().value_or((space->total_bytes - space->free_bytes) / kFileCost);
    v.f_favail = space->available_bytes / kFileCost;
    v.f_namemax = 255;
    fuse_reply_statfs(req, &v);
  });
}

}  // namespace

void add_attribute_operations(fuse_lowlevel_ops& ops) {
  ops.getattr = getattr;
  ops.setattr = setattr;
  ops.getxattr = getxattr;
  ops.listxattr = listxattr;
  ops.setxattr = setxattr;
  ops.removexattr = removexattr;
  ops.statfs = statfs;
}

}  // namespace cffs::fuse
