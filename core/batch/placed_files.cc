#include "core/batch/placed_files.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "core/browse/tree_path.h"
#include "core/table/name_hash.h"
#include "core/table/table.h"

namespace cffs {
namespace {

constexpr std::size_t kMostDirectories = 1u << 16;  // that are remembered

// The inode of an entry, wherever its row is; nullopt: it went meanwhile.
Result<std::optional<Inode>> inode_of(FileSystem& fs, const Entry& entry) {
  if (entry.inode) return entry.inode;
  CFFS_TRY(const Row row, fs.table().get_row(Key::null_name(entry.ino)));
  if (row.entries.empty()) return std::optional<Inode>();
  return row.entries.front().inode;
}

Result<FilePlace> place_at(FileSystem& fs, InodeId parent, std::string_view name, const std::string& path,
                           bool& is_link) {
  is_link = false;
  CFFS_TRY(const Row row, fs.table().get_row(entry_key(fs.name_hash(), parent, name)));
  const Entry* const entry = row.find(name);
  if (entry == nullptr) return fail(ENOENT, path);
  is_link = S_ISLNK(entry->type);
  if (is_link) return FilePlace();
  if (S_ISDIR(entry->type)) return fail(EISDIR, path);
  if (!S_ISREG(entry->type)) return fail(EINVAL, path);
  CFFS_TRY(const auto inode, inode_of(fs, *entry));
  if (!inode) return fail(ENOENT, path);
  return place_of(*inode, parent);
}

}  // namespace

FilePlace place_of(const Inode& inode, InodeId parent) {
  FilePlace place{inode.ino, parent, inode.size, inode.home, {}, 0, 0, 0};
  // A member that was cut off is in a composite no more; a length that differs would be damage, which its reader finds.
  if (inode.home == Home::composite && inode.extent.length == inode.size) {
    place.composite = inode.extent.composite;
    place.offset = inode.extent.offset;
    place.checksum = inode.extent.checksum;
    place.group_offset = inode.extent.group_offset;
  }
  return place;
}

Result<PlacedFiles> PlacedFiles::below(FileSystem& fs, const std::string& path) {
  PlacedFiles found;
  CFFS_TRY(const Attributes start, find_path(fs, path, LastLink::follow, path));
  fs.forget(start.ino, 1);
  std::string shown;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    if (end > at) shown += "/" + path.substr(at, end - at);
    at = end + 1;
  }
  if (!S_ISDIR(start.mode)) {
    CFFS_TRY(const FilePlace place, PlaceFinder(fs).find(path));
    const std::size_t slash = shown.rfind('/');
    found.directories_.push_back({place.parent, kNone, shown.substr(0, slash)});
    found.names_ = shown.substr(slash + 1);
    found.files_.push_back({place, 0, 0, static_cast<std::uint16_t>(found.names_.size())});
    found.bytes_ = place.size;
    return found;
  }
  found.directories_.push_back({start.ino, kNone, shown});
  std::unordered_set<InodeId> met{start.ino};
  for (std::size_t i = 0; i < found.directories_.size(); ++i) CFFS_TRY_VOID(found.walk(fs, i, met));
  return found;
}

Status PlacedFiles::walk(FileSystem& fs, std::size_t directory, std::unordered_set<InodeId>& met) {
  Status done;
  CFFS_TRY_VOID(fs.table().scan_directory(directories_[directory].ino, 0, [&](Key, const Row& row) {
    for (const Entry& entry : row.entries) {
      if (done) done = take(fs, static_cast<std::uint32_t>(directory), entry, met);
    }
    return done.has_value();
  }));
  return done;
}

Status PlacedFiles::take(FileSystem& fs, std::uint32_t directory, const Entry& entry,
                         std::unordered_set<InodeId>& met) {
  constexpr std::size_t kMost = kNone;
  if (S_ISDIR(entry.type)) {
    if (directories_.size() >= kMost) return fail(EOVERFLOW, path_of(directory));
    if (!met.insert(entry.ino).second)
      return fail(
          Error::corruption("directory '" + path_of(directory) + "/" + entry.name + "' has two names"));
    directories_.push_back({entry.ino, directory, entry.name});
    return {};
  }
  if (!S_ISREG(entry.type)) return {};
  CFFS_TRY(const auto inode, inode_of(fs, entry));
  if (!inode) return {};
  if (files_.size() >= kMost) return fail(EOVERFLOW, path_of(directory));
  files_.push_back({place_of(*inode, directories_[directory].ino), names_.size(), directory,
                    static_cast<std::uint16_t>(entry.name.size())});
  names_ += entry.name;
  bytes_ += inode->size;
  return {};
}

std::string PlacedFiles::path(std::size_t i) const {
  return path_of(files_[i].directory).append("/").append(name(i));
}

