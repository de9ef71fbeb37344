// Names for inodes that are there: link, and files that begin without one (O_TMPFILE).
#include <array>

#include "core/fs/check_name.h"
#include "core/fs/engine.h"
#include "core/fs/locking.h"
#include "core/fs/long_parts.h"

namespace cffs {

Result<Attributes> Engine::make_unnamed(InodeId directory_ino, mode_t mode, const Caller& caller) {
  CFFS_TRY(const NodePtr parent, rows_.directory(directory_ino));
  CFFS_TRY_VOID(space_.charge(0));
  Inode inode;
  inode.mode = S_IFREG | (mode & 07777);
  CFFS_TRY_VOID(begin_inode(inode, *parent, caller));
  inode.nlink = 0;
  {
    const ReadLock guard(parent->entries);
    if (parent->unlinked) return fail(ENOENT);
  }
  const bool nameless_row = has_long_parts(inode);  // a list of its directory's
  if (nameless_row) {
    Batch batch;
    CFFS_TRY_VOID(rows_.put_nameless(batch, inode.ino, inode));
    CFFS_TRY_VOID(table_->write(batch));
  }
  auto node = std::make_shared<Node>(remembered(inode), Key::null_name(inode.ino), parent, "", true);
  node->unlinked = true;
  {
    const WriteLock guard(node->mutex);
    node->unnamed = true;
    node->nameless_row = nameless_row;
  }
  nodes_.acquire(node);
  return attributes_of(inode);
}

// A file that never had a name gets its first: what is in memory, or in an object that awaits removal, becomes a row's.
// Held is the stripe of the new entry.
Status Engine::name_unnamed(Node& file, const NodePtr& parent, Key key, std::string_view name,
                            std::int64_t at) {
  CFFS_TRY(Row row, table_->get_row(key));
  if (row.find(name) != nullptr) return fail(EEXIST);
  const bool alone = row.entries.empty();
  CFFS_TRY(Inode inode, rows_.whole(file));
  inode.nlink = 1;
  inode.ctime_ns = at;
  Batch batch;
  if (inode.home == Home::inline_ && file.orphan_bytes) {
    inode.home = Home::none;
    CFFS_TRY_VOID(homes_.put_chunks(batch, inode, 0, file.orphan_bytes->bytes));
    inode.home = Home::inline_;
  }
  if (inode.home == Home::blob) batch.erase(PendingRemoval::of_blob(inode.ino).key());
  if (file.nameless_row) batch.erase(PendingRemoval::of_nameless(inode.ino).key());
  CFFS_TRY_VOID(rows_.insert_entry(batch, key, std::move(row),
                                   Entry{std::string(name), inode.ino, inode.mode & S_IFMT, inode}));
  if (inode.home != Home::none) staged_.note(batch, *parent);
  CFFS_TRY_VOID(table_->write(batch));
  file_count_.added(1);
  file.inode = remembered(std::move(inode));
  file.row_key = key;
  file.row_alone = alone;
  file.row_stale = false;
  file.unlinked = false;
  file.unnamed = false;
  file.parent = parent;
  file.name = name;
  file.nameless_row = false;
  file.let_go_of_content();
  return {};
}

// One more name. With the second, the attributes move to the null-name row and the first name becomes a link (TableFS §3.3).
// Held are the stripes of the new entry, the null name and the present row.
Status Engine::add_link(Node& file, Key old_key, const NodePtr& parent, Key key, std::string_view name,
                        std::int64_t at) {
  if (file.unlinked) return fail(ENOENT);
  if (file.inode.nlink >= kLinkMax) return fail(EMLINK);
  const Key null_key = Key::null_name(file.ino);
  CFFS_TRY(Row row, table_->get_row(key));
  if (row.find(name) != nullptr) return fail(EEXIST);
  CFFS_TRY(Inode inode, rows_.whole(file));
  inode.nlink += 1;
  inode.ctime_ns = at;
  Batch batch;
  if (old_key == key) {  // both names have one hash
    Entry* first = row.find(file.name);
    if (first == nullptr) return fail(lost_row(file.ino));
    first->inode.reset();
  } else if (old_key != null_key) {
    CFFS_TRY(Row old_row, table_->get_row(old_key));
    Entry* first = old_row.find(file.name);
    if (first == nullptr) return fail(lost_row(file.ino));
    first->inode.reset();
    batch.put_row(old_key, old_row);
  }
  batch.put(null_key, encode_single_row("", inode));
  CFFS_TRY_VOID(rows_.insert_entry(batch, key, std::move(row),
                                   Entry{std::string(name), file.ino, inode.mode & S_IFMT, std::nullopt}));
  if (inode.home == Home::inline_ || inode.home == Home::blob) staged_.note(batch, *parent);
  CFFS_TRY_VOID(table_->write(batch));
  file.row_key = null_key;
  file.row_alone = true;
  file.inode = remembered(std::move(inode));
  file.row_stale = false;
  return {};
}

Result<Attributes> Engine::link(InodeId ino, InodeId parent_ino, std::string_view name) {
  CFFS_TRY_VOID(check_new_name(name));
  CFFS_TRY(const NodePtr parent, rows_.directory(parent_ino));
  CFFS_TRY(const NodePtr file, rows_.node(ino));
  CFFS_TRY_VOID(space_.charge(name.size()));
  DirectoryLocks directories;
  directories.want(parent, false);
  directories.lock();
  if (parent->unlinked) return fail(ENOENT);
  if (S_ISDIR(file->type)) return fail(EPERM);
  const std::int64_t at = now();
  parent->entry_count.comes();
  std::optional<Attributes> linked;
  while (!linked) {
    CFFS_TRY(linked, try_link(file, parent, name, at));
  }
  rows_.touch_directory(*parent, at);
  return *linked;
}

// nullopt: the file's row moved between the look and the locks that it asked for.
Result<std::optional<Attributes>> Engine::try_link(const NodePtr& file, const NodePtr& parent,
                                                   std::string_view name, std::int64_t at) {
  const Key key = rows_.entry_key(parent->ino, name);
  Key old_key;
  {
    const ReadLock guard(file->mutex);
    old_key = file->row_key;
  }
  const std::array<Key, 3> keys{key, Key::null_name(file->ino), old_key};
  const RowLocks::Guard stripes(locks_, keys);
  const WriteLock guard(file->mutex);
  if (file->row_key != old_key) return std::optional<Attributes>();
  CFFS_TRY_VOID(file->unnamed ? name_unnamed(*file, parent, key, name, at)
                              : add_link(*file, old_key, parent, key, name, at));
  nodes_.acquire(file);
  return std::optional<Attributes>(attributes_of(file->inode));
}

}  // namespace cffs
