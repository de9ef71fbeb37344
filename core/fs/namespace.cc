// Entries come and go: mknod, mkdir, symlink, link, unlink, rmdir. Rename has a file of its own.
//
// All follow one pattern, because locks must be taken in rank order but only the rows say which are needed:
// look without locks (peek), lock what that names, look again; where the second look differs, start over.
#include <array>

#include "core/fs/acl.h"
#include "core/fs/consolidator.h"
#include "core/fs/file_system.h"
#include "core/fs/locking.h"

namespace cffs {
namespace {

Status check_new_name(std::string_view name) {
  if (name.empty() || name == "." || name == "..") return fail(name.empty() ? ENOENT : EEXIST);
  if (name.size() > 255) return fail(ENAMETOOLONG);
  if (name.find('/') != std::string_view::npos || name.find('\0') != std::string_view::npos)
    return fail(EINVAL);
  return {};
}

}  // namespace

Result<Inode> FileSystem::linked_inode(InodeId ino) const {
  CFFS_TRY(const Row row, table_->get_row(Key::null_name(ino)));
  const Entry* entry = row.find("");
  if (entry == nullptr || !entry->inode) return fail(ESTALE);
  return *entry->inode;
}

Result<std::optional<FileSystem::Target>> FileSystem::peek(InodeId parent, std::string_view name) const {
  for (;;) {
    Target target;
    CFFS_TRY(target.row, table_->get_row(entry_key(parent, name)));
    const Entry* entry = target.row.find(name);
    if (entry == nullptr) return std::optional<Target>();
    target.entry = *entry;
    target.linked = !entry->inode.has_value();
    target.node = nodes_.find(entry->ino);
    if (target.node) {
      const std::shared_lock guard(target.node->mutex);
      target.inode = target.node->inode;
    } else if (entry->inode) {
      target.inode = *entry->inode;
    } else {
      auto inode = linked_inode(entry->ino);
      if (!inode && inode.error().errno_value == ESTALE) continue;  // the last link went in between
      if (!inode) return fail(inode.error());
      target.inode = std::move(*inode);
    }
    return std::optional<Target>(std::move(target));
  }
}

void FileSystem::append_keys(std::vector<Key>& keys, InodeId parent, std::string_view name,
                             const Target& target) const {
  keys.push_back(entry_key(parent, name));
  if (target.linked) keys.push_back(Key::null_name(target.entry.ino));
  if (target.inode.home == Home::composite) keys.push_back(Key::null_name(target.inode.extent.composite));
}

// Adds the entry to the row; nodes that shared the row with nobody until now learn that they do.
Status FileSystem::insert_entry(Batch& batch, Key key, Row row, Entry entry) {
  if (row.entries.size() == 1 && row.entries.front().inode) {
    if (const NodePtr neighbour = nodes_.find(row.entries.front().ino)) neighbour->row_alone = false;
  }
  row.insert(std::move(entry));
  batch.put_row(key, row);
  return {};
}

void FileSystem::touch_directory(Node& directory, std::int64_t now_ns) {
  const std::unique_lock guard(directory.mutex);
  directory.inode.mtime_ns = directory.inode.ctime_ns = now_ns;
  mark_stale(directory);
}

// What a new inode gets by itself and from its directory: number, owner, group, mode, ACLs, times.
Status FileSystem::begin_inode(Inode& inode, const Node& parent, const Caller& caller) {
  CFFS_TRY(inode.ino.value, counter_->next());
  inode.uid = caller.uid;
  inode.gid = caller.gid;
  inode.atime_ns = inode.mtime_ns = inode.ctime_ns = inode.btime_ns = now();
  inode.nlink = inode.is_directory() ? 2 : 1;
  const std::shared_lock guard(parent.mutex);
  if ((parent.inode.mode & S_ISGID) != 0) {
    inode.gid = parent.inode.gid;
    if (inode.is_directory()) inode.mode |= S_ISGID;
  }
  if (inode.is_symlink()) return {};
  const std::string* inherited = find_xattr(parent.inode.xattrs, kDefaultAcl);
  const auto acl = inherited != nullptr ? Acl::parse(*inherited) : Result<std::optional<Acl>>(std::nullopt);
  if (!acl || !*acl) {  // none, or nothing that could be applied
    inode.mode &= ~(caller.umask & 0777);
    return {};
  }
  const Acl own = (*acl)->inherited(inode.mode);
  if (!own.is_minimal()) inode.xattrs.emplace_back(kAccessAcl, own.bytes());
  if (inode.is_directory()) inode.xattrs.emplace_back(kDefaultAcl, *inherited);
  return {};
}

Result<Attributes> FileSystem::make_entry(InodeId parent_ino, std::string_view name, Inode inode,
                                          const Caller& caller) {
  CFFS_TRY_VOID(check_new_name(name));
  CFFS_TRY(const NodePtr parent, directory(parent_ino));
  CFFS_TRY_VOID(space_.charge(name.size() + inode.target.size()));
  CFFS_TRY_VOID(begin_inode(inode, *parent, caller));
  const std::int64_t at = inode.ctime_ns;
  const bool is_directory = inode.is_directory();

  DirectoryLocks directories;
  directories.want(parent, false);
  directories.lock();
  if (parent->unlinked) return fail(ENOENT);
  const Key key = entry_key(parent_ino, name);
  for (;;) {
    std::vector<Key> keys{key};
    if (is_directory) {
      const std::shared_lock guard(parent->mutex);
      keys.push_back(parent->row_key);
    }
    const RowLocks::Guard rows(locks_, keys);
    const NodeLocks nodes({is_directory ? parent : nullptr});
    if (is_directory && parent->row_key != keys[1]) continue;

    CFFS_TRY(Row row, table_->get_row(key));
    if (row.find(name) != nullptr) return fail(EEXIST);
    const bool alone = row.entries.empty();
    Batch batch;
    CFFS_TRY_VOID(insert_entry(batch, key, std::move(row),
                               Entry{std::string(name), inode.ino, inode.mode & S_IFMT, inode}));
    const Inode before = is_directory ? parent->inode : Inode{};
    if (is_directory) {
      parent->inode.nlink += 1;
      parent->inode.mtime_ns = parent->inode.ctime_ns = at;
      CFFS_TRY_VOID(put_node(batch, *parent));
    }
    if (Status done = table_->write(batch); !done) {
      if (is_directory) parent->inode = before;
      return fail(done.error());
    }
    file_count_->added(1);
    (void)refer(inode, key, alone, parent, name);
    break;
  }
  if (!is_directory) touch_directory(*parent, at);
  return attributes_of(inode);
}

Result<Attributes> FileSystem::mknod(InodeId parent, std::string_view name, mode_t mode, std::uint64_t rdev,
                                     const Caller& caller) {
  const mode_t type = mode & S_IFMT;
  if (type == S_IFDIR || type == S_IFLNK) return fail(EINVAL);
  Inode inode;
  inode.mode = type == 0 ? (mode | S_IFREG) : mode;
  inode.rdev = type == S_IFCHR || type == S_IFBLK ? rdev : 0;
  return make_entry(parent, name, std::move(inode), caller);
}

Result<Attributes> FileSystem::mkdir(InodeId parent, std::string_view name, mode_t mode,
                                     const Caller& caller) {
  Inode inode;
  inode.mode = S_IFDIR | (mode & 07777);
  return make_entry(parent, name, std::move(inode), caller);
}

Result<Attributes> FileSystem::symlink(InodeId parent, std::string_view name, std::string_view target,
                                       const Caller& caller) {
  if (target.size() > 4095) return fail(ENAMETOOLONG);
  Inode inode;
  inode.mode = S_IFLNK | 0777;
  inode.target = target;
  return make_entry(parent, name, std::move(inode), caller);
}

Result<Attributes> FileSystem::make_unnamed(InodeId directory_ino, mode_t mode, const Caller& caller) {
  CFFS_TRY(const NodePtr parent, directory(directory_ino));
  CFFS_TRY_VOID(space_.charge(0));
  Inode inode;
  inode.mode = S_IFREG | (mode & 07777);
  CFFS_TRY_VOID(begin_inode(inode, *parent, caller));
  inode.nlink = 0;
  {
    const std::shared_lock guard(parent->entries);
    if (parent->unlinked) return fail(ENOENT);
  }
  const NodePtr made = nodes_.acquire(inode.ino, [&] {
    auto node = std::make_shared<Node>(inode, Key::null_name(inode.ino), parent, "", true);
    node->unlinked = true;
    node->unnamed = true;
    return node;
  });
  return attributes_of(inode);
}

// A file that never had a name gets its first: what is in memory, or in an object that awaits removal, becomes a row's.
// Called with the stripe of the new entry and the node locked.
Status FileSystem::name_unnamed(Node& file, const NodePtr& parent, Key key, std::string_view name,
                                std::int64_t at) {
  CFFS_TRY(Row row, table_->get_row(key));
  if (row.find(name) != nullptr) return fail(EEXIST);
  const bool alone = row.entries.empty();
  Inode inode = file.inode;
  inode.nlink = 1;
  inode.ctime_ns = at;
  Batch batch;
  if (inode.home == Home::inline_ && file.orphan_bytes) {
    inode.home = Home::none;
    CFFS_TRY_VOID(put_chunks(batch, inode, 0, *file.orphan_bytes));
    inode.home = Home::inline_;
  }
  if (inode.home == Home::blob) batch.erase(pending_blob_key(inode.ino));
  CFFS_TRY_VOID(insert_entry(batch, key, std::move(row),
                             Entry{std::string(name), inode.ino, inode.mode & S_IFMT, inode}));
  if (inode.home != Home::none) consolidator_->note(batch, *parent);
  CFFS_TRY_VOID(table_->write(batch));
  file_count_->added(1);
  file.inode = std::move(inode);
  file.row_key = key;
  file.row_alone = alone;
  file.row_stale = false;
  file.unlinked = false;
  file.unnamed = false;
  file.parent = parent;
  file.name = name;
  file.orphan_bytes.reset();
  file.pinned.reset();
  return {};
}

Result<Attributes> FileSystem::link(InodeId ino, InodeId parent_ino, std::string_view name) {
  CFFS_TRY_VOID(check_new_name(name));
  CFFS_TRY(const NodePtr parent, directory(parent_ino));
  CFFS_TRY(const NodePtr file, node(ino));
  CFFS_TRY_VOID(space_.charge(name.size()));
  DirectoryLocks directories;
  directories.want(parent, false);
  directories.lock();
  if (parent->unlinked) return fail(ENOENT);
  const Key key = entry_key(parent_ino, name);
  const Key null_key = Key::null_name(ino);
  const std::int64_t at = now();
  Attributes result;
  for (;;) {
    Key old_key;
    {
      const std::shared_lock guard(file->mutex);
      if (file->inode.is_directory()) return fail(EPERM);
      old_key = file->row_key;
    }
    const std::array<Key, 3> keys{key, null_key, old_key};
    const RowLocks::Guard rows(locks_, keys);
    const std::unique_lock guard(file->mutex);
    if (file->row_key != old_key) continue;
    if (file->unnamed) {
      CFFS_TRY_VOID(name_unnamed(*file, parent, key, name, at));
      (void)nodes_.acquire(ino, [&] { return file; });
      result = attributes_of(file->inode);
      break;
    }
    if (file->unlinked) return fail(ENOENT);
    if (file->inode.nlink >= 65000) return fail(EMLINK);

    CFFS_TRY(Row row, table_->get_row(key));
    if (row.find(name) != nullptr) return fail(EEXIST);
    Inode inode = file->inode;
    inode.nlink += 1;
    inode.ctime_ns = at;
    Batch batch;
    const mode_t type = inode.mode & S_IFMT;
    if (old_key != null_key) {
      // The second name: attributes move to the null-name row, the first name becomes a link (TableFS §3.3).
      if (old_key == key) {
        Entry* first = row.find(file->name);
        CFFS_INVARIANT(first != nullptr);
        first->inode.reset();
      } else {
        CFFS_TRY(Row old_row, table_->get_row(old_key));
        Entry* first = old_row.find(file->name);
        CFFS_INVARIANT(first != nullptr);
        first->inode.reset();
        batch.put_row(old_key, old_row);
      }
    }
    batch.put(null_key, encode_single_row("", inode));
    CFFS_TRY_VOID(
        insert_entry(batch, key, std::move(row), Entry{std::string(name), ino, type, std::nullopt}));
    if (inode.home == Home::inline_ || inode.home == Home::blob) consolidator_->note(batch, *parent);
    CFFS_TRY_VOID(table_->write(batch));
    file->row_key = null_key;
    file->row_alone = true;
    file->inode = inode;
    file->row_stale = false;
    (void)nodes_.acquire(ino, [&] { return file; });
    result = attributes_of(inode);
    break;
  }
  touch_directory(*parent, at);
  return result;
}

Result<bool> FileSystem::directory_is_empty(InodeId ino) const {
  bool empty = true;
  Status decoded;
  CFFS_TRY_VOID(
      table_->scan(Key::entry(ino, 0), Key::entry(ino, ~std::uint64_t{0}), [&](Key, std::string_view v) {
        const auto row = decode_row(v);
        if (!row) {
          decoded = fail(row.error());
          return false;
        }
        for (const Entry& entry : row->entries) empty = empty && entry.name.empty();
        return empty;
      }));
  CFFS_TRY_VOID(decoded);
  return empty;
}

Result<FileSystem::LinkDrop> FileSystem::drop_link(Batch& batch, CompositeAccounts& accounts,
                                                   const Target& target, std::int64_t at) {
  LinkDrop drop;
  const Inode& inode = target.inode;
  if (target.linked && inode.nlink > 1) {
    Inode left = inode;
    left.nlink -= 1;
    left.ctime_ns = at;
    batch.put(Key::null_name(inode.ino), encode_single_row("", left));
    return drop;
  }
  drop.last = true;
  if (target.linked) batch.erase(Key::null_name(inode.ino));
  // Whoever still has the file open keeps its data: bytes of the table in memory, an object by its handle. Data that is
  // damaged must not keep the file from being removed.
  if (target.node && inode.home == Home::inline_) {
    if (auto bytes = load_small(inode, nullptr)) drop.orphan_bytes = std::move(*bytes);
  } else if (target.node && inode.home != Home::none) {
    if (auto object = object_of(inode, nullptr)) drop.pinned = std::move(*object);
  }
  leave_home(batch, accounts, inode);
  return drop;
}

void FileSystem::finish_drop(const Target& target, LinkDrop drop, std::int64_t at) {
  if (drop.last) file_count_->removed();
  if (!target.node) {
    if (drop.last && target.inode.home == Home::blob) queue_removal(kPendingBlob, target.inode.ino.value);
    return;
  }
  Node& node = *target.node;
  node.inode.ctime_ns = at;
  node.row_stale = false;
  if (!drop.last) {
    node.inode.nlink -= 1;
    return;
  }
  node.inode.nlink = 0;
  node.unlinked = true;
  node.orphan_bytes = std::move(drop.orphan_bytes);
  node.pinned = std::move(drop.pinned);
}

Status FileSystem::remove_entry(InodeId parent_ino, std::string_view name, bool want_directory) {
  CFFS_TRY(const NodePtr parent, directory(parent_ino));
  if (name == "." || name == "..") return fail(name == "." ? EINVAL : ENOTEMPTY);
  const Key key = entry_key(parent_ino, name);
  const std::int64_t at = now();
  for (;;) {
    CFFS_TRY(const auto seen, peek(parent_ino, name));
    if (!seen) return fail(ENOENT);
    if (seen->inode.is_directory() != want_directory) return fail(want_directory ? ENOTDIR : EISDIR);
    DirectoryLocks directories;
    directories.want(parent, false);
    if (want_directory && seen->node) directories.want(seen->node, true);
    directories.lock();
    std::vector<Key> keys;
    append_keys(keys, parent_ino, name, *seen);
    Key parent_key;
    if (want_directory) {
      const std::shared_lock guard(parent->mutex);
      parent_key = parent->row_key;
      keys.push_back(parent_key);
    }
    const RowLocks::Guard rows(locks_, keys);
    CFFS_TRY(auto target, peek(parent_ino, name));
    if (!target) return fail(ENOENT);
    if (!target->same_place(*seen)) continue;
    if (want_directory) {
      CFFS_TRY(const bool empty, directory_is_empty(target->entry.ino));
      if (!empty) return fail(ENOTEMPTY);
    }
    const NodeLocks nodes({target->node, want_directory ? parent : nullptr});
    if (want_directory && parent->row_key != parent_key) continue;
    if (target->node) target->inode = target->node->inode;
    if (!target->same_place(*seen)) continue;  // a write may have moved it before the node was locked

    Batch batch;
    CompositeAccounts accounts(*table_);
    target->row.erase(name);
    batch.put_row(key, target->row);
    LinkDrop drop;
    const Inode parent_before = want_directory ? parent->inode : Inode{};
    if (want_directory) {
      drop.last = true;
      parent->inode.nlink -= 1;
      parent->inode.mtime_ns = parent->inode.ctime_ns = at;
      CFFS_TRY_VOID(put_node(batch, *parent));
    } else {
      CFFS_TRY(drop, drop_link(batch, accounts, *target, at));
    }
    if (Status done = write_accounted(batch, accounts); !done) {
      if (want_directory) parent->inode = parent_before;
      return fail(done.error());
    }
    finish_drop(*target, std::move(drop), at);
    break;
  }
  if (!want_directory) touch_directory(*parent, at);
  return {};
}

Status FileSystem::unlink(InodeId parent, std::string_view name) { return remove_entry(parent, name, false); }
Status FileSystem::rmdir(InodeId parent, std::string_view name) { return remove_entry(parent, name, true); }

}  // namespace cffs
