// The contents that replays write and expect: a byte is a function of a stamp (who wrote it) and its offset.
//
// So no content is stored, stale or misplaced bytes are seen, and files differ from each other. Bytes are letters of a 32
// letter alphabet: 5 bits each, neither trivial nor incompressible.
#pragma once

#include <cstdint>
#include <span>

namespace cffs::replay {

// Fills `out` with what stamp wrote at `offset`; stamp 0 is zeros.
void fill_content(std::uint64_t stamp, std::uint64_t offset, std::span<char> out);
// Whether `bytes` are what stamp wrote at `offset`.
bool is_content(std::uint64_t stamp, std::uint64_t offset, std::span<const char> bytes);

}  // namespace cffs::replay
