// The hash in an entry's key, and the number under which the superblock remembers it.
#pragma once

#include "core/base/checksum.h"
#include "core/table/key.h"

namespace cffs {

// Never renumber: on disk.
enum class NameHashId : std::uint32_t { xxh3_64 = 1 };

inline std::uint64_t default_name_hash(std::string_view name) { return checksum(name); }

// Null: this program does not know it.
inline NameHash name_hash_of(NameHashId id) {
  return id == NameHashId::xxh3_64 ? &default_name_hash : nullptr;
}

}  // namespace cffs
