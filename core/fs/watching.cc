// What the engine tells those who watch it.
#include <algorithm>

#include "core/base/clock.h"
#include "core/fs/engine.h"

namespace cffs {

LiveCounters Engine::live_counters() {
  LiveCounters c;
  const Table::Activity table = table_->activity();
  std::copy_n(table.files.begin(), std::min(table.files.size(), c.table_files.size()), c.table_files.begin());
  c.table_block_reads = table.block_reads;
  c.table_block_read_bytes = table.block_read_bytes;
  c.table_file_bytes_written = table.file_bytes_written;
  c.table_writes = table.writes;
  c.table_syncs = table_->syncs();
  c.log_bytes = table.log_bytes;
  c.log_bytes_written = table.log_bytes_written;
  c.value_log_bytes = table_->value_log_bytes();
  c.value_bytes_written = table.value_bytes_written;
  c.read_only_after_error = table_->failed();

  c.commits = commits_.load(std::memory_order_relaxed);
  c.commit_failures = commit_failures_.load(std::memory_order_relaxed);
  c.last_commit_ns = last_commit_ns_.load(std::memory_order_relaxed);
  c.last_commit_took_ns = last_commit_took_ns_.load(std::memory_order_relaxed);
  c.commit_interval_ns = options_.read_only ? 0 : options_.commit_interval_ms * 1'000'000;
  c.now_ns = static_cast<std::int64_t>(elapsed_ns());
  c.dirty_objects = dirty_objects_->count();

  const StagedDirectories::Backlog staged = staged_.backlog();
  c.staged_directories = staged.directories;
  c.longest_staged_ms = staged.longest_ms;
  c.wasteful_composites = staged.wasteful;
  std::tie(c.freed_composites, c.freed_bytes) = freed_.backlog();
  c.renamed_files = renamed_.waiting();

  c.composite_bytes_written = composites_.bytes_written();
  c.blob_bytes_written = blobs_.bytes_written();

  c.block_cache_bytes = table.block_cache_bytes;
  c.memtable_bytes = table.memtable_bytes;
  c.frame_cache_bytes = composites_.frame_bytes();
  c.nameless_bytes = nameless_.bytes.taken();
  const NodeTable::Counts inodes = nodes_.counts();
  c.inodes_awake = inodes.awake;
  c.inodes_asleep = inodes.asleep;
  c.inode_table_bytes = inodes.bytes;
  return c;
}

std::optional<InodeId> Engine::last_directory(InodeId ino) {
  const NodeTable::Found found = nodes_.look(ino);
  if (found.asleep) return InodeId{found.asleep->seen.upper};
  if (!found.node) return {};
  Node& node = *found.node;
  if (!node.mutex.try_lock_shared()) return {};
  std::optional<InodeId> directory;
  if (node.parent) directory = node.parent->ino;
  node.mutex.unlock_shared();
  return directory;
}

std::optional<EntryName> Engine::last_place(InodeId ino) {
  const NodeTable::Found found = nodes_.look(ino);
  if (found.node) {
    const ReadLock guard(found.node->mutex);
    if (!found.node->parent) return {};
    return EntryName{found.node->parent->ino, found.node->name};
  }
  if (!found.asleep) return {};
  const auto row = table_->get_row(found.asleep->seen);
  if (!row) return {};
  for (const Entry& entry : row->entries) {
    if (entry.ino == ino && !entry.name.empty())
      return EntryName{InodeId{found.asleep->seen.upper}, entry.name};
  }
  return {};
}

}  // namespace cffs
