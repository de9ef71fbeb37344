// Words of a log line, shared by its parsers.
#pragma once

#include <algorithm>
#include <charconv>
#include <string_view>

namespace cffs::replay {

// The next word between blanks; empty at the end. `rest` goes on with the word after it.
inline std::string_view take_word(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  const std::string_view word = rest.substr(0, rest.find(' '));
  rest.remove_prefix(word.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return word;
}

// False where the text is anything but a number.
template <typename T>
bool whole_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace cffs::replay
