#include "core/fs/removals.h"

#include <utility>

namespace cffs {

std::string object_name(const PendingRemoval& removal) {
  return removal.kind == PendingRemoval::Kind::blob
             ? BlobStore::object_name(InodeId{removal.number})
             : CompositeStore::object_name(CompositeId{removal.number});
}

void Removals::queue(PendingRemoval removal) {
  const MutexLock guard(mutex_);
  due_.insert(removal);
}

bool Removals::empty() {
  const MutexLock guard(mutex_);
  return due_.empty();
}

Status Removals::load() {
  return table_.scan_tag(KeyTag::pending_removal, [&](Key key, std::string_view) {
    if (const auto removal = decode_pending_removal(key)) queue(*removal);
    return true;
  });
}

Status Removals::finish_blob(InodeId ino) {
  {
    const MutexLock none_under_way(work_);
    const MutexLock guard(mutex_);
    if (!due_.contains(PendingRemoval::of_blob(ino))) return {};
  }
  return settle();
}

Status Removals::settle() {
  const MutexLock one_at_a_time(work_);
  std::set<PendingRemoval> now;
  {
    const MutexLock guard(mutex_);
    now = due_;
  }
  if (now.empty()) return {};
  CFFS_TRY_VOID(table_.sync());
  Batch batch;
  for (const PendingRemoval& removal : now) {
    CFFS_TRY_VOID(removal.kind == PendingRemoval::Kind::blob
                      ? blobs_.remove(InodeId{removal.number})
                      : composites_.remove(CompositeId{removal.number}));
    batch.erase(removal.key());
  }
  CFFS_TRY_VOID(table_.write(batch));
  const MutexLock guard(mutex_);
  for (const PendingRemoval& removed : now) due_.erase(removed);
  return {};
}

}  // namespace cffs
