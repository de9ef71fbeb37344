#include "core/table/inode_counter.h"

#include "core/base/bytes.h"

namespace cffs {
namespace {
const Key kCounterKey = Key::tagged(KeyTag::system, 0, 1);
}

Status InodeCounter::load() {
  CFFS_TRY(const auto value, table_.get(kCounterKey));
  std::uint64_t first = kFirstInode;
  if (value) {
    ByteReader r(*value);
    first = r.u64();
    if (!r.ok() || first < kFirstInode)
      return fail(Error::corruption("table: the inode counter is malformed"));
  }
  next_.store(first);
  limit_.store(first);
  return {};
}

Status InodeCounter::reserve(std::uint64_t first_unreserved) {
  std::string value;
  ByteWriter(value).u64(first_unreserved);
  Batch batch;
  batch.put(kCounterKey, value);
  CFFS_TRY_VOID(table_.write(batch));
  return table_.sync();
}

Result<std::uint64_t> InodeCounter::next() {
  const std::uint64_t mine = next_.fetch_add(1, std::memory_order_relaxed);
  if (mine >= kInodeLimit) return fail(ENOSPC, "inode numbers are used up");
  if (mine < limit_.load(std::memory_order_acquire)) return mine;
  const std::lock_guard guard(mutex_);
  while (mine >= limit_.load(std::memory_order_relaxed)) {
    const std::uint64_t limit = limit_.load(std::memory_order_relaxed) + kRun;
    CFFS_TRY_VOID(reserve(limit));
    limit_.store(limit, std::memory_order_release);
  }
  return mine;
}

Status InodeCounter::close() {
  const std::lock_guard guard(mutex_);
  if (limit_.load() == next_.load()) return {};
  const std::uint64_t next = next_.load();
  CFFS_TRY_VOID(reserve(next));
  limit_.store(next);
  return {};
}

}  // namespace cffs
