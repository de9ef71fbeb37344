#include "core/object/what_can_be_read.h"

#include <algorithm>

namespace cffs {
namespace {

constexpr std::size_t kBlock = 4096;  // what a disk refuses at once

}  // namespace

Result<PartialRead> read_what_can_be(const Object& from, std::uint64_t at, Bytes piece) {
  const auto whole = from.read_at(at, piece);
  if (whole) return PartialRead{*whole, {}};
  if (whole.error().is_shortage()) return fail(whole.error());
  PartialRead read;
  for (std::size_t within = 0; within < piece.size();) {
    // Blocks of the object, wherever the piece begins.
    const std::size_t room = kBlock - static_cast<std::size_t>((at + within) % kBlock);
    const Bytes block = piece.subspan(within, std::min(room, piece.size() - within));
    const auto n = from.read_at(at + within, block);
    if (n && *n == 0) break;
    if (!n && n.error().is_shortage()) return fail(n.error());
    if (!n) {
      if (read.refused)
        ++read.refused_behind;
      else
        read.refused = at + within;
      std::fill(block.begin(), block.end(), std::byte{0});
    }
    read.bytes = within + (n ? *n : block.size());
    if (n && *n < block.size()) break;  // the object ends
    within += block.size();
  }
  return read;
}

Result<PartialBytes> read_what_can_be(const Object& from) {
  CFFS_TRY(const ObjectInfo info, from.info());
  if (info.size > kWholeMax) return fail(EFBIG, "an object of " + std::to_string(info.size) + " bytes");
  PartialBytes all{std::string(info.size, '\0'), {}};
  CFFS_TRY(const PartialRead read, read_what_can_be(from, 0, as_writable_bytes(all.bytes)));
  all.bytes.resize(read.bytes);
  all.refused = read.refused;
  return all;
}

}  // namespace cffs
