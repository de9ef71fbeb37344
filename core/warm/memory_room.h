// How much of memory may be filled with what will be read later, so that nothing else has to go.
#pragma once

#include <cstdint>

namespace cffs {

// Three quarters of what is available (core/base/control_groups.h); all where nobody can tell.
std::uint64_t memory_room();

}  // namespace cffs
