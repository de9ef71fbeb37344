#include "fusefs/mount_table.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

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

// What an absolute path lies in; the last one of those at the same point is on top.
std::optional<MountEntry> mount_of(const std::string& path) {
  std::optional<MountEntry> found;
  for (MountEntry& entry : read_mount_table()) {
    if (lies_in(path, entry.point) && (!found || entry.point.size() >= found->point.size()))
      found = std::move(entry);
  }
  return found;
}

}  // namespace

std::optional<MountEntry> parse_mount_line(const std::string& line) {
  std::istringstream words(line);
  MountEntry entry;
  std::string word;
  if (!(words >> entry.id >> entry.parent >> entry.device >> entry.root >> entry.point)) return {};
  while (words >> word && word != "-") {  // options, then a number of optional fields
  }
  if (!(words >> entry.type >> entry.source)) return {};
  entry.root = unescaped(entry.root);
  if (std::string options; words >> options) {
    constexpr std::string_view kUser = ",user_id=";
    if (const std::size_t at = options.find(kUser); at != std::string::npos) {
      std::uint32_t user = 0;
      const char* const number = options.data() + at + kUser.size();
      if (std::from_chars(number, options.data() + options.size(), user).ec == std::errc()) entry.user = user;
    }
  }
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

// Without a look at it: a mount may be dead, and its daemon may be who asks.
std::optional<MountEntry> mounted_at(const std::string& path) {
  std::error_code error;
  std::string whole = std::filesystem::absolute(path, error).lexically_normal().string();
  while (whole.size() > 1 && whole.ends_with('/')) whole.pop_back();
  std::optional<MountEntry> found;
  for (MountEntry& entry : read_mount_table()) {
    if (entry.point == path || entry.point == whole) found = std::move(entry);
  }
  return found;
}

std::vector<std::string> mount_points_of(const std::string& store) {
  std::error_code error;
  const std::string whole =
      RadosAddress::is_one(store) ? store : std::filesystem::weakly_canonical(store, error).string();
  std::vector<std::string> points;
  for (const MountEntry& entry : read_mount_table()) {
    if (entry.is_cffs() && (entry.source == store || entry.source == whole)) points.push_back(entry.point);
  }
  return points;
}

std::optional<DevicePlace> device_place_of(const std::string& path_given) {
  std::error_code problem;
  const std::string path = std::filesystem::weakly_canonical(path_given, problem).string();
  if (problem) return {};
  const auto mount = mount_of(path);
  if (!mount) return {};
  const std::string below = mount->point == "/" ? path : path.substr(mount->point.size());
  return DevicePlace{mount->device, mount->root == "/" ? (below.empty() ? "/" : below) : mount->root + below};
}

std::optional<MountEntry> cffs_mount_of(const std::string& path_given) {
  if (RadosAddress::is_one(path_given)) return {};  // no path
  const auto path = absolute(path_given);
  if (!path) return {};
  auto found = mount_of(*path);
  if (found && !found->is_cffs()) return {};
  return found;
}

}  // namespace cffs
