// FileSystem: a whole cffs store as a library (TableFS's library form). FUSE is a thin adaptor over it.
//
// Semantics are POSIX's, minus permission checks: like a kernel file system behind the VFS, it is told who
// creates a file (Caller) and otherwise trusts its caller to have checked (the mount uses
// default_permissions).
//
// Inodes are named by number. lookup() and every call that makes an entry hand out a reference, to be given
// back with forget(); an operation on a number without a reference answers ESTALE. The root is always
// referenced. A file whose last name is gone stays usable until its last reference is given back.
//
// What an acknowledgement promises: docs/CONSISTENCY.md. In short: a completed call survives kill -9; after
// fsync() a power cut. Thread safety: everything. Lock ranks: topology, directory entries, row stripes, node;
// see docs/ARCHITECTURE.md.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>
#include <vector>

#include "core/base/clock.h"
#include "core/blob/blob_store.h"
#include "core/composite/composite_accounts.h"
#include "core/composite/composite_store.h"
#include "core/fs/access_record.h"
#include "core/fs/dirty_objects.h"
#include "core/fs/file_count.h"
#include "core/fs/handle_index.h"
#include "core/fs/node_table.h"
#include "core/fs/space_guard.h"
#include "core/fs/store_format.h"
#include "core/table/inode_counter.h"
#include "core/table/row_locks.h"
#include "core/table/table.h"
#include "grouping/policy.h"

namespace cffs {

// When reading a file updates its access time (mount(8)): never; where it is not younger than the last change, or a day
// old; always.
enum class AccessTimes { never, relative, strict };
enum class XattrMode { any, create, replace };

struct FileSystemOptions {
  std::shared_ptr<const grouping::Policy> policy;  // null: directory
  std::int64_t commit_interval_ms = 5000;          // TableFS §3.6
  std::int64_t quiet_ms = 2000;                    // no change for this long: a file may be consolidated
  std::size_t cache_bytes = 32u << 20;             // LevelDB's blocks
  std::uint64_t access_record_bytes = 0;           // ring of recorded accesses; 0: none
  std::size_t open_objects = 1024;                 // descriptors kept open
  AccessTimes access_times = AccessTimes::never;   // what accessed() does
  bool directory_access_times = true;              // also for directories
  bool background = true;                          // commit and consolidate by themselves; off in some tests
  std::shared_ptr<const Clock> clock;              // null: the system's
  std::string boot_id;                          // empty: the kernel's; tells a dead daemon from a power cut
  NameHash name_hash = nullptr;                 // null: XXH3-64; tests force collisions
  std::function<void(const std::string&)> log;  // one line for the administrator; null: dropped
};

struct Attributes {
  InodeId ino;
  mode_t mode = 0;
  std::uint64_t nlink = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  std::uint64_t rdev = 0;
  std::uint64_t size = 0;       // bytes
  std::uint64_t allocated = 0;  // bytes
  std::int64_t atime_ns = 0, mtime_ns = 0, ctime_ns = 0, btime_ns = 0;
};

// Who asks, as far as a file system behind the VFS must know.
struct Caller {
  Caller() = default;
  Caller(uid_t user, gid_t group) : uid(user), gid(group) {}

  uid_t uid = 0;
  gid_t gid = 0;
  mode_t umask = 0;        // for new files where no default ACL takes its place
  bool privileged = true;  // CAP_FSETID: what it changes keeps its set-id bits
  // Whether it belongs to this group; asked only where set-id bits depend on it. Null: to none.
  std::function<bool(gid_t)> in_group;

