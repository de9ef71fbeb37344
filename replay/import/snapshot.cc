#include "replay/import/snapshot.h"

#include <filesystem>

namespace cffs::replay {

Result<std::vector<std::pair<std::string, InitialEntry>>> snapshot(const std::string& root) {
  namespace stdfs = std::filesystem;
  std::vector<std::pair<std::string, InitialEntry>> entries;
  std::error_code error;
  const auto options = stdfs::directory_options::skip_permission_denied;
  for (auto it = stdfs::recursive_directory_iterator(root, options, error);
       it != stdfs::recursive_directory_iterator(); it.increment(error)) {
    if (error) return fail(error.value(), root);
    const auto status = it->symlink_status(error);
    InitialEntry entry;
    entry.mode = static_cast<std::uint32_t>(status.permissions()) & 07777;
    if (stdfs::is_symlink(status)) {
      entry.kind = 'l';
      entry.target = stdfs::read_symlink(it->path(), error).string();
    } else if (stdfs::is_directory(status)) {
      entry.kind = 'd';
    } else if (stdfs::is_regular_file(status)) {
      entry.size = it->file_size(error);
    } else {
      continue;
    }
    entries.emplace_back(it->path().lexically_relative(root).string(), std::move(entry));
  }
  if (error) return fail(error.value(), root);
  return entries;
}

}  // namespace cffs::replay
