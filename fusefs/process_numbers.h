// What the kernel says of this process.
#pragma once

#include <cstdint>

namespace cffs {

struct ProcessNumbers {
  std::uint64_t resident_bytes = 0, virtual_bytes = 0;
  std::uint64_t descriptors = 0, most_descriptors = 0;
  std::uint64_t threads = 0;
  double cpu_seconds = 0;
};

ProcessNumbers process_numbers();

}  // namespace cffs
