// Reads and writes of a file or device through the kernel's page cache, whole where system calls give a part; -1 or false: errno says why.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "core/base/bytes.h"

namespace cffs {

// Bytes read: fewer than there is room for only at the end of the file.
ssize_t read_fully(int fd, std::uint64_t offset, Bytes out);
bool write_fully(int fd, std::uint64_t offset, ConstBytes data);
// The same as read_fully() of what the medium has: by direct I/O, which writes back what is newer in memory first; where there is
// none, by dropping what memory has of the range.
ssize_t read_past_page_cache(int fd, std::uint64_t offset, Bytes out);
// The share of the range's pages that are in memory, 0 to 1; nullopt where the kernel cannot tell (before Linux 6.5), or for nothing.
std::optional<double> share_in_page_cache(int fd, std::uint64_t offset, std::uint64_t length);
// A hint that the range will be read soon; returns at once.
void fetch_pages(int fd, std::uint64_t offset, std::uint64_t length);

}  // namespace cffs
