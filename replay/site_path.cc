#include "replay/site_path.h"

#include <fmt/format.h>

#include "core/base/checksum.h"

namespace cffs::replay {
namespace {

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decoded(std::string_view part) {
  std::string name;
  for (std::size_t i = 0; i < part.size(); ++i) {
    const int high = part[i] == '%' && i + 2 < part.size() ? hex(part[i + 1]) : -1;
    const int low = high >= 0 ? hex(part[i + 2]) : -1;
    const int byte = low >= 0 ? high * 16 + low : 0;
    if (byte == 0 || byte == '/') {
      name += part[i];
    } else {
      name += static_cast<char>(byte);
      i += 2;
    }
  }
  return name;
}

}  // namespace

std::string file_of_url_path(std::string_view path) {
  std::string file;
  for (std::size_t from = 0; from < path.size();) {
    const std::size_t slash = std::min(path.find('/', from), path.size());
    const std::string part = decoded(path.substr(from, slash - from));
    from = slash + 1;
    if (part.empty() || part == ".") continue;
    if (!file.empty()) file += '/';
    if (part == ".." || part.size() > 255 || part.find('\0') != std::string::npos) {
      file += fmt::format("x{:016x}", checksum(part));
    } else {
      file += part;
    }
  }
  if (path.ends_with('/') || file.empty()) file += file.empty() ? "index.html" : "/index.html";
  return file;
}

}  // namespace cffs::replay
