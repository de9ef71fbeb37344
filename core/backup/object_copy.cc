#include "core/backup/object_copy.h"

#include <algorithm>
#include <string>

namespace cffs {
namespace {

constexpr std::uint64_t kCopied = 1u << 20;
constexpr std::uint64_t kRefusedStep = 4096;  // bytes: steps in which what a medium refuses is looked for

// Where a piece cannot be read, its blocks are, one by one. Returns how much of `piece` there is.
Result<std::size_t> read_what_can_be(const Object& from, std::uint64_t at, Bytes piece, CopiedRange& copied) {
  const auto whole = from.read_at(at, piece);
  if (whole) return *whole;
  if (whole.error().is_shortage()) return fail(whole.error());
  std::size_t got = 0;
  for (std::size_t within = 0; within < piece.size(); within += kRefusedStep) {
    const Bytes block = piece.subspan(within, std::min<std::size_t>(kRefusedStep, piece.size() - within));
    const auto n = from.read_at(at + within, block);
    if (n && *n == 0) break;
    if (!n && n.error().is_shortage()) return fail(n.error());
    if (!n) {
      if (!copied.unreadable) copied.unreadable = at + within;
      std::fill(block.begin(), block.end(), std::byte{0});
    }
    got = within + (n ? *n : block.size());
  }
  return got;
}

}  // namespace

Result<CopiedRange> copy_range(const Object& from, Object& to, std::uint64_t begin, std::uint64_t end) {
  CopiedRange copied;
  std::string buffer(std::min(kCopied, end - std::min(begin, end)), '\0');
  for (std::uint64_t at = begin; at < end;) {
    const auto data = from.next_data(at);
    at = std::max(at, data ? *data : at);
    if (at >= end) break;
    const auto hole = from.next_hole(at);
    const std::uint64_t until = std::min(end, std::max(hole ? *hole : end, at + 1));
    const Bytes piece = as_writable_bytes(buffer).first(std::min<std::uint64_t>(buffer.size(), until - at));
    CFFS_TRY(const std::size_t n, read_what_can_be(from, at, piece, copied));
    if (n == 0) break;
    CFFS_TRY_VOID(to.write_at(at, piece.first(n)));
    copied.bytes += n;
    at += n;
  }
  return copied;
}

}  // namespace cffs
