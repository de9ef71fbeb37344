// How much of memory may be filled with what will be read later, so that nothing else has to go: of what the kernel calls available, and
// of what the process's control groups may have, the less.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace cffs {

// "MemAvailable" of a text like /proc/meminfo, in bytes; nullopt: it does not say.
std::optional<std::uint64_t> available_in(const std::string& meminfo);
// Three quarters of what there is; all where nobody can tell.
std::uint64_t memory_room();

}  // namespace cffs
