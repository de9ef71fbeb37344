// Bytes from object to object: holes stay holes, and what cannot be read is told, not made up.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "core/object/object_store.h"

namespace cffs {

struct CopiedRange {
  std::uint64_t bytes = 0;  // read and written
  std::optional<std::uint64_t>
      unreadable;  // the first byte that the medium refuses; it reads as zeros in the copy
};

// Copies the data that `from` has in [begin, end). Errors are of writing, or of reading for want of something that passes (descriptors,
// memory).
Result<CopiedRange> copy_range(const Object& from, Object& to, std::uint64_t begin, std::uint64_t end);

}  // namespace cffs
