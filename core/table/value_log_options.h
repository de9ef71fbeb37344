#pragma once

#include <cstdint>

namespace cffs {

// What goes into the value log (core/table/value_log.h).
struct ValueLogOptions {
  // Bytes of file data written since the last sync before any of them go there: who syncs small files one by one is spared a second
  // sync. ~0: none ever go.
  std::uint64_t after_bytes = 256u << 10;
  std::uint64_t least_bytes = 512;        // shorter values are not worth a pointer
  std::uint64_t object_bytes = 32u << 20;  // how long an object gets, at most; less on a small medium
};

}  // namespace cffs
