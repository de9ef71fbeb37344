#include "core/reorganise/store_paths.h"

#include <algorithm>

#include "core/fs/limits.h"
#include "core/reorganise/readable_rows.h"
#include "core/table/table.h"
#include "grouping/reference/text.h"

namespace cffs {
Status StorePaths::scan_directories() {
  scanned_ = true;
  NamespaceVisitor visitor;
  visitor.entries = [&](Key key, const Row& row) {
    for (const Entry& e : row.entries) {
      if (S_ISDIR(e.type) && !e.name.empty()) directories_[e.ino.value] = {InodeId{key.upper}, e.name};
    }
    return true;
  };
  return scan_readable(fs_.table(), visitor);
}

void StorePaths::forget_files() {
  spellings_left_ = kMostSpellings;
  steps_.clear();
  steps_bytes_ = 0;
  names_.clear();
}

Result<std::optional<std::string>> StorePaths::path_of(InodeId directory) {
  std::string path;
  // A rename may pull a directory away while we climb; then the path is wrong, which costs a place in a group.
  constexpr int kDeepest = 4096;
  constexpr std::size_t kLongestPath = 16u * 4096;  // what is longer nobody can name
  for (int depth = 0; directory != kRootInode && depth < kDeepest; ++depth) {
    EntryName up;
    if (const auto live = fs_.rehousing().referred(directory); live.referred) {
      if (!live.at) return std::optional<std::string>();
      up = *live.at;
    } else {
      if (!scanned_) CFFS_TRY_VOID(scan_directories());
      const auto it = directories_.find(directory.value);
      if (it == directories_.end()) return std::optional<std::string>();
      up = it->second;
    }
    path = path.empty() ? up.name : up.name + "/" + path;
    if (path.size() > kLongestPath) return std::optional<std::string>();
    directory = up.parent;
  }
  return std::optional<std::string>(path);
}

Result<std::optional<std::string>> StorePaths::path_of(const EntryName& at) {
  CFFS_TRY(auto directory, path_of(at.parent));
  if (directory) *directory += directory->empty() ? at.name : "/" + at.name;
  return directory;
}

std::optional<StorePaths::Found> StorePaths::entry(InodeId directory, const std::string& name,
                                                   bool exact) const {
  const auto row = fs_.table().get_row(fs_.rehousing().entry_key({directory, name}));
  const Entry* e = row ? row->find(name) : nullptr;
  if (e != nullptr) return Found{e->ino, e->type, e->name};
  if (exact || spellings_left_ == 0) return {};
  constexpr std::size_t kMostEntries = 20'000;  // a larger directory is not searched for other spellings
  std::optional<Found> found;
  std::size_t seen = 0;
  bool several = false;
  const auto visit = [&](Key, const Row& other) {
    for (const Entry& o : other.entries) {
      if (!grouping::same_ignoring_case(o.name, name)) continue;
      several = found.has_value();
      found = Found{o.ino, o.type, o.name};
    }
    if (spellings_left_ > 0) --spellings_left_;
    return ++seen < kMostEntries && !several && spellings_left_ > 0;
  };
  (void)fs_.table().scan_directory(directory, 0, visit, pass_over);
  return several ? std::nullopt : found;
}

std::optional<InodeId> StorePaths::step(InodeId directory, std::string_view name, bool exact) {
  if (name.empty() || name.size() > kNameMax) return {};
  std::string key = std::to_string(directory.value);
  key.append(1, exact ? '=' : '~').append(name);
  if (const auto it = steps_.find(key); it != steps_.end()) return it->second;
  std::optional<InodeId> found;
  const auto there = entry(directory, std::string(name), exact);
  if (there && S_ISDIR(there->type)) found = there->ino;
  constexpr std::size_t kMostBytes = 8u << 20, kBeside = 64;  // what an entry takes beside its key
  steps_bytes_ += key.size() + kBeside;
  if (steps_bytes_ > kMostBytes) {
    steps_.clear();
    steps_bytes_ = key.size() + kBeside;
  }
  steps_.emplace(std::move(key), found);
  return found;
}

// From the root down, as far as the path leads: a document may name any number of long paths that lead nowhere, and each costs what
// there is of it.
std::optional<InodeId> StorePaths::directory_at(std::string_view path, bool exact) {
  constexpr std::size_t kLongest = 4096;  // no document names a longer one
  if (path.size() > kLongest) return {};
  std::optional<InodeId> at = kRootInode;
  for (std::size_t from = 0; at && from < path.size();) {
    const std::size_t slash = std::min(path.find('/', from), path.size());
    at = step(*at, path.substr(from, slash - from), exact);
    from = slash + 1;
  }
  return at;
}

std::optional<grouping::FileId> StorePaths::look(const std::string& path, bool exact) {
  const std::size_t slash = path.rfind('/');
  const std::string name = path.substr(slash == std::string::npos ? 0 : slash + 1);
  if (name.empty() || name.size() > kNameMax) return {};
  const auto parent =
      directory_at(slash == std::string::npos ? "" : std::string_view(path).substr(0, slash), exact);
  if (!parent) return {};
  const auto there = entry(*parent, name, exact);
  if (!there || !S_ISREG(there->type)) return {};
  names_[there->ino.value] = {*parent, there->name};
  return there->ino.value;
}

std::optional<grouping::FileId> StorePaths::find(const std::string& path) { return look(path, true); }
std::optional<grouping::FileId> StorePaths::find_ignoring_case(const std::string& path) {
  return look(path, false);
}

std::vector<grouping::FileId> StorePaths::list(const std::string& directory, std::string_view suffix) {
  std::vector<grouping::FileId> found;
  const auto ino = directory_at(directory, true);
  if (!ino) return found;
  constexpr std::size_t kMostListed = 4096;
  const auto visit = [&](Key, const Row& row) {
    for (const Entry& e : row.entries) {
      if (!S_ISREG(e.type) || !e.name.ends_with(suffix)) continue;
      names_[e.ino.value] = {*ino, e.name};
      found.push_back(e.ino.value);
    }
    return found.size() < kMostListed;
  };
  (void)fs_.table().scan_directory(*ino, 0, visit, pass_over);
  return found;
}

std::optional<EntryName> StorePaths::name_of(grouping::FileId file) const {
  const auto it = names_.find(file);
  return it == names_.end() ? std::nullopt : std::optional<EntryName>(it->second);
}

}  // namespace cffs
