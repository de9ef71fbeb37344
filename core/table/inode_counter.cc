#include "core/table/inode_counter.h"

#include <algorithm>

#include "core/table/system_rows.h"

namespace cffs {
namespace {

// Whether anything has a number, but for the root.
Result<bool> has_numbers(const Table& table) {
  const std::uint64_t last = kInodeLimit - 1, end = ~std::uint64_t{0};
  bool met = false;
  const auto meet = [&met](Key, std::string_view) {
    met = true;
    return false;
  };
  CFFS_TRY_VOID(table.scan({kRootInode.value, 1}, {last, end}, meet));
  for (const KeyTag tag : {KeyTag::pending_removal, KeyTag::file_data}) {
    if (!met) CFFS_TRY_VOID(table.scan_tag(tag, meet));
  }
  return met;
}

// Numbers are given from it on that somebody has, where it is not what it was.
Result<std::uint64_t> first_unreserved(const Table& table) {
  CFFS_TRY(const auto value, table.get(system_key(SystemField::first_unreserved)));
  if (value) {
    CFFS_TRY(const std::uint64_t first, decode_system_number(SystemField::first_unreserved, *value));
    if (first >= kFirstInode && first <= kInodeLimit) return first;
    return fail(Error::corruption("table: the inode counter is malformed"));
  }
  CFFS_TRY(const bool used, has_numbers(table));
  if (!used) return kFirstInode;
  return fail(
      Error::corruption("table: the inode counter is gone, and new files would get others' numbers; cffs "
                        "fsck --repair finds it"));
}

}  // namespace

Status InodeCounter::load(bool only_looks) {
  auto first = first_unreserved(table_);
  if (!first && only_looks && first.error().kind == ErrorKind::corruption) first = kFirstInode;
  if (!first) return fail(first.error());
  next_.store(*first);
  limit_.store(*first);
  return {};
}

Status InodeCounter::raise(std::uint64_t first) {
  const MutexLock guard(mutex_);
  if (next_.load() >= first) return {};
  CFFS_TRY_VOID(reserve(first));
  limit_.store(first, std::memory_order_release);
  next_.store(first);
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
    const std::uint64_t limit = std::min(limit_.load(std::memory_order_relaxed) + kRun, kInodeLimit);
    CFFS_TRY_VOID(reserve(limit));
    limit_.store(limit, std::memory_order_release);
  }
  return mine;
}

Status InodeCounter::close() {
  const MutexLock guard(mutex_);
  const std::uint64_t next = std::min(next_.load(), kInodeLimit);  // who was refused has counted, too
  if (limit_.load() == next) return {};
  CFFS_TRY_VOID(reserve(next));
  limit_.store(next);
  return {};
}

}  // namespace cffs
