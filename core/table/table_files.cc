#include "core/table/table_files.h"

#include <charconv>

namespace cffs {

std::string table_file_name(std::string_view folder, std::uint64_t number, std::string_view ending) {
  constexpr std::size_t kDigits = 6;
  std::string digits = std::to_string(number);
  if (digits.size() < kDigits) digits.insert(0, kDigits - digits.size(), '0');
  std::string name(folder);
  name += '/';
  name += digits;
  name += ending;
  return name;
}

std::uint64_t table_file_number(std::string_view name, std::string_view folder, std::string_view ending) {
  if (name.size() <= folder.size() + 1 + ending.size() || !name.ends_with(ending)) return 0;
  const std::string_view digits =
      name.substr(folder.size() + 1, name.size() - folder.size() - 1 - ending.size());
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end == digits.data() + digits.size() ? number : 0;
}

}  // namespace cffs