std::string PlacedFiles::path_of(std::uint32_t directory) const {
  std::size_t bytes = 0;
  for (std::uint32_t at = directory; at != kNone; at = directories_[at].above)
    bytes += directories_[at].name.size() + 1;
  std::string path(bytes - 1, '/');  // the first has its slashes
  for (std::uint32_t at = directory; at != kNone; at = directories_[at].above) {
    bytes -= directories_[at].name.size() + 1;
    directories_[at].name.copy(path.data() + bytes, std::string::npos);
  }
  return path;
}

std::vector<std::uint32_t> PlacedFiles::by_path() const {
  std::vector<std::string> paths(files_.size());
  for (std::size_t i = 0; i < paths.size(); ++i) paths[i] = path(i);
  std::vector<std::uint32_t> order(files_.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return paths[a] < paths[b]; });
  return order;
}

std::vector<std::uint32_t> PlacedFiles::as_they_lie() const {
  std::vector<std::uint32_t> order(files_.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto place_in_order = [&](std::uint32_t i) {
    const FilePlace& p = files_[i].place;
    return std::tuple(p.composite.value == 0, p.composite.value, p.offset, p.ino.value, i);
  };
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return place_in_order(a) < place_in_order(b); });
  return order;
}

Result<FilePlace> PlaceFinder::find(const std::string& path) {
  const std::size_t last = path.find_last_not_of('/');
  if (last == std::string::npos) return fail(EISDIR, path);
  const std::size_t slash = path.rfind('/', last);
  const std::string name = path.substr(slash == std::string::npos ? 0 : slash + 1, last - slash);
  if (name == "." || name == ".." || last + 1 != path.size()) return find_by_link(path);
  const std::string_view above = std::string_view(path).substr(0, slash == std::string::npos ? 0 : slash);
  if (!has_last_ || above != last_directory_) {
    CFFS_TRY(last_ino_, directory(above, path));
    last_directory_ = above;
    has_last_ = true;
  }
  bool is_link = false;
  CFFS_TRY(const FilePlace place, place_at(fs_, last_ino_, name, path, is_link));
  return is_link ? find_by_link(path) : place;
}

// By the rows of the names on the way, one for each directory that is new. Without recursion, and by parent and name: a path may be
// longer than a stack, and with a path for each level it would take the square of its length.
Result<InodeId> PlaceFinder::directory(std::string_view path, const std::string& file) {
  InodeId at = kRootInode;
  for (std::size_t from = 0; from < path.size();) {
    const std::size_t end = std::min(path.find('/', from), path.size());
    const std::string_view name = path.substr(from, end - from);
    if (!name.empty() && name != ".") {
      CFFS_TRY(at, directory_in(at, name, path.substr(0, end), file));
    }
    from = end + 1;
  }
  return at;
}

// What is no plain name of a directory is find_path()'s. `path`: with the name.
Result<InodeId> PlaceFinder::directory_in(InodeId parent, std::string_view name, std::string_view path,
                                          const std::string& file) {
  std::string key = std::to_string(parent.value);
  key.append("/").append(name);
  if (name != "..") {
    if (const auto known = directories_.find(key); known != directories_.end()) return known->second;
    CFFS_TRY(const Row row, fs_.table().get_row(entry_key(fs_.name_hash(), parent, name)));
    const Entry* const entry = row.find(name);
    if (entry == nullptr) return fail(ENOENT, file);
    if (directories_.size() >= kMostDirectories) directories_.clear();
    if (S_ISDIR(entry->type)) return directories_[std::move(key)] = entry->ino;
    if (!S_ISLNK(entry->type)) return fail(ENOTDIR, file);
  }
  CFFS_TRY(const Attributes found, find_path(fs_, std::string(path), LastLink::follow, file));
  fs_.forget(found.ino, 1);
  if (!S_ISDIR(found.mode)) return fail(ENOTDIR, file);
  if (name != "..") directories_[std::move(key)] = found.ino;
  return found.ino;
}

// Where the links end is not in the path.
Result<FilePlace> PlaceFinder::find_by_link(const std::string& path) {
  CFFS_TRY(const Attributes file, find_path(fs_, path, LastLink::follow, path));
  const auto at = fs_.last_place(file.ino);
  fs_.forget(file.ino, 1);
  if (S_ISDIR(file.mode)) return fail(EISDIR, path);
  if (!at) return fail(ENOENT, path);
  bool is_link = false;
  CFFS_TRY(const FilePlace place, place_at(fs_, at->parent, at->name, path, is_link));
  if (is_link || place.ino != file.ino) return fail(ENOENT, path);  // another one by now
  return place;
}

}  // namespace cffs
