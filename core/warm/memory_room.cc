#include "core/warm/memory_room.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <limits>
#include <string_view>

namespace cffs {
namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

std::optional<std::uint64_t> leading_number(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc()) return std::nullopt;
  return value;
}

// The number behind a word at the beginning of a line.
std::optional<std::uint64_t> number_behind(const std::string& text, std::string_view word) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view(text).substr(at, end - at);
    if (line.starts_with(word)) return leading_number(line.substr(word.size()));
    at = end + 1;
  }
  return std::nullopt;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The group and those above it, each of which may have a limit.
std::uint64_t left_in_groups() {
  std::string group;
  const std::string groups = text_of("/proc/self/cgroup");
  if (const std::size_t at = groups.rfind("0::");
      at != std::string::npos && (at == 0 || groups[at - 1] == '\n'))
    group = groups.substr(at + 3, groups.find('\n', at) - at - 3);
  std::uint64_t least = kNoLimit;
  for (;;) {
    const std::string folder = "/sys/fs/cgroup" + (group == "/" ? "" : group);
    const auto left = left_in_group(text_of(folder + "/memory.max"), text_of(folder + "/memory.current"),
                                    text_of(folder + "/memory.stat"));
    least = std::min(least, left.value_or(kNoLimit));
    if (group.empty() || group == "/") return least;
    group.resize(group.rfind('/'));
  }
}

}  // namespace

std::optional<std::uint64_t> available_in(const std::string& meminfo) {
  const auto kib = number_behind(meminfo, "MemAvailable:");
  if (!kib) return std::nullopt;
  return *kib * 1024;
}

std::optional<std::uint64_t> left_in_group(const std::string& max, const std::string& current,
                                           const std::string& stat) {
  const auto most = leading_number(max), now = leading_number(current);
  if (!most || !now) return std::nullopt;
  const std::uint64_t held = *now - std::min(*now, number_behind(stat, "file ").value_or(0));
  return *most - std::min(*most, held);
}

std::uint64_t memory_room() {
  const std::uint64_t left =
      std::min(available_in(text_of("/proc/meminfo")).value_or(kNoLimit), left_in_groups());
  return left == kNoLimit ? kNoLimit : left / 4 * 3;
}

}  // namespace cffs
