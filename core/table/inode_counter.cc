#include "core/table/inode_counter.h"

#include "core/table/system_rows.h"

namespace cffs {

Status InodeCounter::load() {
  CFFS_TRY(const auto value, table_.get(system_key(SystemField::first_unreserved)));
  std::uint64_t first = kFirstInode;
  if (value) {
    CFFS_TRY(first, decode_system_number(SystemField::first_unreserved, *value));
    if (first < kFirstInode || first > kInodeLimit)
      return fail(Error::corruption("table: the inode counter is malformed"));
  }
  next_.store(first);
  limit_.store(first);
  return {};
}

Status InodeCounter::reserve(std::uint64_t first_unreserved) {
  Batch batch;
  batch.put(system_key(SystemField::first_unreserved), encode_system_number(first_unreserved));
  CFFS_TRY_VOID(table_.write(batch));
  return table_.sync();
}

Result<std::uint64_t> InodeCounter::next() {
  const std::uint64_t mine = next_.fetch_add(1, std::memory_order_relaxed);
  if (mine >= kInodeLimit) return fail(ENOSPC, "inode numbers are used up");
  if (mine < limit_.load(std::memory_order_acquire)) return mine;
  const MutexLock guard(mutex_);
  while (mine >= limit_.load(std::memory_order_relaxed)) {
    const std::uint64_t limit = limit_.load(std::memory_order_relaxed) + kRun;
    CFFS_TRY_VOID(reserve(limit));
    limit_.store(limit, std::memory_order_release);
  }
  return mine;
}

Status InodeCounter::close() {
  const MutexLock guard(mutex_);
  if (limit_.load() == next_.load()) return {};
  const std::uint64_t next = next_.load();
  CFFS_TRY_VOID(reserve(next));
  limit_.store(next);
  return {};
}

}  // namespace cffs
