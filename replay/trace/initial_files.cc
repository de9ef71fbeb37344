#include "replay/trace/initial_files.h"

#include <algorithm>

namespace cffs::replay {

PathId InitialFiles::add(const std::string& path, std::uint64_t size) {
  for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    directories_.insert(path.substr(0, slash));
  }
  const PathId id = trace_.intern(path);
  trace_.initial.push_back({id, 'f', 0644, size, {}});
  return id;
}

void InitialFiles::finish() {
  for (const std::string& directory : directories_) {
    trace_.initial.push_back({trace_.intern(directory), 'd', 0755, 0, {}});
  }
  std::sort(trace_.initial.begin(), trace_.initial.end(), [&](const InitialEntry& a, const InitialEntry& b) {
    return trace_.path(a.path) < trace_.path(b.path);
  });
}

}  // namespace cffs::replay
