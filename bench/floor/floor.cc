#include "bench/floor/floor.h"

#define FUSE_USE_VERSION 314
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "bench/floor/tree.h"
#include "bench/passthrough/serve.h"
#include "fusefs/connection.h"

namespace cffs::bench {
namespace floor {
namespace {

constexpr double kForEver = 1e9;  // seconds that the kernel may keep names and attributes

Tree& tree(fuse_req_t req) { return *static_cast<Tree*>(fuse_req_userdata(req)); }

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
    node.data.resize(static_cast<std::size_t>(wanted->st_size));
    node.changed();
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

void read(fuse_req_t req, fuse_ino_t node, std::size_t size, off_t offset, fuse_file_info*) {
  const std::string& data = at(req, node).data;
  const std::size_t begin = std::min(data.size(), static_cast<std::size_t>(offset));
  fuse_reply_buf(req, data.data() + begin, std::min(size, data.size() - begin));
}

void write(fuse_req_t req, fuse_ino_t ino, const char* bytes, std::size_t size, off_t offset,
           fuse_file_info*) {
  Node& node = at(req, ino);
  const auto begin = static_cast<std::size_t>(offset);
  if (node.data.size() < begin + size) node.data.resize(begin + size);
  std::copy_n(bytes, size, node.data.begin() + offset);
  node.changed();
  fuse_reply_write(req, size);
}

void fsync(fuse_req_t req, fuse_ino_t, int, fuse_file_info*) { fuse_reply_err(req, 0); }

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

fuse_lowlevel_ops operations() {
  fuse_lowlevel_ops ops{};
  ops.init = [](void*, fuse_conn_info* conn) { configure_connection(conn); };
  ops.open = ops.opendir = refuse_open;
  ops.lookup = lookup;
  ops.forget = forget;
  ops.forget_multi = forget_multi;
  ops.getattr = getattr;
  ops.setattr = setattr;
  ops.mknod = mknod;
  ops.mkdir = mkdir;
  ops.symlink = symlink;
  ops.readlink = readlink;
  ops.link = link;
  ops.unlink = unlink;
  ops.rmdir = rmdir;
  ops.rename = rename;
  ops.read = read;
  ops.write = write;
  ops.fsync = ops.fsyncdir = fsync;
  ops.readdirplus = readdirplus;
  ops.statfs = statfs;
  return ops;
}

}  // namespace
}  // namespace floor

Status serve_floor(const std::string& mount_point, Transport transport) {
  (void)::umask(0);
  floor::Tree tree;
  tree.root().attributes.st_uid = ::geteuid();
  tree.root().attributes.st_gid = ::getegid();
  const fuse_lowlevel_ops ops = floor::operations();
  return serve_until_unmounted("floor", "fsname=floor", ops, &tree, mount_point, 1, transport);
}

}  // namespace cffs::bench