  bool may_set_group_id(gid_t of) const { return privileged || (in_group && in_group(of)); }
};

struct AttributeChange {
  std::optional<mode_t> mode;  // permission bits
  std::optional<uid_t> uid;
  std::optional<gid_t> gid;
  std::optional<std::uint64_t> size;
  std::optional<std::int64_t> atime_ns, mtime_ns, ctime_ns;
  bool drop_set_id = false;  // the kernel asks for it before it changes the file
};

// whiteout: the old name stays, as a character device 0:0 (union file systems hide lower files with it).
enum class RenameMode { replace, no_replace, exchange, whiteout, whiteout_no_replace };

// What fallocate(2) does to a range.
enum class AllocateMode { reserve, punch_hole, zero_range };

struct DirectoryEntry {
  std::string_view name;
  std::uint64_t cookie = 0;  // readdir continues after it
  const Attributes& attributes;
};

class Committer;
class Consolidator;

class FileSystem {
 public:
  // The store must outlive the file system. Takes the store's lock: EBUSY names the holder.
  static Result<std::unique_ptr<FileSystem>> open(ObjectStore& store, FileSystemOptions options);
  // A new, empty store.
  static Status format(ObjectStore& store, const StoreFormat& format, const Clock& clock);
  // Calls close() if nobody did.
  ~FileSystem();
  // Makes everything durable and ends the background work. No operation may run or follow.
  Status close();

  // --- namespace (namespace.cc, rename.cc) ---
  // "." and ".." too, which also find an inode that was forgotten, by its number (ESTALE where it is gone). ENOENT.
  Result<Attributes> lookup(InodeId parent, std::string_view name);
  void forget(InodeId ino, std::uint64_t references);
  // Any type but directories and symlinks.
  Result<Attributes> mknod(InodeId parent, std::string_view name, mode_t mode, std::uint64_t rdev,
                           const Caller& caller);
  Result<Attributes> mkdir(InodeId parent, std::string_view name, mode_t mode, const Caller& caller);
  Result<Attributes> symlink(InodeId parent, std::string_view name, std::string_view target,
                             const Caller& caller);
  // A regular file without a name, as O_TMPFILE makes it; link() may give it one. Gone with its last reference else.
  Result<Attributes> make_unnamed(InodeId directory, mode_t mode, const Caller& caller);
  Result<Attributes> link(InodeId ino, InodeId parent, std::string_view name);
  Status unlink(InodeId parent, std::string_view name);
  Status rmdir(InodeId parent, std::string_view name);
  Status rename(InodeId parent, std::string_view name, InodeId new_parent, std::string_view new_name,
                RenameMode mode, const Caller& caller = {});
  Result<std::string> readlink(InodeId ino);
  // Entries after `cookie` (0: from the start, "." and ".." first) until visit returns false; an entry for
  // which it does counts as not delivered. With `refer`, every delivered entry but "." and ".." carries a
  // reference.
  Status readdir(InodeId directory, std::uint64_t cookie, bool refer,
                 const std::function<bool(const DirectoryEntry&)>& visit);

  // --- attributes (attributes.cc, xattr.cc) ---
  Result<Attributes> getattr(InodeId ino);
  Result<Attributes> setattr(InodeId ino, const AttributeChange& change, const Caller& caller = {});
  // The file was read, the directory listed, the link followed: its access time may change.
  void accessed(InodeId ino);
  Result<std::string> getxattr(InodeId ino, std::string_view name);  // ENODATA
  Result<std::vector<std::string>> listxattr(InodeId ino);
  // ACLs (core/fs/acl.h) change the mode with them.
  Status setxattr(InodeId ino, std::string_view name, std::string_view value, XattrMode mode,
                  const Caller& caller = {});
  Status removexattr(InodeId ino, std::string_view name);

  // --- data (read.cc, write.cc) ---
  // Short only at the end of the file.
  Result<std::size_t> read(InodeId ino, std::uint64_t offset, Bytes out);
  // All of `data`, or an error and nothing.
  Status write(InodeId ino, std::uint64_t offset, ConstBytes data, const Caller& caller = {});
  // fallocate(2). With `keep_size` the file does not grow. Holes and zeroed ranges read as zeros.
  Status allocate(InodeId ino, std::uint64_t offset, std::uint64_t length, AllocateMode mode, bool keep_size,
                  const Caller& caller = {});
  // Copies at most `length` bytes between two files, or two places of one that do not overlap; returns how many, 0 at
  // the end of the source.
  Result<std::uint64_t> copy_range(InodeId from, std::uint64_t from_offset, InodeId to,
                                   std::uint64_t to_offset, std::uint64_t length, const Caller& caller = {});
  // First offset >= `offset` that may hold data, for sparse copies; ENXIO past the end.
  Result<std::uint64_t> next_data(InodeId ino, std::uint64_t offset);
  // First offset >= `offset` in a hole, the end of the file at the latest; ENXIO past the end.
  Result<std::uint64_t> next_hole(InodeId ino, std::uint64_t offset);

