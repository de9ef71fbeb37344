// Entries that bring a new inode along: mknod, mkdir, symlink; and what every new inode gets by itself.
#include "core/fs/acl.h"
#include "core/fs/check_name.h"
#include "core/fs/engine.h"
#include "core/fs/locking.h"
#include "core/fs/set_id.h"

namespace cffs {

// Number, owner, group, mode, ACLs, times: by itself, from its directory, from who asks.
Status Engine::begin_inode(Inode& inode, const Node& parent, const Caller& caller) {
  CFFS_TRY(inode.ino.value, counter_.next());
  inode.uid = caller.uid();
  inode.gid = caller.gid();
  inode.atime_ns = inode.mtime_ns = inode.ctime_ns = inode.btime_ns = now();
  inode.nlink = inode.is_directory() ? 2 : 1;
  const ReadLock guard(parent.mutex);
  if ((parent.inode.mode & S_ISGID) != 0) {
    inode.gid = parent.inode.gid;
    if (inode.is_directory()) {
      inode.mode |= S_ISGID;
    } else if ((inode.mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP)) {
      inode.mode = allowed_mode(inode.mode, inode.gid, caller);  // a member's to give away, as to chmod(2)
    }
  }
  if (inode.is_symlink()) return {};
  std::optional<Inode> whole;  // of a directory that has more than nodes remember
  if (parent.inode.left_in_row) {
    CFFS_TRY(whole, rows_.whole(parent));
  }
  const std::string* inherited = find_xattr(whole ? whole->xattrs : parent.inode.xattrs, kDefaultAcl);
  const auto acl = inherited != nullptr ? Acl::parse(*inherited) : Result<std::optional<Acl>>(std::nullopt);
  if (!acl || !*acl) {  // none, or nothing that could be applied
    inode.mode &= ~(caller.umask() & 0777);
    return {};
  }
  const Acl own = (*acl)->inherited(inode.mode);
  if (!own.is_minimal()) inode.xattrs.emplace_back(kAccessAcl, own.bytes());
  if (inode.is_directory()) inode.xattrs.emplace_back(kDefaultAcl, *inherited);
  return {};
}

Result<Attributes> Engine::make_entry(InodeId parent_ino, std::string_view name, Inode inode,
                                      const Caller& caller) {
  CFFS_TRY_VOID(check_new_name(name));
  CFFS_TRY(const NodePtr parent, rows_.directory(parent_ino));
  CFFS_TRY_VOID(space_.charge(name.size() + inode.target.size()));
  CFFS_TRY_VOID(begin_inode(inode, *parent, caller));

  DirectoryLocks directories;
  directories.want(parent, false);
  directories.lock();
  if (parent->unlinked) return fail(ENOENT);
  CFFS_TRY_VOID(insert_new(parent, name, inode));
  if (!inode.is_directory()) rows_.touch_directory(*parent, inode.ctime_ns);
  return attributes_of(inode);
}

// The entry's row; for a directory its parent's too, which counts one more link. The node is referenced.
Status Engine::insert_new(const NodePtr& parent, std::string_view name, const Inode& inode) {
  const Key key = rows_.entry_key(parent->ino, name);
  const bool is_directory = inode.is_directory();
  parent->entry_count.comes();
  for (;;) {
    std::vector<Key> keys{key};
    if (is_directory) {
      const ReadLock guard(parent->mutex);
      keys.push_back(parent->row_key);
    }
    const RowLocks::Guard stripes(locks_, keys);
    const NodeLocks nodes({is_directory ? parent : nullptr});

    Row row;
    if (!absent_.still(stripes, key)) {
      CFFS_TRY(row, table_->get_row(key));
    }
    if (row.find(name) != nullptr) return fail(EEXIST);
    const bool alone = row.entries.empty();
    Batch batch;
    CFFS_TRY_VOID(rows_.insert_entry(batch, key, std::move(row),
                                     Entry{std::string(name), inode.ino, inode.mode & S_IFMT, inode}));
    if (!is_directory) {
      CFFS_TRY_VOID(table_->write(batch));
    } else {
      parent->mutex.assert_held();
      if (parent->row_key != keys[1]) continue;
      const Inode before = parent->inode;
      parent->inode.nlink += 1;
      parent->inode.mtime_ns = parent->inode.ctime_ns = inode.ctime_ns;
      Status done = rows_.put(batch, *parent);
      if (done) done = table_->write(batch);
      if (!done) {
        parent->inode = before;
        return done;
      }
    }
    file_count_.added(1);
    CFFS_TRY(const NodePtr made, rows_.refer(inode, key, alone, parent, name));
    if (is_directory)
      made->entry_count.starts_empty();  // before the stripe is let go: nobody else can have come by it
    return {};
  }
}

Result<Attributes> Engine::mknod(InodeId parent, std::string_view name, mode_t mode, std::uint64_t rdev,
                                 const Caller& caller) {
  const mode_t type = mode & S_IFMT;
  if (type == S_IFDIR || type == S_IFLNK) return fail(EINVAL);
  Inode inode;
  inode.mode = (type == 0 ? S_IFREG : type) | (mode & 07777);
  if (!is_file_mode(inode.mode)) return fail(EINVAL);
  inode.rdev = type == S_IFCHR || type == S_IFBLK ? rdev : 0;
  return make_entry(parent, name, std::move(inode), caller);
}

Result<Attributes> Engine::mkdir(InodeId parent, std::string_view name, mode_t mode, const Caller& caller) {
  Inode inode;
  inode.mode = S_IFDIR | (mode & 07777);
  return make_entry(parent, name, std::move(inode), caller);
}

Result<Attributes> Engine::symlink(InodeId parent, std::string_view name, std::string_view target,
                                   const Caller& caller) {
  if (target.size() > kSymlinkMax) return fail(ENAMETOOLONG);
  Inode inode;
  inode.mode = S_IFLNK | 0777;
  inode.target = target;
  return make_entry(parent, name, std::move(inode), caller);
}

Result<std::string> Engine::readlink(InodeId ino) {
  CFFS_TRY(const NodePtr link, rows_.node(ino));
  const ReadLock guard(link->mutex);
  if (!link->inode.is_symlink()) return fail(EINVAL);
  if (!link->inode.left_in_row) return link->inode.target;
  CFFS_TRY(const Inode whole, rows_.whole(*link));
  return whole.target;
}

}  // namespace cffs
