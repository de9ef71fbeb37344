// The engine: FileSystem's implementation, private to core/fs. Its parts each have a file; here they are put together, and
// the operations, in a file each or a family each, use them.
//
//   Table, RowLocks, NodeTable    rows, their locks, the inodes in use
//   NodeRows                      between nodes and rows
//   Homes, CompositeStore, BlobStore, DirtyObjects    where data is, and what of it is not durable yet
//   Removals, StagedDirectories   what is left for later: objects to remove, directories to consolidate
//   Recovery, Committer           how the last user ended; every few seconds
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "core/base/no_room.h"
#include "core/fs/access_record.h"
#include "core/fs/bulk_loader.h"
#include "core/fs/committer.h"
#include "core/fs/dirty_objects.h"
#include "core/fs/early_writeback.h"
#include "core/fs/file_count.h"
#include "core/fs/file_system.h"
#include "core/fs/handle_index.h"
#include "core/fs/homes.h"
#include "core/fs/listed_entries.h"
#include "core/fs/moment.h"
#include "core/fs/node_rows.h"
#include "core/fs/publishing.h"
#include "core/fs/rehousing.h"
#include "core/fs/renamed_files.h"
#include "core/fs/space_guard.h"
#include "core/object/overlay_store.h"
#include "core/table/absent_rows.h"

namespace cffs {

struct ContentChange;

class Engine final : public FileSystem {
 public:
  // What open() has prepared: the lock of the store, its table, and what the table syncs before its rows.
  struct Prepared {
    std::unique_ptr<OverlayStore> overlay;  // null: the store may be changed
    std::unique_ptr<StoreLock> lock;
    std::unique_ptr<DirtyObjects> dirty_objects;
    std::unique_ptr<SpaceGuard> space;
    std::unique_ptr<Publishing> publishing;
    std::unique_ptr<Table> table;
  };
  Engine(ObjectStore& store, FileSystemOptions options, const StoreFormat& format, Prepared prepared);
  ~Engine() override;
  // Loads what every operation needs, recovers, begins background work.
  Status start();
  Status close() override;

  // lookup.cc
  Result<Attributes> lookup(InodeId parent, std::string_view name) override;
  void forget(InodeId ino, std::uint64_t references) override;
  // make_entry.cc
  Result<Attributes> mknod(InodeId parent, std::string_view name, mode_t mode, std::uint64_t rdev,
                           const Caller& caller) override;
  Result<Attributes> mkdir(InodeId parent, std::string_view name, mode_t mode, const Caller& caller) override;
  Result<Attributes> symlink(InodeId parent, std::string_view name, std::string_view target,
                             const Caller& caller) override;
  Result<std::string> readlink(InodeId ino) override;
  // link.cc
  Result<Attributes> make_unnamed(InodeId directory, mode_t mode, const Caller& caller) override;
  Result<Attributes> link(InodeId ino, InodeId parent, std::string_view name) override;
  // unlink.cc, rename.cc, readdir.cc
  Status unlink(InodeId parent, std::string_view name) override;
  Status rmdir(InodeId parent, std::string_view name) override;
  Status rename(InodeId parent, std::string_view name, InodeId new_parent, std::string_view new_name,
                RenameMode mode, const Caller& caller) override;
  Status readdir(InodeId directory, std::uint64_t cookie, bool refer,
                 const std::function<bool(const DirectoryEntry&)>& visit) override;

  // attributes.cc, xattr.cc
  Result<Attributes> getattr(InodeId ino) override;
  Result<Attributes> setattr(InodeId ino, const AttributeChange& change, const Caller& caller) override;
  std::uint64_t set_ids_dropped() const override { return set_ids_dropped_.load(std::memory_order_relaxed); }
  void accessed(InodeId ino) override;
  Result<std::string> getxattr(InodeId ino, std::string_view name) override;
  Result<std::vector<std::string>> listxattr(InodeId ino) override;
  Status setxattr(InodeId ino, std::string_view name, std::string_view value, XattrMode mode,
                  const Caller& caller) override;
  Status removexattr(InodeId ino, std::string_view name) override;

