#include "replay/import/snapshot.h"

#include <sys/stat.h>

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
    // One look at each: what is removed beside us is not there, rather than there with a size that nobody could ask for any more.
    struct stat st;
    if (::lstat(it->path().c_str(), &st) != 0) {
      if (errno == ENOENT || errno == EACCES) continue;
      return fail(errno, it->path().string());
    }
    InitialEntry entry;
    entry.mode = st.st_mode & 07777;
    if (S_ISLNK(st.st_mode)) {
      entry.kind = 'l';
      std::error_code gone;
      entry.target = stdfs::read_symlink(it->path(), gone).string();
      if (gone) continue;
    } else if (S_ISDIR(st.st_mode)) {
      entry.kind = 'd';
    } else if (S_ISREG(st.st_mode)) {
      entry.size = static_cast<std::uint64_t>(st.st_size);
    } else {
      continue;
    }
    entries.emplace_back(it->path().lexically_relative(root).string(), std::move(entry));
  }
  if (error) return fail(error.value(), root);
  return entries;
}

}  // namespace cffs::replay
