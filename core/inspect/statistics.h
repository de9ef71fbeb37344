// What is in a store, counted by one scan of its table.
#pragma once

#include <map>

#include "core/fs/file_system.h"
#include "core/object/object_store.h"

namespace cffs {

struct Statistics {
  std::uint64_t files = 0;        // regular, each once however many names it has
  std::uint64_t directories = 0;  // the root included
  std::uint64_t symlinks = 0;
  std::uint64_t specials = 0;  // devices, FIFOs, sockets
  std::uint64_t names = 0;     // directory entries
  std::uint64_t file_bytes = 0;
  std::uint64_t empty_files = 0;
  std::uint64_t inline_files = 0, inline_bytes = 0;
  std::uint64_t member_files = 0, member_bytes = 0;
  std::uint64_t sharing_files = 0;  // of those, the ones whose content is other files', too
  std::uint64_t shared_bytes() const {
    return member_bytes > live_bytes ? member_bytes - live_bytes : 0;
  }  // spared
  std::uint64_t composites = 0, composite_bytes = 0, live_bytes = 0, freed_bytes = 0;
  std::uint64_t stored_bytes = 0;  // of the composites' objects, packed or not
  std::string compression;         // of composites from now on: "zstd:3", "none"
  // Of those, by the policy that made them.
  struct ByPolicy {
    std::uint64_t composites = 0, bytes = 0, stored_bytes = 0;
  };
  std::map<std::uint8_t, ByPolicy> by_policy;  // CompositeRow::policy
  std::uint64_t blobs = 0, blob_bytes = 0;
  std::uint64_t sealed_blobs = 0;               // those with checksums
  std::uint64_t objects = 0, object_bytes = 0;  // everything the store keeps, LevelDB's files included
  std::uint64_t reserve_bytes =
      0;  // beside these: room that is held for a full medium (core/fs/space_guard.h)
  std::uint64_t value_log_bytes = 0;  // of these: what waits beside the table (core/table/value_log.h)
  std::uint64_t staged_directories = 0;
  std::uint64_t pending_removals = 0;
  std::uint64_t known_inodes = 0;  // that the caller, which is the kernel's cache for a mount, refers to
  ReadAheadCounters read_ahead;    // since the store was opened
  FrameCounters frames;            // the same
  SpaceInfo backing;
  Layout layout;
  std::optional<NearCopies> near_copies;
};

Result<Statistics> collect_statistics(FileSystem& fs);

}  // namespace cffs
