#include "core/warm/memory_room.h"

#include <limits>

#include "core/base/control_groups.h"

namespace cffs {

std::uint64_t memory_room() {
  const auto available = available_memory();
  return available ? *available / 4 * 3 : std::numeric_limits<std::uint64_t>::max();
}

}  // namespace cffs
