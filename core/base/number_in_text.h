// Numbers in the texts that the kernel writes about itself (/proc/meminfo, memory.stat).
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cffs {

// Behind blanks; nullopt: there is none.
inline std::optional<std::uint64_t> leading_number(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc()) return std::nullopt;
  return value;
}

// Behind a word at the beginning of a line.
inline std::optional<std::uint64_t> number_behind(std::string_view text, std::string_view word) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (line.starts_with(word)) return leading_number(line.substr(word.size()));
    at = end + 1;
  }
  return std::nullopt;
}

}  // namespace cffs
