#include "bench/suite/source_tree.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace cffs::bench {

Parameter source_tree_parameter() {
  return {"tree", "directory or tar to work on; for the paper's figure a Linux source tree",
          "/usr/include/linux", "/usr/include/c++", "/usr/include"};
}

Result<std::string> source_directory(Session& session) {
  const std::string given = session.text("tree");
  struct stat st;
  if (::stat(given.c_str(), &st) != 0) return fail(errno, "tree " + given);
  if (S_ISDIR(st.st_mode)) return given;
  std::string unpacked = session.work() + "/unpacked";
  if (::access(unpacked.c_str(), F_OK) == 0) return unpacked;
  (void)::mkdir(unpacked.c_str(), 0755);
  CFFS_TRY_VOID(run({"tar", "-xf", given, "-C", unpacked}));
  return unpacked;
}

Result<std::vector<SourceFile>> source_files(const std::string& directory) {
  namespace fs = std::filesystem;
  std::vector<SourceFile> files;
  std::error_code error;
  fs::recursive_directory_iterator it(directory, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    const fs::directory_entry& entry = *it;
    if (entry.is_symlink(error) || !entry.is_regular_file(error)) continue;
    files.push_back({entry.path().string().substr(directory.size() + 1), entry.file_size(error)});
  }
  if (error) return fail(error.value(), directory);
  if (files.empty()) return fail(Error::usage(directory + " has no files to read"));
  std::sort(files.begin(), files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

}  // namespace cffs::bench
