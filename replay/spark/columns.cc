#include "replay/spark/columns.h"

#include <algorithm>
#include <array>

namespace cffs::replay {

void put_head(std::string& into, char kind, std::size_t rows) {
  into += kind;
  const std::array<std::uint32_t, 1> count{static_cast<std::uint32_t>(rows)};
  put_column<std::uint32_t>(into, count);
}

void put_text(std::string& into, char kind, std::string_view text) {
  put_head(into, kind, text.size());
  into += text;
}

bool ColumnReader::head(char& kind, std::uint32_t& rows) {
  const int letter = whole_ ? std::fgetc(file_) : EOF;
  if (letter == EOF) return false;
  kind = static_cast<char>(letter);
  const auto count = column<std::uint32_t>(1);
  rows = whole_ ? count[0] : 0;
  return whole_;
}

std::string ColumnReader::text(std::size_t bytes) {
  // Room as it is filled: a damaged length must not ask for all memory.
  constexpr std::size_t kStep = 1u << 20;
  std::string read;
  while (whole_ && read.size() < bytes) {
    const std::size_t at = read.size(), step = std::min(kStep, bytes - at);
    read.resize(at + step);
    if (std::fread(read.data() + at, 1, step, file_) != step) whole_ = false;
  }
  if (!whole_) read.clear();
  return read;
}

}  // namespace cffs::replay
