// A trace in memory: what clients did to a tree, and the tree as it was before.
//
// Paths are relative to the tree's root ("" is the root itself), bytes as they were, interned. Operations are in the
// order in which they took effect; their times may step back a little where calls overlapped.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "replay/trace/operation.h"

namespace cffs::replay {

// Directory of a trace for what is outside of its root.
inline constexpr std::string_view kOutside = ".outside";

struct InitialEntry {
  PathId path = kNoPath;
  char kind = 'f';  // f, d, l
  std::uint32_t mode = 0644;
  std::uint64_t size = 0;
  std::string target;  // of a symlink
};

class Trace {
 public:
  PathId intern(const std::string& path) {
    const auto [it, fresh] = by_path_.try_emplace(path, static_cast<PathId>(paths_.size()));
    if (fresh) paths_.push_back(it->first);
    return it->second;
  }
  std::uint32_t client(const std::string& name) {
    const auto [it, fresh] = by_client_.try_emplace(name, static_cast<std::uint32_t>(clients_.size()));
    if (fresh) clients_.push_back(name);
    return it->second;
  }
  const std::vector<std::string>& paths() const { return paths_; }
  const std::vector<std::string>& clients() const { return clients_; }
  const std::string& path(PathId id) const { return paths_[id]; }

  std::map<std::string, std::string> about;  // origin, format, root, ...: for people
  std::vector<InitialEntry> initial;         // parents before children
  std::vector<Operation> operations;

 private:
  std::vector<std::string> paths_, clients_;
  std::unordered_map<std::string, PathId> by_path_;
  std::unordered_map<std::string, std::uint32_t> by_client_;
};

}  // namespace cffs::replay
