#pragma once

#include <cstdint>
#include <string>

namespace cffs::cli {

// "12.3 MB"
std::string human_bytes(std::uint64_t bytes);

}  // namespace cffs::cli
