// fsync, the periodic commit, the removal of objects that no row needs, and recovery at open.
//
// Removal of an object waits until the batch that made it unneeded is durable; else a power cut could bring
// back a row without its data. A pending_removal row, written in that same batch, remembers it across a
// crash. The same row, written before an object is made and erased by the batch that first names it, catches
// objects that never got there.
#include "core/fs/committer.h"
#include "core/fs/consolidator.h"
#include "core/fs/file_system.h"
#include "core/fs/locking.h"
#include "core/object/blocking_section.h"

namespace cffs {
namespace {
const Key kOpenKey = Key::tagged(KeyTag::system, 0, 2);
}

Status FileSystem::fsync(InodeId ino) {
  CFFS_TRY(const NodePtr found, node(ino));
  announce_blocking();
  std::shared_ptr<Object> blob;
  bool stale = false;
  {
    const std::shared_lock guard(found->mutex);
    stale = found->row_stale;
    if (found->inode.home == Home::blob) {
      CFFS_TRY(blob, object_of(found->inode, found.get()));
    }
  }
  if (blob) {
    if (Status done = blob->sync(); !done) {
      table_->poison();
      return done;
    }
  }
  if (stale) CFFS_TRY_VOID(flush_node(*found));
  return sync_table();
}

Status FileSystem::sync_table() {
  durable_below_.store(counter_->peek());
  return table_->sync();
}

Status FileSystem::sync() {
  announce_blocking();
  return commit();
}

Status FileSystem::mark_closed() {
  Batch batch;
  batch.erase(kOpenKey);
  file_count_->save(batch);
  CFFS_TRY_VOID(table_->write(batch));
  return table_->sync();
}

Status FileSystem::commit() {
  std::vector<InodeId> stale, leftovers;
  {
    const std::lock_guard guard(stale_mutex_);
    stale.swap(stale_);
    leftovers.swap(leftovers_);
  }
  for (const InodeId ino : stale) {
    if (const NodePtr node = nodes_.find(ino)) CFFS_TRY_VOID(flush_node(*node));
  }
  for (const InodeId ino : leftovers) forget(ino, 0);
  if (Status done = dirty_objects_.sync_all(); !done) {
    table_->poison();
    return done;
  }
  CFFS_TRY_VOID(sync_table());
  return settle_removals();
}

void FileSystem::queue_removal(std::uint64_t kind, std::uint64_t number) {
  const std::lock_guard guard(removals_mutex_);
  removals_.emplace(kind, number);
}

Status FileSystem::settle_removals() {
  const std::lock_guard one_at_a_time(removal_work_);
  std::set<std::pair<std::uint64_t, std::uint64_t>> due;
  {
    const std::lock_guard guard(removals_mutex_);
    due = removals_;
  }
  if (due.empty()) return {};
  CFFS_TRY_VOID(table_->sync());
  Batch batch;
  for (const auto& [kind, number] : due) {
    CFFS_TRY_VOID(kind == kPendingBlob ? blobs_.remove(InodeId{number})
                                       : composites_.remove(CompositeId{number}));
    batch.erase(Key::tagged(KeyTag::pending_removal, number, kind));
  }
  CFFS_TRY_VOID(table_->write(batch));
  const std::lock_guard guard(removals_mutex_);
  for (const auto& removed : due) removals_.erase(removed);
  return {};
}

// Writes the batch with the composites' rows that it changes. Emptied composites are queued for removal, wasteful ones for
// compaction. The caller holds the stripes of all of them.
Status FileSystem::write_accounted(Batch& batch, CompositeAccounts& accounts) {
  CFFS_TRY(const auto outcome, accounts.write(batch));
  CFFS_TRY_VOID(table_->write(batch));
  for (const CompositeId id : outcome.emptied) queue_removal(kPendingComposite, id.value);
  for (const CompositeId id : outcome.wasteful) consolidator_->note_wasteful(id);
  return {};
}

// The last reference to a file without a name is gone; so is its data.
void FileSystem::release_unlinked(Node& node) {
  const std::unique_lock guard(node.mutex);
  node.row_stale = false;
  if (node.inode.home == Home::blob) queue_removal(kPendingBlob, node.ino.value);
  node.inode.home = Home::none;
  node.orphan_bytes.reset();
  node.pinned.reset();
}

// The row that says "in use since this boot". Found at open, it means that nobody closed the store: the daemon died, or,
// where the boot is another one, the machine did.
Status FileSystem::mark_open() {
  Batch batch;
  batch.put(kOpenKey, options_.boot_id);
  CFFS_TRY_VOID(table_->write(batch));
  return table_->sync();
}

// After a power cut a row may be durable and its blob not, or less of it: writes to different objects reach the medium in
// any order. Every blob's size is therefore held against its object (a file shows what it had before it grew), and
// objects that no row names are removed. One scan of the table; composites are synced before their rows and need none.
Status FileSystem::recover_from_power_cut() {
  log("the store was not closed and the machine was restarted since: checking all rows");
  std::set<std::string> wanted;
  std::vector<std::pair<Key, Row>> changed;
  Status problem;
  CFFS_TRY_VOID(
      table_->scan({0, 0}, {kInodeLimit - 1, ~std::uint64_t{0}}, [&](Key key, std::string_view value) {
        if (row_kind(key, value) == RowKind::composite) {
          wanted.insert(CompositeStore::object_name(CompositeId{key.upper}));
          return true;
        }
        auto row = decode_row(value);
        if (!row) return true;  // a moved_member row, or rot that its reader will report
        bool differs = false;
        for (Entry& entry : row->entries) {
          if (!entry.inode || entry.inode->home != Home::blob) continue;
          std::uint64_t size = 0;
          if (const auto object = blobs_.open(entry.ino)) {
            const auto info = (*object)->info();
            if (!info) problem = fail(info.error());
            if (info) size = info->size;
            wanted.insert(BlobStore::object_name(entry.ino));
          } else if (object.error().errno_value == ENOENT) {
            entry.inode->home = Home::none;
          } else {
            problem = fail(object.error());
          }
          if (size < entry.inode->size) {
            entry.inode->size = size;
            differs = true;
          }
          differs = differs || entry.inode->home == Home::none;
        }
        if (differs) changed.emplace_back(key, std::move(*row));
        return problem.has_value();
      }));
  CFFS_TRY_VOID(problem);
  Batch batch;
  for (const auto& [key, row] : changed) batch.put_row(key, row);
  CFFS_TRY_VOID(table_->write(batch));
  CFFS_TRY_VOID(table_->sync());
  for (const char* folder : {"blobs", "composites"}) {
    CFFS_TRY(const auto names, store_.list(folder));
    for (const std::string& name : names) {
      if (!wanted.contains(name)) CFFS_TRY_VOID(store_.remove(name));
    }
  }
  return {};
}

Status FileSystem::recover() {
  constexpr std::uint64_t kLast = ~std::uint64_t{0};
  CFFS_TRY(const auto open_since, table_->get(kOpenKey));
  if (open_since && *open_since != options_.boot_id) CFFS_TRY_VOID(recover_from_power_cut());
  if (!open_since || *open_since != options_.boot_id) CFFS_TRY_VOID(mark_open());
  CFFS_TRY_VOID(table_->scan(Key::tagged(KeyTag::pending_removal, 0, 0),
                             Key::tagged(KeyTag::pending_removal, kInodeLimit - 1, kLast),
                             [&](Key key, std::string_view) {
                               queue_removal(key.lower, key.number());
                               return true;
                             }));
  CFFS_TRY_VOID(table_->scan(Key::tagged(KeyTag::staged_directory, 0, 0),
                             Key::tagged(KeyTag::staged_directory, kInodeLimit - 1, kLast),
                             [&](Key key, std::string_view) {
                               consolidator_->remember(InodeId{key.number()});
                               return true;
                             }));
  return settle_removals();
}

Committer::Committer(FileSystem& fs) : fs_(fs), thread_([this] { run(); }) {}

Committer::~Committer() {
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Committer::run() {
  std::unique_lock guard(mutex_);
  while (!stopping_) {
    wake_.wait_for(guard, std::chrono::milliseconds(fs_.options_.commit_interval_ms),
                   [this] { return stopping_; });
    if (stopping_) break;
    guard.unlock();
    // A hint is not worth an error: what could not be written is forgotten.
    if (fs_.access_record_) (void)fs_.access_record_->flush();
    if (const Status done = fs_.commit(); !done && !reported_) {
      reported_ = true;  // once: from then on everything fails the same way
      fs_.log("commit failed, the file system is read-only until it is mounted again: " +
              done.error().message());
    }
    guard.lock();
  }
}

}  // namespace cffs
