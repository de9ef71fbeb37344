#include "core/base/crc32c.h"

#include <boost/crc.hpp>

namespace cffs {

std::uint32_t masked_crc32c(std::string_view bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  const std::uint32_t plain = crc.checksum();
  return ((plain >> 15) | (plain << 17)) + 0xa282ead8u;
}

}  // namespace cffs
