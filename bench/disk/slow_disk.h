// A file that behaves like a disk: a FUSE file system with one file, `disk`, whose bytes are those of an image file, and whose
// requests complete when a DiskModel says so. With a loop device on it, any file system can be put on such a disk.
//
// Data moves at once, from and to the image, and only replies wait: the model decides on time alone. Requests may overlap
// (queue depth) and complete out of order.
#pragma once

#include <functional>
#include <string>

#include "core/base/error.h"

namespace cffs::bench {

// Serves at `mount_point` until it is unmounted.
Status serve_disk(const std::string& profile, const std::string& image, const std::string& mount_point);

// From now on the disk that is served there answers at once, or when its model says so: what is done before a measurement, such as letting
// a disk age, need not take the model's time. What is under way ends as it began; the model knows nothing of what came meanwhile.
Status set_pace(const std::string& mount_point, bool at_once);

}  // namespace cffs::bench
