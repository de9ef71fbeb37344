#include "core/object/table_block.h"

#include <snappy.h>

#include "core/base/crc32c.h"

namespace cffs {
namespace {

constexpr std::uint64_t kRatio = 22;  // snappy makes 64 bytes of three at most

}  // namespace

bool has_block_sum(std::string_view read) {
  const std::size_t summed = read.size() - sizeof(std::uint32_t);
  return ByteReader(read.substr(summed)).u32() == masked_crc32c(read.substr(0, summed));
}

std::optional<std::string_view> block_contents(std::string_view read, std::string& buffer, bool& sane) {
  const std::string_view stored = read.substr(0, read.size() - kBlockTrailer);
  switch (static_cast<BlockCompression>(read[stored.size()])) {
    case BlockCompression::none:
      return stored;
    case BlockCompression::snappy: {
      std::size_t bytes = 0;
      if (!snappy::GetUncompressedLength(stored.data(), stored.size(), &bytes)) return {};
      sane = bytes <= kRatio * stored.size();
      if (!sane) return {};
      buffer.resize(bytes);
      if (!snappy::RawUncompress(stored.data(), stored.size(), buffer.data())) return {};
      return buffer;
    }
    default:
      return {};
  }
}

}  // namespace cffs
