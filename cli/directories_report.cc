#include "cli/directories_report.h"

#include <fmt/format.h>
#include <linux/limits.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/base/printable.h"
#include "core/inspect/directory_sizes.h"
#include "fusefs/operations.h"

namespace cffs::cli {

Result<nlohmann::ordered_json> directories_of(const StoreName& name, unsigned depth) {
  const std::string& path = name.path;
  CFFS_TRY_VOID(check_there(path));
  std::string json(XATTR_SIZE_MAX, '\0');
  const std::string attribute = kDirectoriesXattr + std::to_string(depth);
  const ssize_t n = ::getxattr(path.c_str(), attribute.c_str(), json.data(), json.size());
  if (n > 0) {
    json.resize(static_cast<std::size_t>(n));
  } else {
    if (::getxattr(path.c_str(), kStatisticsXattr, nullptr, 0) > 0)
      return fail(
          Error::usage(path + ": the mount is served by an older cffs, which cannot tell by directory"));
    CFFS_TRY(const OpenStore store, open_store_for_reading(name));
    CFFS_TRY(const DirectorySizes sizes, collect_directory_sizes(*store.fs, depth));
    json = directory_sizes_json(sizes, std::numeric_limits<std::size_t>::max());
  }
  return nlohmann::ordered_json::parse(json);
}

void print_directories(const nlohmann::ordered_json& directories) {
  std::size_t width = 9;
  for (const auto& line : directories.at("by_directory"))
    width = std::max(width, printable(line.at("path").get<std::string>()).size());
  fmt::print("{:<{}} {:>12} {:>12} {:>12} {:>8}\n", "directory", width, "files", "bytes", "stored",
             "of that");
  for (const auto& line : directories.at("by_directory")) {
    const auto bytes = line.at("bytes").get<std::uint64_t>(),
               stored = line.at("stored_bytes").get<std::uint64_t>();
    fmt::print(
        "{:<{}} {:>12} {:>12} {:>12} {:>8}\n", printable(line.at("path").get<std::string>()), width,
        line.at("files").get<std::uint64_t>(), human_bytes(bytes), human_bytes(stored),
        bytes == 0 ? "-" : fmt::format("{:.3f}", static_cast<double>(stored) / static_cast<double>(bytes)));
  }
  if (const auto left_out = directories.at("left_out_directories").get<std::uint64_t>(); left_out > 0)
    fmt::print("{} smaller directories are left out: a mount tells 64 KiB at once\n", left_out);
  if (const auto unread = directories.at("unread_composites").get<std::uint64_t>(); unread > 0)
    fmt::print("{} composites could not be read, and count as if they were not compressed: see cffs fsck\n",
               unread);
}

}  // namespace cffs::cli