  // Remembers a first read for the access record, where there is one. `stream`: whose accesses follow each other.
  void note_access(InodeId ino, std::uint64_t stream);
  AccessRecord* access_record() { return access_record_.get(); }  // null: none is kept

  // --- durability (durability.cc) ---
  Status fsync(InodeId ino);  // also directories
  Status sync();              // everything
  Result<SpaceInfo> statfs();
  std::optional<std::uint64_t> file_count() const {
    return file_count_->value();
  }  // of any type; not known at once

  // --- reorganising (relocation.cc, bulk_loader.h) ---
  // Looks for small files to consolidate now, quiet or not, and for composites to compact.
  Status consolidate_now();

  const StoreFormat& store_format() const { return format_; }
  std::shared_ptr<const grouping::Policy> policy() const;
  // New files are grouped by this policy from now on; regroup() brings the others along.
  void set_policy(std::shared_ptr<const grouping::Policy> policy);
  Table& table() { return *table_; }
  CompositeStore& composites() { return composites_; }
  ObjectStore& objects() { return store_; }

 private:
  friend class Committer;
  friend class Consolidator;
  friend class Relocation;
  friend class BulkLoader;
  friend class StoreTree;
  friend class Regrouping;
  friend class Regrouper;

  // What a name leads to: the entry, and the inode from its node or row.
  struct Target {
    Entry entry;
    NodePtr node;         // null: nobody refers to it
    Inode inode;          // a copy
    bool linked = false;  // attributes are in the null-name row
    Row row;              // that the entry is in
    bool same_place(const Target& other) const;
  };
  class NodeUpdate;
  class DirectoryLocks;

  FileSystem(ObjectStore& store, FileSystemOptions options, StoreFormat format);

  // file_system.cc
  Key entry_key(InodeId directory, std::string_view name) const;
  Result<NodePtr> node(InodeId ino) const;       // ESTALE
  Result<NodePtr> directory(InodeId ino) const;  // ESTALE, ENOTDIR
  Attributes attributes_of(const Inode& inode) const;
  Status load_root();
  Result<NodePtr> find_by_number(InodeId ino);  // handle_index.cc
  std::int64_t now() const { return options_.clock->now_ns(); }
  void log(const std::string& line) const;

  // namespace.cc
  Result<std::optional<Target>> peek(InodeId parent, std::string_view name) const;
  Result<Inode> linked_inode(InodeId ino) const;
  void append_keys(std::vector<Key>& keys, InodeId parent, std::string_view name, const Target& target) const;
  Result<Attributes> make_entry(InodeId parent, std::string_view name, Inode inode, const Caller& caller);
  Status begin_inode(Inode& inode, const Node& parent, const Caller& caller);
  Status name_unnamed(Node& file, const NodePtr& parent, Key key, std::string_view name, std::int64_t now);
  Status remove_entry(InodeId parent, std::string_view name, bool want_directory);
  Result<bool> directory_is_empty(InodeId ino) const;
  NodePtr refer(const Inode& inode, Key row_key, bool row_alone, NodePtr parent, std::string_view name);
  void touch_directory(Node& directory, std::int64_t now);
  Status insert_entry(Batch& batch, Key key, Row row, Entry entry);

  // What goes with the last link, or one of several. Called with the target's stripes and node locked; the
  // node is changed by finish() once the batch is written.
  struct LinkDrop {
    bool last = false;
    std::optional<std::string> orphan_bytes;
    std::shared_ptr<Object> pinned;
  };
  Result<LinkDrop> drop_link(Batch& batch, CompositeAccounts& accounts, const Target& target,
                             std::int64_t now);
  void finish_drop(const Target& target, LinkDrop drop, std::int64_t now);