  // read.cc, write.cc, truncate.cc, allocate.cc
  Result<std::size_t> read(InodeId ino, std::uint64_t offset, Bytes out, ReaderId reader = 0) override;
  // group_hand_over.cc
  void on_likely_group(std::function<void(ReaderId, InodeId)> call) override;
  Result<std::size_t> hand_over_group(ReaderId reader, InodeId ino,
                                      const std::function<Taken(InodeId, ConstBytes)>& take) override;
  // read.cc
  Result<std::uint64_t> next_data(InodeId ino, std::uint64_t offset) override;
  Result<std::uint64_t> next_hole(InodeId ino, std::uint64_t offset) override;
  Status write(InodeId ino, std::uint64_t offset, ConstBytes data, const Caller& caller) override;
  Status allocate(InodeId ino, std::uint64_t offset, std::uint64_t length, AllocateMode mode, bool keep_size,
                  const Caller& caller) override;
  Result<std::uint64_t> copy_range(InodeId from, std::uint64_t from_offset, InodeId to,
                                   std::uint64_t to_offset, std::uint64_t length,
                                   const Caller& caller) override;

  // durability.cc
  Status fsync(InodeId ino) override;
  Status sync() override;
  Status commit() override CFFS_EXCLUDES(committing_);

  // engine.cc
  Result<SpaceInfo> statfs() override;
  std::optional<std::uint64_t> file_count() const override { return file_count_.value(); }
  std::size_t known_inodes() override {
    const NodeTable::Counts counts = nodes_.counts();
    return counts.awake + counts.asleep;
  }
  std::vector<InodeId> some_asleep(std::size_t most) override { return nodes_.some_asleep(most); }
  ReadAheadCounters read_ahead() const override { return composites_.read_ahead().counters(); }
  FrameCounters frames() const override { return composites_.frames(); }
  LiveCounters live_counters() override;
  std::string table_log() override { return table_->library_log(); }
  std::optional<EntryName> last_place(InodeId ino) override;
  std::optional<InodeId> last_directory(InodeId ino) override;
  const StoreFormat& store_format() const override { return format_; }
  Status compress(const Compression& how) override;
  Status dedupe(bool on) override;
  Compression compression() const override { return composites_.compression(); }
  const NameHash& name_hash() const override { return *options_.name_hash; }
  std::uint64_t load_limit() const override;
  bool loads(std::uint64_t bytes,
             const std::function<Result<std::size_t>(std::uint64_t, Bytes)>& read) const override;
  Result<std::vector<std::string>> load(std::vector<std::vector<NewFile>> groups) override;
  InodeId next_inode() const override { return InodeId{counter_.peek()}; }
  Status skip_inodes(InodeId first) override { return counter_.raise(first.value); }
  std::shared_ptr<const grouping::Policy> policy() const override;
  void set_policy(std::shared_ptr<const grouping::Policy> policy) override;
  void note_access(InodeId ino, std::uint64_t stream) override;
  AccessRecord* access_record() override { return access_record_.get(); }
  Rehousing& rehousing() override { return rehousing_; }
  StagedDirectories& staged_directories() override { return staged_; }
  FreedComposites& freed_composites() override { return freed_; }
  void on_shortage(std::function<bool(std::uint64_t)> give_back) override {
    space_.on_lasting_shortage(std::move(give_back));
  }
  RenamedFiles& renamed_files() override { return renamed_; }
  Table& table() override { return *table_; }
  CompositeStore& composites() override { return composites_; }
  ObjectStore& objects() override { return store_; }
  const Clock& clock() const override { return *options_.clock; }
  // moment.cc
  Result<std::unique_ptr<Moment>> hold_moment(BlobKeeper& keeper) override;
  bool holds_moment() const override { return moments_.watched(); }
  void log(const std::string& line) const override;

 private:
  class RenameOperation;
  class Listing;

  // What a write did.
  enum class Written {
    done,
    elsewhere,  // the file is, or has just become, of the other kind (blob, or small): nothing is written yet
    sealed,     // the blob's sums are still said to be true: nothing is written yet
    watched,    // a moment is held, and what it needs must be kept first: nothing is written yet
  };
  std::int64_t now() const { return options_.clock->now_ns(); }
  Status load_root();
  Status load_compression();
  Status load_sharing();
  // Its parts follow the policy.
  void adopt(const grouping::Policy& policy);
  Result<EntryName> place_of(InodeId ino, bool anew);
  Result<NodePtr> find_by_number(InodeId ino);
  std::optional<InodeId> forget_one(InodeId ino, std::uint64_t references);
  // Of an inode that nobody refers to any more. EBUSY: somebody uses it.
  Result<std::optional<InodeId>> let_go(InodeId ino);
  Result<NodePtr> refer_again(InodeId ino);
  Result<Attributes> lookup_relative(InodeId ino, bool up);
  Result<Attributes> attributes_at(const NodePtr& found, Key row_key, std::string_view name)
      CFFS_REQUIRES_SHARED(row_stripes);
  void release_unlinked(Node& node);

