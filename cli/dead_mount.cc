#include "cli/dead_mount.h"

#include <fmt/format.h>
#include <sys/vfs.h>

#include <cerrno>

#include "core/base/printable.h"
#include "fusefs/mount_table.h"

namespace cffs::cli {
namespace {

bool is_dead(const std::string& path) {
  struct statfs st;  // stat(2) may be answered by what the kernel remembers
  if (path.empty() || ::statfs(path.c_str(), &st) == 0) return false;
  return errno == ENOTCONN || errno == ECONNABORTED;  // the second: it died while it was asked
}

std::string cure(const std::string& path) {
  const auto mount = cffs_mount_of(path);
  if (!mount) {
    return fmt::format("{}: the program that served this mount is gone; unmount it: umount -l {}",
                       printable(path), printable(path));
  }
  return fmt::format(
      "{}: the daemon of this mount is gone; nothing that was committed is lost. To go on: cffs umount {}, "
      "then "
      "cffs mount {} {}",
      printable(path), printable(mount->point), printable(mount->source), printable(mount->point));
}

}  // namespace

std::optional<std::string> dead_mount_among(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--") break;
    std::string path = word;
    if (word.starts_with("-"))
      path = word.find('=') == std::string::npos ? "" : word.substr(word.find('=') + 1);
    if (is_dead(path)) return cure(path);
    const std::size_t colon = path.find(':');  // STORE:PATH
    if (colon != std::string::npos && is_dead(path.substr(0, colon))) return cure(path.substr(0, colon));
  }
  return {};
}

}  // namespace cffs::cli
