#include "core/base/control_groups.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "core/base/number_in_text.h"

namespace cffs {
namespace {

// Version 1 says this, rounded to pages, where there is no limit.
constexpr std::uint64_t kUnlimited = std::uint64_t{1} << 62;

struct Names {
  const char *most, *now, *page_cache;
};
constexpr Names kVersion1{"/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_cache "};
constexpr Names kVersion2{"/memory.max", "/memory.current", "file "};

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::optional<GroupMemory> memory_of(const std::string& folder, const Names& names) {
  const auto most = leading_number(text_of(folder + names.most));
  const auto now = leading_number(text_of(folder + names.now));
  if (!most || !now || *most >= kUnlimited) return std::nullopt;
  const std::uint64_t cache = number_behind(text_of(folder + "/memory.stat"), names.page_cache).value_or(0);
  return GroupMemory{*most, *now - std::min(*now, cache)};
}

// The group, and those above it.
void look(const std::string& root, std::string group, const Names& names, std::vector<GroupMemory>& found) {
  for (;;) {
    if (group == "/") group.clear();
    if (const auto memory = memory_of(root + group, names)) found.push_back(*memory);
    if (group.empty()) return;
    group.resize(group.rfind('/'));
  }
}

}  // namespace

// A line is number:controllers:group; version 2 has number 0 and no controllers.
std::vector<GroupMemory> limited_memory(const std::string& groups, const std::string& root) {
  std::vector<GroupMemory> found;
  for (std::size_t at = 0; at < groups.size();) {
    const std::size_t end = std::min(groups.find('\n', at), groups.size());
    const std::string line = groups.substr(at, end - at);
    at = end + 1;
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos || second + 1 >= line.size() || line[second + 1] != '/') continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    if (controllers == ",,") {
      look(root, line.substr(second + 1), kVersion2, found);
    } else if (controllers.find(",memory,") != std::string::npos) {
      look(root + "/memory", line.substr(second + 1), kVersion1, found);
    }
  }
  return found;
}

std::vector<GroupMemory> limited_memory() { return limited_memory(text_of("/proc/self/cgroup")); }

std::uint64_t most_memory() {
  std::uint64_t most = number_behind(text_of("/proc/meminfo"), "MemTotal:").value_or(0) * 1024;
  for (const GroupMemory& group : limited_memory()) {
    if (most == 0 || group.most < most) most = group.most;
  }
  return most;
}

std::optional<std::uint64_t> available_in(const std::string& meminfo) {
  const auto kib = number_behind(meminfo, "MemAvailable:");
  if (!kib) return std::nullopt;
  return *kib * 1024;
}

std::optional<std::uint64_t> available_memory() {
  auto available = available_in(text_of("/proc/meminfo"));
  for (const GroupMemory& group : limited_memory()) {
    if (!available || group.left() < *available) available = group.left();
  }
  return available;
}

}  // namespace cffs
