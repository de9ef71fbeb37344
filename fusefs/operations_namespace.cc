// LOOKUP, FORGET, MKNOD, MKDIR, SYMLINK, LINK, UNLINK, RMDIR, RENAME, READLINK, READDIR, READDIRPLUS.
#include <fcntl.h>
#include <linux/fs.h>

#include <optional>
#include <utility>
#include <vector>

#include "core/base/within_memory.h"
#include "fusefs/reply.h"

namespace cffs::fuse {
namespace {

void lookup(fuse_req_t req, fuse_ino_t parent, const char* name) {
  guarded(req, "lookup", [&] {
    Watch watch(req, Watch::What::lookup, {});
    context(req).receipts.told_of_file(fuse_req_ctx(req)->pid);
    auto found = fs(req).lookup(inode_of(parent), name);
    if (found) *found = told(req, *found);
    (void)watch.named(inode_of(parent), name).outcome(found);
    if (!found && found.error().errno_value == ENOENT) {
      fuse_entry_param negative{};
      negative.entry_timeout = kForEver;
      fuse_reply_entry(req, &negative);
      return;
    }
    reply_entry(req, found);
  });
}

// A new name's inode, or why there is none.
void reply_made(fuse_req_t req, fuse_ino_t parent, const Result<Attributes>& made) {
  if (made) names_changed(req, inode_of(parent));
  reply_entry(req, made);
}

void reply_removed(fuse_req_t req, fuse_ino_t parent, const Status& removed) {
  if (removed) names_changed(req, inode_of(parent));
  reply_status(req, removed);
}

// There is no answer that could say that memory ran out: what was not settled goes with the mount.
void forget_node(fuse_req_t req, fuse_ino_t node, std::uint64_t n) {
  (void)within_memory([&]() -> Status {
    fs(req).forget(inode_of(node), n);
    return {};
  });
}

void forget(fuse_req_t req, fuse_ino_t node, std::uint64_t n) {
  forget_node(req, node, n);
  fuse_reply_none(req);
}

void forget_multi(fuse_req_t req, std::size_t count, fuse_forget_data* forgets) {
  for (std::size_t i = 0; i < count; ++i) forget_node(req, forgets[i].ino, forgets[i].nlookup);
  fuse_reply_none(req);
}

void mknod(fuse_req_t req, fuse_ino_t parent, const char* name, mode_t mode, dev_t rdev) {
  guarded(req, "mknod", [&] {
    Watch watch(req, Watch::What::mknod, {});
    watch.named(inode_of(parent), name);
    reply_made(req, parent, watch.outcome(fs(req).mknod(inode_of(parent), name, mode, rdev, caller(req))));
  });
}

void mkdir(fuse_req_t req, fuse_ino_t parent, const char* name, mode_t mode) {
  guarded(req, "mkdir", [&] {
    Watch watch(req, Watch::What::mkdir, {});
    watch.named(inode_of(parent), name);
    reply_made(req, parent, watch.outcome(fs(req).mkdir(inode_of(parent), name, mode, caller(req))));
  });
}

void symlink(fuse_req_t req, const char* target, fuse_ino_t parent, const char* name) {
  guarded(req, "symlink", [&] {
    Watch watch(req, Watch::What::symlink, {});
    watch.named(inode_of(parent), name).seen().second_name = target;
    reply_made(req, parent, watch.outcome(fs(req).symlink(inode_of(parent), name, target, caller(req))));
  });
}

void link(fuse_req_t req, fuse_ino_t node, fuse_ino_t parent, const char* name) {
  guarded(req, "link", [&] {
    Watch watch(req, Watch::What::link, inode_of(node));
    watch.named(inode_of(parent), name);
    const auto made = fs(req).link(inode_of(node), inode_of(parent), name);
    std::optional<ObservedRequest> filled;
    if (watch.on() && made && made->nlink == 1) {
      // An unnamed file's first name: what is told of it begins here, with the size that it has by now.
      watch.seen().what = Watch::What::mknod;
      filled.emplace(watch.seen());
      filled->what = Watch::What::truncate;
      filled->end_ns = filled->start_ns;
      filled->length = made->size;
    }
    if (filled)
      watch.tell_after(std::move(*filled));  // before the reply frees the request: it may want memory
    reply_made(req, parent, watch.outcome(made));
  });
}

void unlink(fuse_req_t req, fuse_ino_t parent, const char* name) {
  guarded(req, "unlink", [&] {
    Watch watch(req, Watch::What::unlink, {});
    watch.named(inode_of(parent), name);
    reply_removed(req, parent, watch.outcome(fs(req).unlink(inode_of(parent), name)));
  });
}

void rmdir(fuse_req_t req, fuse_ino_t parent, const char* name) {
  guarded(req, "rmdir", [&] {
    Watch watch(req, Watch::What::rmdir, {});
    watch.named(inode_of(parent), name);
    reply_removed(req, parent, watch.outcome(fs(req).rmdir(inode_of(parent), name)));
  });
}

// A rename changes the times of what it moves. Whose they are is asked only where somebody may remember them late; the kernel
// holds both directories until the answer.
void renamed_changed(fuse_req_t req, fuse_ino_t parent, const char* name) {
  const MountContext& mount = context(req);
  if (!mount.receipts.file_may_be_late(fuse_req_ctx(req)->pid)) return;
  const auto moved = within_memory([&] { return mount.fs.lookup(inode_of(parent), name); });
  if (!moved) return;
  forget_attributes(mount, moved->ino);
  mount.fs.forget(moved->ino, 1);
}

void rename(fuse_req_t req, fuse_ino_t parent, const char* name, fuse_ino_t new_parent, const char* new_name,
            unsigned flags) {
  guarded(req, "rename", [&] {
    Watch watch(req, Watch::What::rename, {});
    watch.named(inode_of(parent), name);
    watch.seen().second_parent = inode_of(new_parent);
    watch.seen().second_name = new_name;
    watch.seen().flags = flags;
    RenameMode mode = RenameMode::replace;
    if (flags == RENAME_NOREPLACE) {
      mode = RenameMode::no_replace;
    } else if (flags == RENAME_EXCHANGE) {
      mode = RenameMode::exchange;
    } else if (flags == RENAME_WHITEOUT) {
      mode = RenameMode::whiteout;
    } else if (flags == (RENAME_WHITEOUT | RENAME_NOREPLACE)) {
      mode = RenameMode::whiteout_no_replace;
    } else if (flags != 0) {
      watch.ended(-EINVAL);
      fuse_reply_err(req, EINVAL);
      return;
    }
    const Status renamed = watch.outcome(
        fs(req).rename(inode_of(parent), name, inode_of(new_parent), new_name, mode, caller(req)));
    if (renamed) {
      renamed_changed(req, new_parent, new_name);
      if (mode == RenameMode::exchange) renamed_changed(req, parent, name);
      if (parent != new_parent) names_changed(req, inode_of(new_parent));
    }
    reply_removed(req, parent, renamed);
  });
}

void readlink(fuse_req_t req, fuse_ino_t node) {
  guarded(req, "readlink", [&] {
    Watch watch(req, Watch::What::readlink, inode_of(node));
    const auto target = fs(req).readlink(inode_of(node));
    if (target) fs(req).accessed(inode_of(node));
    watch.ended(target ? static_cast<std::int64_t>(target->size()) : -errno_of(target.error()));
    if (!target) {
      fuse_reply_err(req, errno_of(target.error()));
    } else {
      fuse_reply_readlink(req, target->c_str());
    }
  });
}

void list(fuse_req_t req, fuse_ino_t node, std::size_t size, off_t offset, bool plus) {
  Watch watch(req, Watch::What::readdir, inode_of(node));
  watch.seen().offset = static_cast<std::uint64_t>(offset);
  std::vector<char> buffer(size);
  std::size_t used = 0;
  if (plus) context(req).receipts.told_of_file(fuse_req_ctx(req)->pid);
  const auto deliver = [&](const DirectoryEntry& e) {
    const std::string name(e.name);
    const auto cookie = static_cast<off_t>(e.cookie);
    std::size_t needed = 0;
    if (plus) {
      const bool dots = name == "." || name == "..";
      fuse_entry_param entry = entry_of(context(req), dots ? e.attributes : told(req, e.attributes));
      if (dots) entry.ino = 0;  // counts no reference
      needed = fuse_add_direntry_plus(req, buffer.data() + used, size - used, name.c_str(), &entry, cookie);
    } else {
      const struct stat st = stat_of(e.attributes);
      needed = fuse_add_direntry(req, buffer.data() + used, size - used, name.c_str(), &st, cookie);
    }
    if (needed > size - used) return false;
    if (watch.on() && name != "." && name != "..") {
      ObservedRequest entry;
      entry.what = Watch::What::entry;
      entry.parent = inode_of(node);
      entry.name = name;
      entry.node = e.attributes.ino;
      entry.mode = e.attributes.mode;
      entry.size = e.attributes.size;
      watch.tell(entry);
    }
    used += needed;
    return true;
  };
  // Entries that are in the buffer carry references: where memory ends behind them, they are the answer.
  const Status done = within_memory([&]() -> Status {
    CFFS_TRY_VOID(fs(req).readdir(inode_of(node), static_cast<std::uint64_t>(offset), plus, deliver));
    fs(req).accessed(inode_of(node));
    return {};
  });
  (void)watch.outcome(done);
  if (!done && used == 0) {
    fuse_reply_err(req, errno_of(done));
  } else {
    fuse_reply_buf(req, buffer.data(), used);
  }
}

void readdir(fuse_req_t req, fuse_ino_t node, std::size_t size, off_t offset, fuse_file_info*) {
  guarded(req, "readdir", [&] { list(req, node, size, offset, false); });
}

void readdirplus(fuse_req_t req, fuse_ino_t node, std::size_t size, off_t offset, fuse_file_info*) {
  guarded(req, "readdirplus", [&] { list(req, node, size, offset, true); });
}

void opendir(fuse_req_t req, fuse_ino_t, fuse_file_info*) { fuse_reply_err(req, ENOSYS); }

}  // namespace

void add_namespace_operations(fuse_lowlevel_ops& ops) {
  ops.lookup = lookup;
  ops.forget = forget;
  ops.forget_multi = forget_multi;
  ops.mknod = mknod;
  ops.mkdir = mkdir;
  ops.symlink = symlink;
  ops.link = link;
  ops.unlink = unlink;
  ops.rmdir = rmdir;
  ops.rename = rename;
  ops.readlink = readlink;
  ops.opendir = opendir;
  ops.readdir = readdir;
  ops.readdirplus = readdirplus;
}

}  // namespace cffs::fuse
