#include "core/warm/memory_room.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>

#include "core/base/control_groups.h"
#include "core/base/number_in_text.h"

namespace cffs {

std::optional<std::uint64_t> available_in(const std::string& meminfo) {
  const auto kib = number_behind(meminfo, "MemAvailable:");
  if (!kib) return std::nullopt;
  return *kib * 1024;
}

std::uint64_t memory_room() {
  constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();
  std::ifstream file("/proc/meminfo");
  const std::string meminfo{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::uint64_t left = available_in(meminfo).value_or(kNoLimit);
  for (const GroupMemory& group : limited_memory()) left = std::min(left, group.left());
  return left == kNoLimit ? kNoLimit : left / 4 * 3;
}

}  // namespace cffs
