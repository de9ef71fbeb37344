// Which small files of a store stay in its table for good.
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

}  // namespace cffs
