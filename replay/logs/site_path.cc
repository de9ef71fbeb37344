#include "replay/logs/site_path.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/checksum.h"
#include "grouping/reference/resolve.h"

namespace cffs::replay {
std::string file_of_url_path(std::string_view path) {
  std::string file;
  bool directory = true;
  for (std::size_t from = 0; from < path.size();) {
    const std::size_t slash = std::min(path.find('/', from), path.size());
    const std::string part = grouping::percent_decoded(path.substr(from, slash - from));
    from = slash + 1;
    directory = part.empty() || part == "." || part == "..";
    if (part == "..") file.erase(file.find('/') == std::string::npos ? 0 : file.rfind('/'));
    if (directory) continue;
    if (!file.empty()) file += '/';
    if (part.size() > 255 || part.find('\0') != std::string::npos) {
      file += fmt::format("x{:016x}", checksum(part));
    } else {
      file += part;
    }
  }
  if (directory || path.ends_with('/') || file.empty()) file += file.empty() ? "index.html" : "/index.html";
  return file;
}

}  // namespace cffs::replay
