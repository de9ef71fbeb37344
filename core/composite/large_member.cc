#include "core/composite/large_member.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "core/base/checksum.h"
#include "core/composite/composite_store.h"
#include "core/composite/record.h"
#include "core/object/blocking_section.h"
#include "core/packed/packed_object.h"

namespace cffs {
namespace {

constexpr std::uint64_t kPieceBytes = 256u << 10;
// Who goes through a member has so much of it read ahead, and as much again when he comes to that. Plain bytes: a few requests.
constexpr std::uint64_t kAhead = 4u << 20;

Result<std::size_t> read_checked(const Object& object, const Extent& extent, std::uint64_t offset,
                                 Bytes out) {
  CFFS_TRY_VOID(visit_member(object, extent, [&](std::uint64_t at, ConstBytes piece) -> Status {
    const std::uint64_t from = std::max(offset, at), to = std::min(offset + out.size(), at + piece.size());
    if (from >= to) return {};
    const ConstBytes part = piece.subspan(from - at, to - from);
    std::copy(part.begin(), part.end(), out.begin() + static_cast<std::ptrdiff_t>(from - offset));
    return {};
  }));
  return out.size();
}

// One reader of a large member, by what is in memory of it: nothing is kept of who reads.
class Frames {
 public:
  Frames(const Object& object, const Extent& extent) : object_(object), extent_(extent) {}

  Result<std::size_t> read(std::uint64_t offset, Bytes out) const {
    const std::uint64_t end = offset + out.size();
    CFFS_TRY(const auto cached, object_.try_read_at(extent_.offset + offset, out));
    if (cached) {
      if (offset / kAhead != end / kAhead && goes_on(offset)) prefetch(end / kAhead + 1, end / kAhead + 2);
      return *cached;
    }
    announce_blocking();
    if (goes_on(offset)) prefetch(offset / kAhead, end / kAhead + 2);
    return object_.read_at(extent_.offset + offset, out);
  }

 private:
  // From its beginning, or from what was read just before.
  bool goes_on(std::uint64_t offset) const {
    if (offset == 0) return true;
    const auto share = object_.share_in_memory(extent_.offset + offset - 1, 1);
    return share && *share >= 1;
  }
  void prefetch(std::uint64_t first, std::uint64_t end) const {
    const std::uint64_t from = first * kAhead, to = std::min(end * kAhead, extent_.length);
    if (from < to) object_.prefetch(extent_.offset + from, to - from);
  }

  const Object& object_;
  const Extent& extent_;
};

}  // namespace

namespace {

// Where its header cannot be read nobody knows whose frames these are; then each is believed as far as its checksum goes: the other bytes
// of the file are not lost with that frame.
Status identify(const PackedObject& object, const Extent& extent) {
  if (object.is_identified()) return {};
  std::array<std::byte, kCompositeHeaderBytes> header{};
  announce_blocking();
  const auto n = object.read_at(0, header);
  if (!n && !n.error().is_damage()) return fail(n.error());
  if (n) {
    const std::string_view bytes(reinterpret_cast<const char*>(header.data()), *n);
    CFFS_TRY_VOID(check_composite_header(bytes, extent.composite));
  }
  object.identified();
  return {};
}

}  // namespace

tl::unexpected<Error> member_differs(const Extent& extent) {
  return fail(Error::corruption(CompositeStore::object_name(extent.composite) + ", slot " +
                                std::to_string(extent.slot) + ": data differs from its checksum"));
}

Status visit_member(const Extent& extent, const ReadPlain& read, const VisitPiece& visit) {
  thread_local const auto memory = std::make_unique_for_overwrite<std::byte[]>(kPieceBytes);
  RunningChecksum sum;
  for (std::uint64_t at = 0; at < extent.length;) {
    const Bytes piece(memory.get(), std::min(kPieceBytes, extent.length - at));
    CFFS_TRY(const std::size_t n, read(extent.offset + at, piece));
    if (n != piece.size()) return member_differs(extent);
    sum.add(piece);
    CFFS_TRY_VOID(visit(at, piece));
    at += n;
  }
  if (sum.value() != extent.checksum) return member_differs(extent);
  return {};
}

Status visit_member(const Object& object, const Extent& extent, const VisitPiece& visit) {
  announce_blocking();
  const bool is_large = extent.length > kLargeMember;
  if (!is_large) object.prefetch(extent.group_offset, std::min(extent.group_length, kAhead));
  const auto read = [&](std::uint64_t offset, Bytes out) {
    const std::uint64_t at = offset - extent.offset;
    if (is_large && at % kAhead == 0) object.prefetch(offset, std::min(2 * kAhead, extent.length - at));
    return object.read_at(offset, out);
  };
  return visit_member(extent, read, visit);
}

Result<std::size_t> read_part(const Object& object, const Extent& extent, std::uint64_t offset, Bytes out) {
  if (offset >= extent.length) return std::size_t{0};
  out = out.first(std::min<std::uint64_t>(out.size(), extent.length - offset));
  const auto* const packed = dynamic_cast<const PackedObject*>(&object);
  if (packed == nullptr) return read_checked(object, extent, offset, out);
  CFFS_TRY_VOID(identify(*packed, extent));
  CFFS_TRY(const std::size_t n, Frames(object, extent).read(offset, out));
  if (n != out.size()) return member_differs(extent);
  return n;
}

}  // namespace cffs