  // attributes.cc
  Status put_node(Batch& batch, Node& node);  // its row; needs stripe and node lock
  void mark_stale(Node& node);
  static void drop_set_id(Inode& inode, const Caller& caller);
  static void drop_capabilities(Inode& inode);
  Status flush_node(Node& node);

  // homes.cc: all need the node locked exclusively, and its stripes unless the home is a blob.
  std::uint64_t inline_limit() const;
  Result<std::string> read_chunks(const Inode& inode) const;
  Status put_chunks(Batch& batch, const Inode& inode, std::uint64_t offset, std::string_view data) const;
  void erase_chunks(Batch& batch, const Inode& inode, std::uint64_t first_chunk) const;
  Result<std::string> load_small(const Inode& inode, const Node* node);
  Result<std::shared_ptr<Object>> object_of(const Inode& inode, const Node* node);
  Status replace_small(Node& node, Batch& batch, CompositeAccounts& accounts, std::string content);
  Status move_to_blob(Node& node, Batch& batch, CompositeAccounts& accounts, std::string_view content);
  void leave_home(Batch& batch, CompositeAccounts& accounts, const Inode& inode);

  // read.cc
  Result<std::uint64_t> seek_data_or_hole(InodeId ino, std::uint64_t offset, bool data);

  // write.cc
  Status write_small(Node& node, std::uint64_t offset, ConstBytes data, std::int64_t now,
                     const Caller& caller, bool& done);
  Status write_blob(Node& node, std::uint64_t offset, ConstBytes data, std::int64_t now, const Caller& caller,
                    bool& done);
  Status truncate(Node& node, std::uint64_t size, const Caller& caller);
  Status finish_change(Node& node, Batch& batch, CompositeAccounts& accounts, Status built,
                       const Inode& before, std::int64_t now, const Caller& caller);
  void note_staged(Batch& batch, Node& node);
  void content_changed(Inode& inode, std::int64_t now, const Caller& caller);

  // durability.cc
  Status commit();
  Status recover();
  Status recover_from_power_cut();
  Status mark_open();
  Status mark_closed();
  Status sync_table();
  void queue_removal(std::uint64_t kind, std::uint64_t number);
  Status settle_removals();
  Status write_accounted(Batch& batch, CompositeAccounts& accounts);
  void release_unlinked(Node& node);

  ObjectStore& store_;
  FileSystemOptions options_;
  mutable std::mutex policy_mutex_;  // leaf: options_.policy
  std::atomic<bool> makes_composites_{true};
  const StoreFormat format_;
  std::unique_ptr<StoreLock> store_lock_;
  DirtyObjects dirty_objects_;
  std::unique_ptr<Table> table_;
  std::unique_ptr<InodeCounter> counter_;
  std::unique_ptr<FileCount> file_count_;
  RowLocks locks_;
  std::unique_ptr<HandleIndex> handles_;
  NodeTable nodes_;
  CompositeStore composites_;
  BlobStore blobs_;
  SpaceGuard space_;
  // Inodes below this number may have been made durable with the content they have in the table.
  std::atomic<std::uint64_t> durable_below_{0};
  std::mutex topology_;  // one directory moves between directories at a time, as in the VFS

  std::mutex stale_mutex_;
  std::vector<InodeId> stale_;      // nodes whose rows are behind
  std::vector<InodeId> leftovers_;  // unreferenced nodes that were in use when forgotten

  std::mutex removal_work_;  // held while objects are removed; before removals_mutex_
  std::mutex removals_mutex_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> removals_;  // (kind, number): after the next sync

  std::unique_ptr<AccessRecord> access_record_;
  std::unique_ptr<Committer> committer_;
  std::unique_ptr<Consolidator> consolidator_;
  bool closed_ = false;
};

}  // namespace cffs