  Result<Attributes> make_entry(InodeId parent, std::string_view name, Inode inode, const Caller& caller);
  Status insert_new(const NodePtr& parent, std::string_view name, const Inode& inode);
  Status begin_inode(Inode& inode, const Node& parent, const Caller& caller);
  Status name_unnamed(Node& file, const NodePtr& parent, Key key, std::string_view name, std::int64_t at)
      CFFS_REQUIRES(file.mutex, row_stripes);
  Status add_link(Node& file, Key old_key, const NodePtr& parent, Key key, std::string_view name,
                  std::int64_t at) CFFS_REQUIRES(file.mutex, row_stripes);
  Result<std::optional<Attributes>> try_link(const NodePtr& file, const NodePtr& parent,
                                             std::string_view name, std::int64_t at);
  Status remove_entry(InodeId parent, std::string_view name, bool want_directory);
  Result<bool> try_remove(const NodePtr& parent, std::string_view name, const Target& seen,
                          std::uint64_t epoch, std::int64_t at);
  Status remove_locked(const NodePtr& parent, Key key, std::string_view name, Target& target, std::int64_t at)
      CFFS_REQUIRES(row_stripes);

  Result<std::size_t> read_member(Node& node, std::uint64_t offset, Bytes out, ReaderId reader)
      CFFS_REQUIRES_SHARED(node.mutex);
  const Error& told(const Node& node, const Error& error) const CFFS_REQUIRES_SHARED(node.mutex);
  Status read_blob(const Node& node, std::uint64_t offset, Bytes out) const CFFS_REQUIRES_SHARED(node.mutex);
  Result<std::uint64_t> seek_data_or_hole(InodeId ino, std::uint64_t offset, bool data);

  Status write_to_home(Node& node, std::uint64_t offset, ConstBytes data, const Caller& caller);
  Result<Written> write_small(Node& node, std::uint64_t offset, ConstBytes data, std::int64_t now,
                              const Caller& caller);
  Status build_small(Node& node, ContentChange& change, std::uint64_t offset, ConstBytes data)
      CFFS_REQUIRES(node.mutex, row_stripes);
  // A small file gets a blob with its content, to which `then` does the rest. Joins the change; until that is written the
  // file is what it was.
  Status move_to_blob(Node& node, ContentChange& change, const std::function<Status(Object&)>& then,
                      std::uint64_t most = kFileMax) CFFS_REQUIRES(node.mutex, row_stripes);
  // False: there is no room for it in memory.
  Result<bool> write_orphan(Node& node, std::uint64_t offset, ConstBytes data) CFFS_REQUIRES(node.mutex);
  // The whole content anew of what is no blob, in the table or, without a name, in memory or a blob.
  Status put_small(Node& node, ContentChange& change, std::string content)
      CFFS_REQUIRES(node.mutex, row_stripes);
  Result<Written> write_blob(Node& node, std::uint64_t offset, ConstBytes data, std::int64_t now,
                             const Caller& caller, bool passed);
  void note_part_of_change(Node& node) CFFS_REQUIRES(node.mutex);
  // Within a passage: what a held moment needs of the blob's range is kept before it changes. Nothing where it is no blob.
  Status keep_for_moment(Node& node, MomentHold::Passage& passage, std::uint64_t offset, std::uint64_t length)
      CFFS_EXCLUDES(node.mutex);
  // To be called again and again until the node, once locked, is open_to_change().
  Status break_seal(Node& node) CFFS_EXCLUDES(node.mutex, row_stripes);
  Status truncate(Node& node, std::uint64_t size, const Caller& caller);
  Status truncate_locked(Node& node, std::uint64_t size, const Caller& caller)
      CFFS_REQUIRES(node.mutex, row_stripes);
  Status build_truncate(Node& node, ContentChange& change, std::uint64_t size)
      CFFS_REQUIRES(node.mutex, row_stripes);
  // Of a change of so much of the file, how many bytes need room that it has not got yet.
  std::uint64_t bytes_to_find(Node& node, std::uint64_t offset, std::uint64_t length)
      CFFS_EXCLUDES(node.mutex);
  Status make_room_to_grow(Node& node, std::uint64_t size) CFFS_EXCLUDES(node.mutex, row_stripes);
  void give_room_back(Node& node) CFFS_REQUIRES(node.mutex);
  Status build_allocate(Node& node, ContentChange& change, std::uint64_t offset, std::uint64_t length,
                        AllocateMode mode, std::uint64_t new_size) CFFS_REQUIRES(node.mutex, row_stripes);
  // Times and version move; set-id bits and capabilities go.
  void content_changed(Inode& inode, std::int64_t at, const Caller& caller);
  // The end of a change of content that is built, or failed: the row with its new times, and the rest of the batch. A
  // failure leaves the node as it was.
  Status finish_change(Node& node, ContentChange& change, Status built, std::int64_t at, const Caller& caller)
      CFFS_REQUIRES(node.mutex, row_stripes);
  // The same without new times, for what is no change to a reader.
  Status write_change(Node& node, ContentChange& change, Status built) CFFS_REQUIRES(node.mutex, row_stripes);

