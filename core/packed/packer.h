// Makes the packed form of a composite's plain bytes. Pure; writes nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/packed/compression.h"

namespace cffs {

inline constexpr std::uint64_t kFramePlain = 64u << 10;  // bytes that most frames have, at most

// `ends`: where records end, rising; a frame ends at one of them where that leaves it half full at least. nullopt: it would not
// shrink by a sixteenth, it is too large, or nothing is to be compressed.
std::optional<std::string> pack(std::string_view plain, std::span<const std::uint64_t> ends,
                                const Compression& how);

// A file of so many bytes is a member whatever it holds; of a larger one, of which a member's memory and time are much, this asks first.
inline constexpr std::uint64_t kPackedUnseen = 32u << 20;
// Whether a quarter of the file, or more, would be saved, by a MiB of it that is taken from all over it. False where it cannot be read, and
// where there is no memory just now for packing so much.
// `read`: fewer bytes than asked only at its end.
using ReadSample = std::function<Result<std::size_t>(std::uint64_t offset, Bytes out)>;
bool is_worth_packing(const Compression& how, std::uint64_t bytes, const ReadSample& read);

}  // namespace cffs
