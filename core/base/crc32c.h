// CRC-32C as LevelDB stores it: changed so that a checksum stored as data is not taken for one (leveldb/util/crc32c.h).
#pragma once

#include <cstdint>
#include <string_view>

namespace cffs {

std::uint32_t masked_crc32c(std::string_view bytes);

}  // namespace cffs
