// The data of members that nobody should have in memory whole: those of more than a MiB, which packed stores have
// (docs/adr/0049-large-members.md).
#pragma once

#include <cstdint>
#include <functional>

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/object/object_store.h"
#include "core/table/inode.h"

namespace cffs {

inline constexpr std::uint64_t kLargeMember = 1u << 20;  // members of more than so many bytes are large

// `corruption`, and which member it is.
tl::unexpected<Error> member_differs(const Extent& extent);

// Calls visit with all of the member, from its first byte on, in pieces of 256 KiB at most in memory that the thread keeps; `at` counts
// in the member. `corruption` where it differs from its checksum: what visit was given before that is worth nothing. `read` reads at an
// offset of the composite, fewer bytes than asked only at its end.
using ReadPlain = std::function<Result<std::size_t>(std::uint64_t offset, Bytes out)>;
using VisitPiece = std::function<Status(std::uint64_t at, ConstBytes piece)>;
Status visit_member(const Extent& extent, const ReadPlain& read, const VisitPiece& visit);
// The same of an object, from the kernel's cache where it has it; a small member's group comes with it.
Status visit_member(const Object& object, const Extent& extent, const VisitPiece& visit);

// A part of a large member from its byte `offset` on; returns how many bytes there were. Where the composite is packed only the frames
// that have them are read, each against its own checksum; else all of the member is.
Result<std::size_t> read_part(const Object& object, const Extent& extent, std::uint64_t offset, Bytes out);

}  // namespace cffs
