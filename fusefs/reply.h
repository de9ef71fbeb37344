// Conversions between FUSE's terms and the engine's: private to fusefs.
#pragma once

#include <algorithm>
#include <exception>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/within_memory.h"
#include "fusefs/errno_map.h"
#include "fusefs/operations.h"

namespace cffs::fuse {

// Longest that libfuse can express: nobody but this daemon changes the store.
inline constexpr double kForEver = 1e9;
inline constexpr std::uint64_t kGeneration = 1;  // inode numbers are never reused

// The root's node where it lies below a top of its own (hidden_top.h): beyond all inode numbers.
inline constexpr fuse_ino_t kNodeOfRootBelowTop = kInodeLimit;

inline InodeId inode_of(fuse_ino_t node) {
  return node == FUSE_ROOT_ID || node == kNodeOfRootBelowTop ? kRootInode : InodeId{node};
}
// Without the revision that a followed file may have (core/follow/followed_file_system.h).
inline ino_t visible_number(InodeId ino) {
  return ino == kRootInode ? FUSE_ROOT_ID : ino.value & (kInodeLimit - 1);
}
inline fuse_ino_t node_of(const MountContext& mount, InodeId ino) {
  if (ino != kRootInode) return ino.value;
  return mount.below_top ? kNodeOfRootBelowTop : FUSE_ROOT_ID;
}

inline MountContext& context(fuse_req_t req) { return *static_cast<MountContext*>(fuse_req_userdata(req)); }
inline FileSystem& fs(fuse_req_t req) { return context(req).fs; }
inline Caller caller(fuse_req_t req) {
  const fuse_ctx* ctx = fuse_req_ctx(req);
  if (ctx->uid == 0) return Caller::privileged(ctx->uid, ctx->gid).with_umask(ctx->umask);
  const auto in_group = [req, own = ctx->gid](gid_t wanted) {
    if (wanted == own) return true;
    std::vector<gid_t> groups(64);
    int n = fuse_req_getgroups(req, static_cast<int>(groups.size()), groups.data());
    if (n > static_cast<int>(groups.size())) {
      groups.resize(static_cast<std::size_t>(n));
      n = fuse_req_getgroups(req, n, groups.data());
    }
    groups.resize(static_cast<std::size_t>(std::clamp(n, 0, static_cast<int>(groups.size()))));
    return std::find(groups.begin(), groups.end(), wanted) != groups.end();
  };
  return Caller::unprivileged(ctx->uid, ctx->gid, in_group).with_umask(ctx->umask);
}

inline struct stat stat_of(const Attributes& a) {
  struct stat st {};
  st.st_ino = visible_number(a.ino);
  st.st_mode = a.mode;
  st.st_nlink = a.nlink;
  st.st_uid = a.uid;
  st.st_gid = a.gid;
  st.st_rdev = a.rdev;
  st.st_size = static_cast<off_t>(a.size);
  st.st_blksize = 4096;
  st.st_blocks = static_cast<blkcnt_t>((a.allocated + 511) / 512);
  st.st_atim = to_timespec(a.atime_ns);
  st.st_mtim = to_timespec(a.mtime_ns);
  st.st_ctim = to_timespec(a.ctime_ns);
  return st;
}

inline fuse_entry_param entry_of(const MountContext& mount, const Attributes& a) {
  fuse_entry_param entry{};
  entry.ino = node_of(mount, a.ino);
  entry.generation = kGeneration;
  entry.attr = stat_of(a);
  entry.attr_timeout = kForEver;
  // A file with several names: nobody knows all those by which it must be forgotten when its content changes.
  const bool asks_again = mount.followed != nullptr && !S_ISDIR(a.mode) && a.nlink > 1;
  entry.entry_timeout = asks_again ? 0 : kForEver;
  return entry;
}

inline void reply_status(fuse_req_t req, const Status& status) { fuse_reply_err(req, errno_of(status)); }

// A new entry carries a reference; if the reply does not reach the kernel, nobody will give it back. (forget() throws nothing.)
inline void reply_entry(fuse_req_t req, const Result<Attributes>& made) {
  if (!made) {
    fuse_reply_err(req, errno_of(made.error()));
    return;
  }
  FileSystem& engine = fs(req);
  const fuse_entry_param entry = entry_of(context(req), *made);
  if (fuse_reply_entry(req, &entry) != 0) engine.forget(made->ino, 1);
}

// Attributes that are about to be answered, where they are a directory's: known as told, and then read again.
inline Attributes told(fuse_req_t req, const Attributes& read) {
  if (!S_ISDIR(read.mode)) return read;
  context(req).receipts.told(read.ino, fuse_req_ctx(req)->pid);
  // An exception would take the reference along that comes with an entry.
  const auto now = within_memory([&] { return fs(req).getattr(read.ino); });
  return now ? *now : read;
}

// The kernel forgets the inode's attributes, and whatever answer about them it has not remembered yet.
inline void forget_attributes(const MountContext& mount, InodeId ino) {
  constexpr off_t kNoData = -1;
  (void)fuse_lowlevel_notify_inval_inode(mount.session, node_of(mount, ino), kNoData, 0);
}

// A name in the directory came or went, and that is about to be answered.
inline void names_changed(fuse_req_t req, InodeId directory) {
  const MountContext& mount = context(req);
  if (mount.receipts.may_be_late(directory, fuse_req_ctx(req)->pid)) forget_attributes(mount, directory);
}

// Attributes of this inode changed in a way of which the kernel keeps no count (attribute_receipts.h), and that is about to be
// answered.
inline void attributes_changed(fuse_req_t req, InodeId ino) {
  const MountContext& mount = context(req);
  if (mount.receipts.file_may_be_late(fuse_req_ctx(req)->pid)) forget_attributes(mount, ino);
}

// A change of a file's content: where it takes set-id bits away, the kernel has to forget the mode that it knows before the change is
// answered. It asks for that beforehand only of who owns the file.
class SetIdWatch {
 public:
  explicit SetIdWatch(fuse_req_t req) : mount_(context(req)), before_(mount_.fs.set_ids_dropped()) {}
  void changed(InodeId file) const {
    if (mount_.fs.set_ids_dropped() != before_) forget_attributes(mount_, file);
  }