  std::size_t drop_cached_objects();
  // `once`, and again where the medium had no room for it and some was made, or came from others' removals meanwhile. What is nobody's is
  // given back first; to ask who moves files is more work, and for more. Under a quota nobody knows before whether the former was enough.
  template <typename Once>
  Status with_room(const Once& once) CFFS_EXCLUDES(row_stripes) {
    const auto found_none = [](const Status& done) { return !done && is_no_room(done.error().errno_value); };
    const std::uint64_t turns = removals_.turns();
    Status done = once();
    if (found_none(done) && (give_back_removed() || removals_.turns() != turns)) done = once();
    return found_none(done) && space_.ask_movers(0) ? once() : done;
  }
  // `cost`: bytes that somebody wants; 0: nobody knows.
  bool give_back_removed(std::uint64_t cost = 0);
  void refuse_changes();
  Status leave_clean();
  Status make_durable() CFFS_REQUIRES(committing_);
  // Asks who follows; from the first one on, changes of blobs pass the gate. Whether somebody does.
  bool look_for_followers();
  // Rows and blobs as of one instant, in the checkpoint to come.
  Status cut_checkpoint() CFFS_EXCLUDES(settling_);
  void look_between_commits();
  // Writes the rows that are behind their nodes; the first failure of several.
  Status settle_rows() CFFS_REQUIRES(settling_);
  // The nodes whose rows still are.
  std::unordered_map<InodeId, Inode> unsettled();
  void commit_in_background();
  void settle_early();
  Status sync_table();

  const std::unique_ptr<OverlayStore> overlay_;  // read-only: what store_ is
  ObjectStore& store_;
  FileSystemOptions options_;
  mutable Mutex policy_mutex_;  // leaf
  std::shared_ptr<const grouping::Policy> policy_ CFFS_GUARDED_BY(policy_mutex_);
  const StoreFormat format_;
  std::unique_ptr<StoreLock> store_lock_;
  std::unique_ptr<DirtyObjects> dirty_objects_;
  const std::unique_ptr<Publishing> publishing_owner_;
  Publishing& publishing_;
  const std::unique_ptr<SpaceGuard> space_guard_;
  SpaceGuard& space_;
  std::unique_ptr<Table> table_;
  InodeCounter counter_;
  FileCount file_count_;
  RowLocks locks_;
  AbsentRows absent_;
  Nameless nameless_;  // before the nodes, which have shares of it
  NodeTable nodes_;
  CompositeStore composites_;
  BlobStore blobs_;
  MomentHold moments_;
  Removals removals_;
  StagedDirectories staged_;
  FreedComposites freed_;
  RenamedFiles renamed_;
  ListedEntries listed_;
  NodeRows rows_;
  Homes homes_;
  HandleIndex handles_;
  Rehousing rehousing_;
  BulkLoader loader_;
  // Rank 1, after all others of it: one commit at a time, whoever asks for it.
  Mutex committing_;
  // For who watches.
  std::atomic<std::uint64_t> commits_{0}, commit_failures_{0};
  std::atomic<std::int64_t> last_commit_ns_{0}, last_commit_took_ns_{0};
  // Rank 2: held while rows are brought up to date, so that who holds a moment finds all that are behind.
  Mutex settling_;
  Mutex topology_;  // one directory moves between directories at a time, as in the VFS

  Mutex leftovers_mutex_;  // leaf
  std::vector<InodeId> leftovers_
      CFFS_GUARDED_BY(leftovers_mutex_);  // unreferenced, but in use when forgotten

  EarlyWriteback early_writeback_;
  std::unique_ptr<AccessRecord> access_record_;
  std::unique_ptr<Committer> committer_;
  bool commit_failed_ = false;   // the committer's
  bool removal_failed_ = false;  // the same
  std::atomic<bool> publishing_failed_{false};
  bool started_ = false;
  bool closed_ = false;
  std::atomic<std::uint64_t> set_ids_dropped_{0};
};

}  // namespace cffs
