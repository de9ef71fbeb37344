#include "fusefs/mount_table.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "core/rados/address.h"
#include "fusefs/mount_point.h"

namespace cffs {
namespace {

// Blanks, tabs, newlines and backslashes are written as \ and three octal digits.
std::string unescaped(const std::string& text) {
  const auto octal = [](char c) { return c >= '0' && c <= '7'; };
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && octal(text[i + 1]) && octal(text[i + 2]) &&
        octal(text[i + 3])) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

bool lies_in(const std::string& path, const std::string& directory) {
  if (directory == "/") return true;
  return path == directory || (path.starts_with(directory) && path[directory.size()] == '/');
}

}  // namespace

std::optional<MountEntry> parse_mount_line(const std::string& line) {
  std::istringstream words(line);
  MountEntry entry;
  std::string root, word;
  if (!(words >> entry.id >> entry.parent >> entry.device >> root >> entry.point)) return {};
  while (words >> word && word != "-") {  // options, then a number of optional fields
  }
  if (!(words >> entry.type >> entry.source)) return {};
  entry.point = unescaped(entry.point);
  entry.source = unescaped(entry.source);
  return entry;
}

std::vector<MountEntry> read_mount_table(const std::string& list) {
  std::vector<MountEntry> table;
  std::ifstream lines(list);
  for (std::string line; std::getline(lines, line);) {
    if (auto entry = parse_mount_line(line)) table.push_back(std::move(*entry));
  }
  return table;
}

std::optional<MountEntry> mounted_at(const std::string& path) {
  std::optional<MountEntry> found;
  for (MountEntry& entry : read_mount_table()) {
    if (entry.point == path) found = std::move(entry);
  }
  return found;
}

std::optional<MountEntry> cffs_mount_of(const std::string& path_given) {
  if (RadosAddress::is_one(path_given)) return {};  // no path
  const auto path = absolute(path_given);
  if (!path) return {};
  std::optional<MountEntry> found;
  for (MountEntry& entry : read_mount_table()) {
    if (lies_in(*path, entry.point) && (!found || entry.point.size() >= found->point.size()))
      found = std::move(entry);
  }
  if (found && !found->is_cffs()) return {};
  return found;
}

}  // namespace cffs