 private:
  const MountContext& mount_;
  const std::uint64_t before_;
};

// What an observer is told about the request at hand: once, when its outcome is known, before the answer. Whoever acts on the answer is
// told of behind it. Costs a comparison where nobody observes.
class Watch {
 public:
  using What = ObservedRequest::What;
  Watch(fuse_req_t req, What what, InodeId node)
      : Watch(context(req).observer, what, node, fuse_req_ctx(req)->pid) {}
  Watch(RequestObserver* observer, What what, InodeId node, pid_t process) : observer_(observer) {
    if (observer_ == nullptr) return;
    seen_.what = what;
    seen_.node = node;
    seen_.process = process;
    seen_.start_ns = now();
  }
  ~Watch() {
    if (!told_) ended(-EIO);  // an exception, which is answered so
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  bool on() const { return observer_ != nullptr; }
  ObservedRequest& seen() { return seen_; }
  Watch& named(InodeId parent, std::string_view name) {
    seen_.parent = parent;
    seen_.name = name;
    return *this;
  }
  // Tells the outcome, behind which nothing that was seen is changed: a number of bytes, or -errno.
  void ended(std::int64_t result) {
    if (observer_ == nullptr) return;
    seen_.result = result;
    seen_.end_ns = now();
    observer_->observe(seen_);
    if (after_) observer_->observe(*after_);
    told_ = true;
  }
  // The same, and hands it on; where it is good, the result is what was seen to be.
  const Status& outcome(const Status& status) {
    ended(status ? seen_.result : -errno_of(status));
    return status;
  }
  const Result<Attributes>& outcome(const Result<Attributes>& attributes) {
    if (attributes) {
      seen_.node = attributes->ino;
      seen_.mode = attributes->mode;
      seen_.size = attributes->size;
    }
    ended(attributes ? seen_.result : -errno_of(attributes.error()));
    return attributes;
  }
  // The request is not at its end: nothing is told, and another watch goes on with it.
  std::optional<ObservedRequest> leave() {
    if (std::exchange(observer_, nullptr) == nullptr) return {};
    return seen_;
  }
  void go_on_with(const ObservedRequest& before) { seen_ = before; }
  // Tells about something else that this request brought up.
  void tell(const ObservedRequest& other) {
    if (observer_ != nullptr) observer_->observe(other);
  }
  // The same, behind what this watch itself tells.
  void tell_after(ObservedRequest other) { after_ = std::move(other); }

 private:
  static std::int64_t now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return to_ns(t);
  }
  RequestObserver* observer_;
  ObservedRequest seen_;
  std::optional<ObservedRequest> after_;
  bool told_ = false;
};

// Runs one operation; an exception that escapes becomes EIO and a log line, or ENOMEM where there was no memory. A reply frees the request:
// behind its own an operation throws nothing.
template <typename Operation>
void guarded(fuse_req_t req, const char* name, Operation operation) {
  MountContext& mount = context(req);
  try {
    operation();
  } catch (const std::bad_alloc&) {
    fuse_reply_err(req, ENOMEM);  // no log line: it wants memory, too
  } catch (const std::exception& e) {
    if (mount.log) mount.log(std::string("operation ") + name + " failed: " + e.what());
    fuse_reply_err(req, EIO);
  }
}

}  // namespace cffs::fuse

namespace cffs::fuse {

// The three parts of the table, one per file.
void add_namespace_operations(fuse_lowlevel_ops& ops);
void add_attribute_operations(fuse_lowlevel_ops& ops);
void add_data_operations(fuse_lowlevel_ops& ops);

}  // namespace cffs::fuse
