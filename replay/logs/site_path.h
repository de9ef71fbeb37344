// The file that a URL path stands for on a site, relative to its document root.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cffs::replay {

// PATH_MAX, bytes. What is longer leads to no file, and with the directories above it would take its square in memory.
inline constexpr std::size_t kLongestPath = 4096;

// Percent-encoding is undone (but for %00 and %2F, which no name can hold), empty and "." components are dropped, ".." takes
// the one before it along (RFC 3986, 5.2.4; at the root there is none), a path that ends in "/", "." or ".." stands for
// index.html there. Components that no file system takes (over 255 bytes) are replaced by their hash.
std::string file_of_url_path(std::string_view path);

}  // namespace cffs::replay
