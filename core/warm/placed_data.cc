#include "core/warm/placed_data.h"

#include "core/browse/tree_path.h"
#include "core/table/table.h"

namespace cffs {

Status PlacedData::add(FileSystem& fs, const std::string& path, const std::function<bool()>& go_on) {
  CFFS_TRY(const Attributes start, find_path(fs, path, LastLink::follow, path));
  fs.forget(start.ino, 1);
  has_root = has_root || start.ino == kRootInode;
  if (!S_ISDIR(start.mode)) {
    // A row is found by the directory that it is in; the walk of that one passes the others by.
    const std::size_t end = path.find_last_not_of('/');
    const std::size_t slash = path.rfind('/', end);
    const std::string above = slash == std::string::npos ? "" : path.substr(0, slash);
    CFFS_TRY(const Attributes directory, find_path(fs, above, LastLink::follow, above));
    fs.forget(directory.ino, 1);
    std::vector<InodeId> none;
    bool found = false;
    CFFS_TRY_VOID(fs.table().scan_directory(
        directory.ino, 0,
        [&](Key, const Row& row) {
          for (const Entry& entry : row.entries) {
            if (entry.ino != start.ino || found) continue;
            come_to(fs, directory.ino, entry, none);
            found = true;
          }
          return !found;
        },
        pass_over));
    if (found) return {};
    return fail(Error::usage(path + " is a symbolic link; name what it leads to"));
  }
  std::vector<InodeId> coming;
  if (seen_.insert(start.ino).second) {
    coming.push_back(start.ino);
    ++directories;
  }
  while (!coming.empty()) {
    if (go_on && !go_on()) return fail(EINTR);
    const InodeId directory = coming.back();
    coming.pop_back();
    CFFS_TRY_VOID(fs.table().scan_directory(
        directory, 0,
        [&](Key, const Row& row) {
          for (const Entry& entry : row.entries) come_to(fs, directory, entry, coming);
          return true;
        },
        pass_over));
  }
  return {};
}

void PlacedData::come_to(FileSystem& fs, InodeId directory, const Entry& entry,
                         std::vector<InodeId>& coming) {
  ++names;
  if (S_ISDIR(entry.type)) {
    if (!seen_.insert(entry.ino).second) return;
    ++directories;
    coming.push_back(entry.ino);
    return;
  }
  if (!S_ISREG(entry.type)) return;
  if (entry.inode) {
    place(*entry.inode);
    if (entry.inode->home == Home::inline_) inline_files.emplace_back(directory, entry.name);
    return;
  }
  if (!seen_.insert(entry.ino).second) return;
  const auto row = fs.table().get_row(Key::null_name(entry.ino));
  if (!row || row->entries.empty() || !row->entries.front().inode) return;
  place(*row->entries.front().inode);
  if (row->entries.front().inode->home == Home::inline_) inline_files.emplace_back(directory, entry.name);
}

void PlacedData::place(const Inode& inode) {
  if (on_file) on_file(inode);
  if (inode.home == Home::blob) blobs[inode.ino] = inode.size;
  if (inode.home != Home::composite) return;
  auto& ranges = composites[inode.extent.composite];
  const Range range{inode.extent.offset, inode.extent.offset + inode.extent.length};
  // Files that lie one behind the other are one range, mostly.
  constexpr std::uint64_t kNear = 4096;
  if (!ranges.empty() && range.begin >= ranges.back().begin && range.begin <= ranges.back().end + kNear) {
    ranges.back().end = std::max(ranges.back().end, range.end);
  } else {
    ranges.push_back(range);
  }
}

}  // namespace cffs
