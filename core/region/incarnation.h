// What tells a later opener of an image or device whether all that was written to it is still there (BlockDevice::incarnation).
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

namespace cffs {

std::uint64_t incarnation_of(int fd, const struct stat& st);

// Of the disk that a device is, or is a part of: the number of this attachment. Empty: the kernel does not tell.
std::string attachment_of(dev_t device, const std::string& devices = "/sys/dev/block");
// What a mount says that it is of: "/dev/sdb1". Empty: there is no such mount.
std::string source_of_mount(std::uint64_t id, const std::string& list = "/proc/self/mountinfo");

}  // namespace cffs
