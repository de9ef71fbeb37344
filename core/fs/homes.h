// The three homes of a file's data, and the moves that a write forces: into the table, or out to a blob. Moves into
// composites are made in the background (core/reorganise).
//
// Inline data is kept in chunks of kChunkBytes under the file's own number, so that a small write to a staged file rewrites
// one chunk. A chunk row is as long as the data it holds; what is missing reads as zeros.
//
// All that changes a file needs its node locked exclusively, and its stripes unless the home is a blob; the rows go with
// the caller's batch.
#pragma once

#include <atomic>

#include "core/base/bytes.h"
#include "core/blob/blob_store.h"
#include "core/composite/composite_accounts.h"
#include "core/composite/composite_store.h"
#include "core/fs/blob_sums.h"
#include "core/fs/dirty_objects.h"
#include "core/fs/nameless.h"
#include "core/fs/node.h"
#include "core/fs/removals.h"
#include "core/fs/space_guard.h"
#include "core/fs/store_format.h"

namespace cffs {

// What a blob has behind its file's end is none of the file's: an operation that failed or was killed left it there. To be
// called before the file grows over it; `size` is the file's.
Status cut_tail(Object& blob, std::uint64_t size);

class Homes {
 public:
  Homes(const StoreFormat& format, Table& table, BlobStore& blobs, CompositeStore& composites,
        DirtyObjects& dirty, Removals& removals, SpaceGuard& space, Nameless& nameless, MomentHold& moments)
      : format_(format),
        table_(table),
        blobs_(blobs),
        composites_(composites),
        dirty_(dirty),
        removals_(removals),
        space_(space),
        nameless_(nameless),
        moments_(moments),
        sums_(table) {}

  // Whether small files leave the table for composites; decided by the policy.
  void use_composites(bool use) { makes_composites_.store(use); }
  // How large the file may become while its data stays in the table, bytes. A file that has content there, and grows, stays for
  // longer: as a blob it costs an object and a sync, at once where that content may be durable, with the next commit else.
  std::uint64_t inline_limit(const Inode& inode) const;
  // Files with lower numbers may have been made durable with the content that they have in the table, or will be by who calls: to be
  // said before that one looks at what else it has to make durable.
  void note_durable_below(std::uint64_t number) {
    std::uint64_t known = durable_below_.load();
    while (known < number && !durable_below_.compare_exchange_weak(known, number)) {
    }
  }

  // The object that holds the file's data. A missing one is damage to the store, not a missing file.
  Result<std::shared_ptr<Object>> object_of(const Inode& inode) const;
  Result<std::shared_ptr<Object>> object_of(const Node& node) const CFFS_REQUIRES_SHARED(node.mutex);
  // The whole content of a file that is not a blob; of a member that is not in memory its group is read, too, but for a node's, which
  // somebody changes.
  Result<std::string> load_small(const Inode& inode) const;
  Result<std::string> load_small(const Node& node) const CFFS_REQUIRES_SHARED(node.mutex);
  // As many of its first bytes; of a large member no more is in memory.
  Result<std::string> load_head(const Node& node, std::uint64_t bytes) const CFFS_REQUIRES_SHARED(node.mutex);
  // Bytes of inline data from `offset` on. What no chunk holds is damage; zeros in a store that is not dense_inline.
  Status read_inline(const Inode& inode, std::uint64_t offset, Bytes out) const;

  // Where `offset` lies behind the file's end, with zeros in between.
  Status put_chunks(Batch& batch, const Inode& inode, std::uint64_t offset, std::string_view data) const;
  // The chunks of an inline file from this one on go.
  void erase_chunks(Batch& batch, const Inode& inode, std::uint64_t first_chunk) const;
  // Cuts an inline file off at `size` bytes, below its own.
  Status cut_chunks(Batch& batch, const Inode& inode, std::uint64_t size) const;
  BlobSums& sums() { return sums_; }
  const BlobSums& sums() const { return sums_; }
  // What the inode's data is in now is no longer its; an object waits for its removal from this batch on.
  Status leave(Batch& batch, CompositeAccounts& accounts, const Inode& inode) const;

