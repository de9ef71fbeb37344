// A new image file: sparse, and asked of the file system below not to be copied on write.
//
// Regions count on room that was promised once (BlockDevice::provide): a later write into it meets no want of room. Btrfs breaks
// that promise, since each write goes to another place, unless a file is marked while it is empty; so it is for images of
// virtual machines. What goes with it are the file system's own checksums and compression of that file.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/error.h"
#include "core/region/block_device.h"

namespace cffs {

// Of a file that was just made and is empty; `path` is for the error's text. Where the mark means nothing, the size alone.
Status make_image_of(int fd, const std::string& path, std::uint64_t bytes);

// Whether it has nothing but zeros where file systems, partition tables and stores say that they are there.
Result<bool> begins_blank(const BlockDevice& device);

}  // namespace cffs
