#include "core/backup/object_copy.h"

#include <algorithm>
#include <string>

#include "core/object/what_can_be_read.h"

namespace cffs {
namespace {

constexpr std::uint64_t kCopied = 1u << 20;

}  // namespace

Result<CopiedRange> copy_range(const Object& from, Object& to, std::uint64_t begin, std::uint64_t end) {
  CopiedRange copied;
  std::string buffer;  // where there is data
  for (std::uint64_t at = begin; at < end;) {
    const auto data = from.next_data(at);
    at = std::max(at, data ? *data : at);
    if (at >= end) break;
    if (buffer.empty()) buffer.resize(std::min(kCopied, end - at));
    const auto hole = from.next_hole(at);
    const std::uint64_t until = std::min(end, std::max(hole ? *hole : end, at + 1));
    const Bytes piece = as_writable_bytes(buffer).first(std::min<std::uint64_t>(buffer.size(), until - at));
    CFFS_TRY(const PartialRead read, read_what_can_be(from, at, piece));
    if (read.bytes == 0) break;
    if (!copied.unreadable) copied.unreadable = read.refused;
    CFFS_TRY_VOID(to.write_at(at, piece.first(read.bytes)));
    copied.bytes += read.bytes;
    at += read.bytes;
  }
  return copied;
}

}  // namespace cffs
