// How a store is opened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/base/clock.h"
#include "core/table/name_hash.h"
#include "core/table/value_log_options.h"
#include "grouping/policy.h"

namespace cffs {

// When reading a file updates its access time (mount(8)): never; where it is not younger than the last change, or a day
// old; always.
enum class AccessTimes { never, relative, strict };

struct FileSystemOptions {
  std::shared_ptr<const grouping::Policy> policy;  // null: directory
  std::int64_t commit_interval_ms = 5000;          // TableFS §3.6
  std::size_t cache_bytes = 32u << 20;             // LevelDB's blocks
  std::size_t frame_cache_bytes = 32u << 20;       // frames of packed composites that were decompressed lately
  std::size_t write_buffer_bytes = 16u << 20;  // rows that LevelDB has in memory and its log; 64 KiB at least
  ValueLogOptions values;                      // of a store that has a value log
  std::uint64_t access_record_bytes = 0;       // ring of recorded accesses; 0: none
  std::uint64_t nameless_bytes =
      16u << 20;  // content of small files without a name in memory; more is in the store
  std::int64_t parting_ms =
      500;  // who is short of room waits so long for files to be forgotten that have just lost their names
  // Inodes that the caller refers to but does not use just now have a node, some 600 bytes, up to so many; the others cost 64 bytes,
  // and a look at their row when they are used again. More are awake while their rows are behind: with `background` these are written
  // before the commit then, without by sync() alone.
  std::size_t awake_nodes = 64u << 10;
  std::size_t open_objects = 1024;  // descriptors kept open to read, at most a quarter of `descriptors`
  std::size_t descriptors = 0;      // that the store may use; 0: as many as the process may have open
  AccessTimes access_times = AccessTimes::never;  // what accessed() does
  bool directory_access_times = true;             // also for directories
  bool background = true;  // commit, count files and read ahead by itself; off in commands and some tests
  // To look only: what recovery has to do is done in memory (OverlayStore), then every change is refused with EROFS. The
  // lock is shared with others that look. The store may be read-only itself (PosixStore::Access::read_only).
  bool read_only = false;
  // Who follows this writer finds what a checkpoint needs for so long after the next one (docs/FOLLOWING.md).
  std::int64_t keep_ms = 60'000;
  // With read_only: what is opened is a checkpoint of a store that somebody else writes to. It needs no recovery. Inodes of it, where
  // that is known.
  bool is_checkpoint = false;
  std::optional<std::uint64_t> files_of_checkpoint;
  // Opens a store whose table's logs or manifest are damaged, with what is whole on both sides of the damage
  // (core/table/replay_check.h). For fsck: changes are missing, and others that came later are there.
  bool keep_what_is_whole = false;
  std::shared_ptr<const Clock> clock;  // null: the system's
  std::string boot_id;                 // empty: the kernel's; what the mark of an open store says, for people
  // Who runs LevelDB's own work, one piece at a time, on a thread that makes no other calls, for tests that choose when; null: a
  // thread of the table's. Not of a read-only store.
  std::function<void(std::function<void()>)> run_later;
  std::optional<NameHash> name_hash;            // none: the store's own; tests force collisions
  std::function<void(const std::string&)> log;  // one line for the administrator; null: dropped
};

}  // namespace cffs
