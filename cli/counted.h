// "1 file", "2 files".
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace cffs::cli {

inline const char* noun(std::uint64_t n, const char* one, const char* many) { return n == 1 ? one : many; }

inline std::string counted(std::uint64_t n, const char* one, const char* many) {
  return fmt::format("{} {}", n, noun(n, one, many));
}

}  // namespace cffs::cli
