// What the engine can tell of itself at any time, without a look at the medium and without waiting for anybody who does.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace cffs {

// Totals are since the store was opened; sizes are bytes, now.
struct LiveCounters {
  // --- the table ---
  static constexpr std::size_t kLevels = 7;  // LevelDB's
  std::array<std::uint64_t, kLevels> table_files{};
  std::uint64_t table_block_reads = 0, table_block_read_bytes = 0;  // blocks that were not in its cache
  std::uint64_t table_file_bytes_written = 0;                       // by flushes and compactions
  std::uint64_t table_writes = 0, table_syncs = 0;     // batches; log syncs, each for all who waited
  std::uint64_t log_bytes = 0, log_bytes_written = 0;  // to be replayed by who opens it after a crash
  std::uint64_t value_log_bytes = 0, value_bytes_written = 0;
  bool read_only_after_error = false;

  // --- commits ---
  std::uint64_t commits = 0, commit_failures = 0;
  std::int64_t last_commit_ns = 0, last_commit_took_ns = 0;  // when, steady clock: 0: none yet; how long
  std::int64_t commit_interval_ns = 0;
  std::int64_t now_ns = 0;          // the same clock
  std::uint64_t dirty_objects = 0;  // that a commit has to sync

  // --- what waits for the background ---
  std::uint64_t staged_directories = 0;
  std::int64_t longest_staged_ms = 0;
  std::uint64_t wasteful_composites = 0;                // half freed, to be compacted
  std::uint64_t freed_composites = 0, freed_bytes = 0;  // whose room may be given back; known ones
  std::uint64_t renamed_files = 0;

  // --- data ---
  std::uint64_t composite_bytes_written = 0, blob_bytes_written = 0;

  // --- memory ---
  std::uint64_t block_cache_bytes = 0, memtable_bytes = 0, frame_cache_bytes = 0, nameless_bytes = 0;
  std::uint64_t inodes_awake = 0, inodes_asleep = 0, inode_table_bytes = 0;
};

}  // namespace cffs
