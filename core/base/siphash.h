// SipHash-2-4 with 64 bits of result (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012), by libsodium: who does
// not know the key cannot make inputs whose hashes are equal, also where hashes of inputs of their choice are shown.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/base/error.h"

namespace cffs {

using SipKey = std::array<std::uint8_t, 16>;

std::uint64_t siphash_2_4(const SipKey& key, std::string_view bytes);
// From the kernel (getrandom(2)); waits where its generator has not been seeded since the machine started.
Result<SipKey> random_sip_key();

}  // namespace cffs
