// What this kernel has of FUSE over io_uring.
#pragma once

namespace cffs {

enum class KernelRing {
  absent,  // before Linux 6.14, or built without
  off,     // there, and whoever runs the machine has not switched it on
  on,
};
KernelRing kernel_ring();

// Where root switches it on for mounts to come.
inline constexpr const char* kRingParameter = "/sys/module/fuse/parameters/enable_uring";

// Processors that there may ever be: as many queues the kernel has. At least 1.
unsigned possible_processors();

}  // namespace cffs
