#include "bench/floor/floor.h"

#define FUSE_USE_VERSION 314
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <vector>

#include "bench/floor/tree.h"
#include "bench/passthrough/serve.h"
#include "core/base/mutex.h"
#include "core/object/blocking_section.h"
#include "fusefs/connection.h"
#include "fusefs/parked_requests.h"

namespace cffs::bench {
namespace floor {
namespace {

constexpr double kForEver = 1e9;  // seconds that the kernel may keep names and attributes

struct Served {
  Mutex mutex;  // of the tree: all operations hold it, but while they wait for the disk
  Tree tree;
  std::optional<Pack> pack;
};

Served& served(fuse_req_t req) { return *static_cast<Served*>(fuse_req_userdata(req)); }

Tree& tree(fuse_req_t req) { return served(req).tree; }

Node& at(fuse_req_t req, fuse_ino_t node) {
  return node == FUSE_ROOT_ID ? tree(req).root() : *reinterpret_cast<Node*>(node);
}

fuse_entry_param entry_of(Node& node) {
  ++node.known;
  fuse_entry_param entry{};
  entry.ino = reinterpret_cast<fuse_ino_t>(&node);
  entry.attr = node.attributes;
  entry.attr_timeout = entry.entry_timeout = kForEver;
  return entry;
}

void reply_entry(fuse_req_t req, Node& node) {
  const fuse_entry_param entry = entry_of(node);
  fuse_reply_entry(req, &entry);
}

void refuse_open(fuse_req_t req, fuse_ino_t, fuse_file_info*) { fuse_reply_err(req, ENOSYS); }

void lookup(fuse_req_t req, fuse_ino_t parent, const char* name) {
  if (Node* found = Tree::find(at(req, parent), name); found != nullptr) return reply_entry(req, *found);
  fuse_entry_param none{};
  none.entry_timeout = kForEver;
  fuse_reply_entry(req, &none);
}

void forget(fuse_req_t req, fuse_ino_t node, std::uint64_t times) {
  tree(req).forget(at(req, node), times);
  fuse_reply_none(req);
}

void forget_multi(fuse_req_t req, std::size_t count, fuse_forget_data* forgets) {
  for (std::size_t i = 0; i < count; ++i) tree(req).forget(at(req, forgets[i].ino), forgets[i].nlookup);
  fuse_reply_none(req);
}

void getattr(fuse_req_t req, fuse_ino_t node, fuse_file_info*) {
  fuse_reply_attr(req, &at(req, node).attributes, kForEver);
}

void setattr(fuse_req_t req, fuse_ino_t ino, struct stat* wanted, int set, fuse_file_info*) {
  Node& node = at(req, ino);
  struct stat& a = node.attributes;
  if ((set & FUSE_SET_ATTR_SIZE) != 0) {
    const auto size = static_cast<std::uint64_t>(wanted->st_size);
    if (served(req).pack) {
      resize(node.extents, size);
    } else {
      node.data.resize(size);
    }
    node.changed_to(size);
  }
  if ((set & FUSE_SET_ATTR_MODE) != 0) a.st_mode = (a.st_mode & S_IFMT) | (wanted->st_mode & 07777);
  if ((set & FUSE_SET_ATTR_UID) != 0) a.st_uid = wanted->st_uid;
  if ((set & FUSE_SET_ATTR_GID) != 0) a.st_gid = wanted->st_gid;
  if ((set & FUSE_SET_ATTR_ATIME) != 0) a.st_atim = wanted->st_atim;
  if ((set & FUSE_SET_ATTR_MTIME) != 0) a.st_mtim = wanted->st_mtim;
  if ((set & FUSE_SET_ATTR_ATIME_NOW) != 0) a.st_atim = now();
  if ((set & FUSE_SET_ATTR_MTIME_NOW) != 0) a.st_mtim = now();
  a.st_ctim = now();
  fuse_reply_attr(req, &a, kForEver);
}

Node* make(fuse_req_t req, fuse_ino_t parent, const char* name, mode_t mode) {
  const fuse_ctx* who = fuse_req_ctx(req);
  Node* made = tree(req).make(at(req, parent), name, mode, who->uid, who->gid);
  if (made == nullptr) fuse_reply_err(req, EEXIST);
  return made;
}

void mknod(fuse_req_t req, fuse_ino_t parent, const char* name, mode_t mode, dev_t device) {
  Node* made = make(req, parent, name, mode);
  if (made == nullptr) return;
  made->attributes.st_rdev = device;
  reply_entry(req, *made);
}

void mkdir(fuse_req_t req, fuse_ino_t parent, const char* name, mode_t mode) {
  if (Node* made = make(req, parent, name, S_IFDIR | mode); made != nullptr) reply_entry(req, *made);
}

void symlink(fuse_req_t req, const char* target, fuse_ino_t parent, const char* name) {
  Node* made = make(req, parent, name, S_IFLNK | 0777);
  if (made == nullptr) return;
  made->data = target;
  made->changed();
  reply_entry(req, *made);
}

void readlink(fuse_req_t req, fuse_ino_t node) { fuse_reply_readlink(req, at(req, node).data.c_str()); }

void link(fuse_req_t req, fuse_ino_t node, fuse_ino_t parent, const char* name) {
  const int problem = tree(req).link(at(req, parent), name, at(req, node));
  problem == 0 ? reply_entry(req, at(req, node)) : static_cast<void>(fuse_reply_err(req, problem));
}

void unlink(fuse_req_t req, fuse_ino_t parent, const char* name) {
  fuse_reply_err(req, tree(req).remove(at(req, parent), name, false));
}

void rmdir(fuse_req_t req, fuse_ino_t parent, const char* name) {
  fuse_reply_err(req, tree(req).remove(at(req, parent), name, true));
}

void rename(fuse_req_t req, fuse_ino_t parent, const char* name, fuse_ino_t new_parent, const char* new_name,
            unsigned flags) {
  fuse_reply_err(req, tree(req).rename(at(req, parent), name, at(req, new_parent), new_name, flags));
}

// A READ of what is on the disk. Like a read of cffs's own it is parked where the disk answers soon.
struct DiskRead {
  bool run();  // false: it may be there when it is run again
  fuse_req_t req;
  Extents extents;
  std::size_t size;
  bool begins;  // a file is read from its beginning
};

bool DiskRead::run() {
  thread_local std::vector<char> buffer;
  if (buffer.size() < size) buffer.resize(size);
  const std::span<char> out(buffer.data(), size);
  const Pack& pack = *served(req).pack;
  Status done;
  if (!pack.try_read(extents, begins, out)) {
    if (may_leave()) return false;
    announce_blocking();
    done = pack.read(extents, out);
  }
  done ? fuse_reply_buf(req, out.data(), out.size()) : fuse_reply_err(req, done.error().errno_value);
  return true;
}

class ParkedRead final : public ParkedRequest {
 public:
  explicit ParkedRead(DiskRead read) : read_(std::move(read)) {}
  bool resume() override { return read_.run(); }