  // What files without a name hold is counted here.
  Nameless& nameless() { return nameless_; }
  bool has_room_for(std::uint64_t bytes) { return space_.try_charge(bytes); }
  // A file without a name holds this from now on. False: the budget has no room, nothing changed; it has to become a blob then.
  bool hold(Node& node, std::string& content) CFFS_REQUIRES(node.mutex);

  // The content of a file with a name anew, in the table. What was there goes.
  Status replace_small(Node& node, Batch& batch, CompositeAccounts& accounts,
                       const std::string& content) const CFFS_REQUIRES(node.mutex, row_stripes);
  // A move to a blob has two steps, and between them the caller may do more to the object. First a blob that holds
  // `content`. Nothing names it: until take_blob()'s batch is written, a crash
  // has recovery remove it, and a failure the caller, by drop_blob().
  Result<std::shared_ptr<Object>> make_blob(const Inode& replaced, std::string_view content)
      CFFS_REQUIRES(row_stripes);
  // The same with what the file has now, up to so many bytes, at its place; of a large member no more than a piece is in memory.
  Result<std::shared_ptr<Object>> make_blob_of(const Node& node, std::uint64_t most)
      CFFS_REQUIRES(node.mutex, row_stripes);
  // Then the inode, or a mover's copy of it, says that its data is there, durable where the content that it replaces may be; what
  // it was in goes. `named`: some row is the
  // inode's; else the blob goes with the last reference.
  Status take_blob(Inode& inode, Batch& batch, CompositeAccounts& accounts,
                   const std::shared_ptr<Object>& blob, bool named) CFFS_REQUIRES(row_stripes);
  // To be called without locks by who has written to objects: too many that are not durable are synced now. Where that
  // fails the table refuses writes from then on, so the commit, and everybody else, learns of it.
  void limit_dirty() {
    if (when_many_are_dirty_ && dirty_.begins_to_fill()) when_many_are_dirty_();
    if (!dirty_.limit()) table_.poison();
  }
  // Who is told that a sync_dirty() soon would spare writers one; called before anybody writes.
  void on_many_dirty(std::function<void()> told) { when_many_are_dirty_ = std::move(told); }
  bool is_dirty(InodeId ino) const { return dirty_.holds(ino); }
  // What objects hold now is durable when it returns; where that fails the table refuses writes from then on.
  Status sync_dirty() {
    Status done = dirty_.sync_all();
    if (!done) table_.poison();
    return done;
  }
  void drop_blob(InodeId ino) { removals_.queue_blob(ino); }

 private:
  Status check_small(const Inode& inode) const;
  Result<std::string> load(const Inode& inode) const;
  Result<std::shared_ptr<Object>> composite_of(const Node& node) const CFFS_REQUIRES_SHARED(node.mutex);
  Result<std::string> load_member(const Node& node) const CFFS_REQUIRES_SHARED(node.mutex);
  bool may_be_durable(const Inode& inode) const;
  Status settle_blob(const Inode& replaced, Object& blob);
  // Damage where a chunk has less than the file's size wants.
  Status check_chunk(const Inode& inode, std::uint64_t chunk, std::size_t stored) const;
  Result<std::string> read_chunks(const Inode& inode) const;

  const StoreFormat& format_;
  Table& table_;
  BlobStore& blobs_;
  CompositeStore& composites_;
  DirtyObjects& dirty_;
  std::function<void()> when_many_are_dirty_;
  Removals& removals_;
  SpaceGuard& space_;
  Nameless& nameless_;
  MomentHold& moments_;
  BlobSums sums_;
  std::atomic<bool> makes_composites_{true};
  std::atomic<std::uint64_t> durable_below_{0};
};

}  // namespace cffs
