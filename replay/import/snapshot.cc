#include "replay/import/snapshot.h"

#include <sys/stat.h>

#include <filesystem>

namespace cffs::replay {

Result<std::vector<std::pair<std::string, InitialEntry>>> snapshot(const std::string& root) {
  namespace stdfs = std::filesystem;
  std::vector<std::pair<std::string, InitialEntry>> entries;
  std::vector<stdfs::path> folders{root};
  while (!folders.empty()) {
    const stdfs::path folder = std::move(folders.back());
    folders.pop_back();
    std::error_code error;
    stdfs::directory_iterator it(folder, error);
    for (; !error && it != stdfs::directory_iterator(); it.increment(error)) {
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
        folders.push_back(it->path());
      } else if (S_ISREG(st.st_mode)) {
        entry.size = static_cast<std::uint64_t>(st.st_size);
      } else {
        continue;
      }
      entries.emplace_back(it->path().lexically_relative(root).string(), std::move(entry));
    }
    // So is a folder that goes.
    const bool gone = error.value() == ENOENT || error.value() == EACCES;
    if (error && (folder == root || !gone)) return fail(error.value(), folder.string());
  }
  return entries;
}

}  // namespace cffs::replay
