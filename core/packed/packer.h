// Makes the packed form of a composite's plain bytes. Pure; writes nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/packed/compression.h"

namespace cffs {

inline constexpr std::uint64_t kFramePlain = 64u << 10;  // bytes that most frames have, at most

// `ends`: where records end, rising; a frame ends at one of them where that leaves it half full at least. nullopt: it would not
// shrink by a sixteenth, it is too large, or nothing is to be compressed.
std::optional<std::string> pack(std::string_view plain, std::span<const std::uint64_t> ends,
                                const Compression& how);

}  // namespace cffs