 private:
  DiskRead read_;
};

void read_from_disk(fuse_req_t req, fuse_ino_t node, std::size_t size, off_t offset, fuse_file_info*) {
  DiskRead wanted{req, {}, 0, offset == 0};
  {
    const MutexLock guard(served(req).mutex);
    wanted.extents = part_of(at(req, node).extents, static_cast<std::uint64_t>(offset), size);
  }
  for (const Extent& extent : wanted.extents) wanted.size += extent.bytes;
  if (!wanted.run()) Parking::of_this_thread()->park(std::make_unique<ParkedRead>(std::move(wanted)));
}

void read(fuse_req_t req, fuse_ino_t node, std::size_t size, off_t offset, fuse_file_info*) {
  const std::string& data = at(req, node).data;
  const std::size_t begin = std::min(data.size(), static_cast<std::size_t>(offset));
  fuse_reply_buf(req, data.data() + begin, std::min(size, data.size() - begin));
}

void write(fuse_req_t req, fuse_ino_t ino, const char* bytes, std::size_t size, off_t offset,
           fuse_file_info*) {
  Node& node = at(req, ino);
  const auto begin = static_cast<std::uint64_t>(offset);
  const std::uint64_t end =
      std::max<std::uint64_t>(static_cast<std::uint64_t>(node.attributes.st_size), begin + size);
  if (auto& pack = served(req).pack) {
    const auto piece = pack->append({bytes, size});
    if (!piece) return static_cast<void>(fuse_reply_err(req, piece.error().errno_value));
    if (begin > static_cast<std::uint64_t>(node.attributes.st_size)) resize(node.extents, begin);
    replace(node.extents, begin, *piece);
  } else {
    if (node.data.size() < end) node.data.resize(end);
    std::copy_n(bytes, size, node.data.begin() + offset);
  }
  node.changed_to(end);
  fuse_reply_write(req, size);
}

void fsync(fuse_req_t req, fuse_ino_t, int, fuse_file_info*) {
  Status done;
  if (const auto& pack = served(req).pack) {
    announce_blocking();
    done = pack->sync();
  }
  fuse_reply_err(req, done ? 0 : done.error().errno_value);
}

void readdirplus(fuse_req_t req, fuse_ino_t ino, std::size_t size, off_t offset, fuse_file_info*) {
  Node& directory = at(req, ino);
  std::vector<char> buffer(size);
  std::size_t used = 0;
  // Whether there was room.
  const auto add = [&](const char* name, const fuse_entry_param& entry, std::uint64_t cookie) {
    const std::size_t n = fuse_add_direntry_plus(req, buffer.data() + used, size - used, name, &entry,
                                                 static_cast<off_t>(cookie));
    if (n > size - used) return false;
    used += n;
    return true;
  };
  fuse_entry_param dots{};
  dots.attr.st_mode = S_IFDIR;
  dots.attr.st_ino = directory.attributes.st_ino;
  bool room = offset >= 1 || add(".", dots, 1);
  dots.attr.st_ino = directory.parent->attributes.st_ino;
  room = room && (offset >= 2 || add("..", dots, 2));
  const auto from = static_cast<std::uint64_t>(std::max<off_t>(offset, 2));
  for (auto it = directory.entries.upper_bound(from); room && it != directory.entries.end(); ++it) {
    room = add(it->second.name.c_str(), entry_of(*it->second.node), it->first);
    if (!room) --it->second.node->known;
  }
  fuse_reply_buf(req, buffer.data(), used);
}

void statfs(fuse_req_t req, fuse_ino_t) {
  struct statvfs v {};
  v.f_bsize = v.f_frsize = 4096;
  v.f_blocks = v.f_bfree = v.f_bavail = 1u << 28;
  v.f_files = v.f_ffree = v.f_favail = 1u << 30;
  v.f_namemax = 255;
  fuse_reply_statfs(req, &v);
}

// An operation on the tree, which it has for itself.
template <auto Operation>
struct Alone;
template <typename... Rest, void (*Operation)(fuse_req_t, Rest...)>
struct Alone<Operation> {
  static void call(fuse_req_t req, Rest... rest) {
    const MutexLock guard(served(req).mutex);
    Operation(req, rest...);
  }
};

void no_xattr(fuse_req_t req, fuse_ino_t, const char*, std::size_t) { fuse_reply_err(req, ENODATA); }

void no_xattrs(fuse_req_t req, fuse_ino_t, std::size_t size) {
  if (size == 0) {
    fuse_reply_xattr(req, 0);
  } else {
    fuse_reply_buf(req, nullptr, 0);
  }
}

fuse_lowlevel_ops operations(bool on_disk, bool answers_xattrs) {
  fuse_lowlevel_ops ops{};
  ops.init = [](void*, fuse_conn_info* conn) { configure_connection(conn); };
  ops.open = ops.opendir = refuse_open;
  ops.lookup = Alone<lookup>::call;
  ops.forget = Alone<forget>::call;
  ops.forget_multi = Alone<forget_multi>::call;
  ops.getattr = Alone<getattr>::call;
  ops.setattr = Alone<setattr>::call;
  ops.mknod = Alone<mknod>::call;
  ops.mkdir = Alone<mkdir>::call;
  ops.symlink = Alone<symlink>::call;
  ops.readlink = Alone<readlink>::call;
  ops.link = Alone<link>::call;
  ops.unlink = Alone<unlink>::call;
  ops.rmdir = Alone<rmdir>::call;
  ops.rename = Alone<rename>::call;
  ops.read = on_disk ? read_from_disk : Alone<read>::call;
  ops.write = Alone<write>::call;
  ops.fsync = ops.fsyncdir = fsync;
  ops.readdirplus = Alone<readdirplus>::call;
  ops.statfs = statfs;
  if (answers_xattrs) {
    ops.getxattr = no_xattr;
    ops.listxattr = no_xattrs;
  }
  return ops;
}

}  // namespace
}  // namespace floor

Status serve_floor(const std::string& mount_point, const FloorOptions& options) {
  (void)::umask(0);
  floor::Served served;
  if (!options.pack.empty()) {
    CFFS_TRY(served.pack, floor::Pack::make(options.pack));
  }
  served.tree.root().attributes.st_uid = ::geteuid();
  served.tree.root().attributes.st_gid = ::getegid();
  constexpr unsigned kThreads = 32;  // that wait for the disk at a time
  const fuse_lowlevel_ops ops = floor::operations(served.pack.has_value(), options.answers_xattrs);
  return serve_until_unmounted("floor", "fsname=floor", ops, &served, mount_point, served.pack ? kThreads : 1,
                               options.transport);
}

}  // namespace cffs::bench
