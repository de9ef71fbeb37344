#include "core/fs/store_tree.h"

#include "grouping/reference/text.h"

namespace cffs {
Status StoreTree::scan_directories() {
  scanned_ = true;
  return fs_.table_->scan_entries([&](Key key, const Row& row) {
    for (const Entry& e : row.entries) {
      if (S_ISDIR(e.type) && !e.name.empty()) directories_[e.ino.value] = {InodeId{key.upper}, e.name};
    }
    return true;
  });
}

Result<std::optional<std::string>> StoreTree::path_of(InodeId directory) {
  std::string path;
  // A rename may pull a directory away while we climb; then the path is wrong, which costs a place in a group.
  for (int depth = 0; directory != kRootInode && depth < 4096; ++depth) {
    Place up;
    if (const NodePtr node = fs_.nodes_.find(directory)) {
      const std::shared_lock guard(node->mutex);
      if (node->unlinked || !node->parent) return std::optional<std::string>();
      up = {node->parent->ino, node->name};
    } else {
      if (!scanned_) CFFS_TRY_VOID(scan_directories());
      const auto it = directories_.find(directory.value);
      if (it == directories_.end()) return std::optional<std::string>();
      up = it->second;
    }
    path = path.empty() ? up.name : up.name + "/" + path;
    directory = up.parent;
  }
  return std::optional<std::string>(path);
}

Result<std::optional<std::string>> StoreTree::path_of(const Place& place) {
  CFFS_TRY(auto directory, path_of(place.parent));
  if (directory) *directory += directory->empty() ? place.name : "/" + place.name;
  return directory;
}

std::optional<StoreTree::Found> StoreTree::entry(InodeId directory, const std::string& name,
                                                 bool exact) const {
  const auto row = fs_.table_->get_row(fs_.entry_key(directory, name));
  const Entry* e = row ? row->find(name) : nullptr;
  if (e != nullptr) return Found{e->ino, e->type, e->name};
  if (exact) return {};
  constexpr std::size_t kMostEntries = 20'000;  // a larger directory is not searched for other spellings
  std::optional<Found> found;
  std::size_t seen = 0;
  bool several = false;
  (void)fs_.table_->scan(Key::entry(directory, 0), Key::entry(directory, ~std::uint64_t{0}),
                         [&](Key, std::string_view value) {
                           const auto other = decode_row(value);
                           if (!other) return true;
                           for (const Entry& o : other->entries) {
                             if (o.name.empty() || !grouping::same_ignoring_case(o.name, name)) continue;
                             several = found.has_value();
                             found = Found{o.ino, o.type, o.name};
                           }
                           return ++seen < kMostEntries && !several;
                         });
  return several ? std::nullopt : found;
}

std::optional<InodeId> StoreTree::directory_at(std::string_view path, bool exact) {
  if (path.empty()) return kRootInode;
  const std::string key = (exact ? "=" : "~") + std::string(path);
  if (const auto it = by_path_.find(key); it != by_path_.end()) return it->second;
  const std::size_t slash = path.rfind('/');
  const auto parent = directory_at(slash == std::string_view::npos ? "" : path.substr(0, slash), exact);
  std::optional<InodeId> found;
  if (parent) {
    const auto there =
        entry(*parent, std::string(path.substr(slash == std::string_view::npos ? 0 : slash + 1)), exact);
    if (there && S_ISDIR(there->type)) found = there->ino;
  }
  constexpr std::size_t kMostRemembered = 1u << 18;
  if (by_path_.size() > kMostRemembered) by_path_.clear();
  by_path_.emplace(key, found);
  return found;
}

std::optional<grouping::FileId> StoreTree::look(const std::string& path, bool exact) {
  const std::size_t slash = path.rfind('/');
  const std::string name = path.substr(slash == std::string::npos ? 0 : slash + 1);
  if (name.empty() || name.size() > 255) return {};
  const auto parent =
      directory_at(slash == std::string::npos ? "" : std::string_view(path).substr(0, slash), exact);
  if (!parent) return {};
  const auto there = entry(*parent, name, exact);
  if (!there || !S_ISREG(there->type)) return {};
  places_[there->ino.value] = {*parent, there->name};
  return there->ino.value;
}

std::optional<grouping::FileId> StoreTree::find(const std::string& path) { return look(path, true); }
std::optional<grouping::FileId> StoreTree::find_ignoring_case(const std::string& path) {
  return look(path, false);
}

std::vector<grouping::FileId> StoreTree::list(const std::string& directory, std::string_view suffix) {
  std::vector<grouping::FileId> found;
  const auto ino = directory_at(directory, true);
  if (!ino) return found;
  (void)fs_.table_->scan(Key::entry(*ino, 0), Key::entry(*ino, ~std::uint64_t{0}),
                         [&](Key, std::string_view value) {
                           const auto row = decode_row(value);
                           if (!row) return true;
                           for (const Entry& e : row->entries) {
                             if (!S_ISREG(e.type) || !e.name.ends_with(suffix)) continue;
                             places_[e.ino.value] = {*ino, e.name};
                             found.push_back(e.ino.value);
                           }
                           return found.size() < 4096;
                         });
  return found;
}

std::optional<StoreTree::Place> StoreTree::place(grouping::FileId file) const {
  const auto it = places_.find(file);
  return it == places_.end() ? std::nullopt : std::optional<Place>(it->second);
}

}  // namespace cffs
