// XXH3-64: the checksum of every record and extent, and the hash of names.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/bytes.h"

namespace cffs {

std::uint64_t checksum(ConstBytes bytes);
inline std::uint64_t checksum(std::string_view s) { return checksum(as_bytes(s)); }

}  // namespace cffs
