// The file that a URL path stands for on a site, relative to its document root.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cffs::replay {

// PATH_MAX, bytes. What is longer leads to no file, and with the directories above it would take its square in memory.
inline constexpr std::size_t kLongestPath = 4096;

// The most bytes that a file of a trace has, that a call moves, or where it begins: so that two of them can be added.
inline constexpr std::uint64_t kMostFileBytes = std::uint64_t{1} << 62;

// Percent-encoding is undone (but for %00 and %2F, which no name can hold), empty and "." components are dropped, ".." takes
// the one before it along (RFC 3986, 5.2.4; at the root there is none), a path that ends in "/", "." or ".." stands for
// index.html there. Components that no file system takes (over 255 bytes) are replaced by their hash.
std::string file_of_url_path(std::string_view path);

}  // namespace cffs::replay
