// Reading on where the medium refuses some of it: a sector that is bad costs its block of 4 KiB, not what is around it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/object/object_store.h"

namespace cffs {

struct PartialRead {
  std::size_t bytes = 0;  // of the piece, as of read_at(): less where the object ends
  std::optional<std::uint64_t>
      refused;  // the first byte that could not be read; its block, as others behind it may, reads as zeros
  std::size_t refused_behind = 0;  // how many those are
};

// A whole read that fails is repeated block by block, so one that fails once costs nothing. Errors: those that say nothing of the
// medium (Error::is_shortage()).
Result<PartialRead> read_what_can_be(const Object& from, std::uint64_t at, Bytes piece);

struct PartialBytes {
  std::string bytes;
  std::optional<std::uint64_t> refused;
};
// All that an object holds. EFBIG: more than kWholeMax.
Result<PartialBytes> read_what_can_be(const Object& from);

}  // namespace cffs
