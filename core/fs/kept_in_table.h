// Which small files of a store stay in its table for good, and which blobs become members.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/fs/store_format.h"
#include "grouping/policy.h"

namespace cffs {

// Those of at most so many bytes: what the policy wants to keep there, within what the store allows.
inline std::uint64_t kept_in_table(const grouping::Policy& policy, const StoreFormat& format) {
  return policy.makes_composites() ? std::min(policy.table_bytes(), format.inline_max) : format.inline_max;
}

// Documents are read whole for what they embed; one that is larger embeds nothing that anybody waits for. Bytes.
inline constexpr std::uint64_t kLargestDocument = 32u << 20;

// Quiet blobs of at most so many bytes become members by themselves. Where members may be larger than composites (those of stores
// that were made compressed may), large files would be among them, which are written again in place, or at their ends: each would come
// back into its blob whole, time after time. Imports and regroupings, which somebody asked for, take them.
inline std::uint64_t joins_unasked(const StoreFormat& format) {
  constexpr std::uint64_t kMost = 1u << 20;
  const std::uint64_t most = format.composite_file_max;
  return most <= format.composite_max ? most : std::min(most, kMost);
}

}  // namespace cffs
