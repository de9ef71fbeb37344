// How much of its memory a mount takes for what it can read again, where nobody says.
#pragma once

#include <cstdint>

namespace cffs {

struct MemoryShares {
  std::uint64_t table_cache = 0;   // bytes of the table's blocks
  std::uint64_t write_buffer = 0;  // bytes of rows before LevelDB writes them to a file; it may have two
  std::uint64_t awake_inodes = 0;  // a number of them, some 600 bytes each
  std::uint64_t frames = 0;        // bytes of packed composites that were decompressed lately

  friend bool operator==(const MemoryShares&, const MemoryShares&) = default;
};

// Of a process that can have so many bytes, page cache included; 0: nobody can tell. With 1 GiB and more the shares are what they
// always are; with less they are as much less, a fifth of it in all, so that most is left for page cache and for what moves files.
MemoryShares shares_of(std::uint64_t most_memory);

}  // namespace cffs
