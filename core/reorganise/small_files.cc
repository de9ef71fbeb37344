#include "core/reorganise/small_files.h"

#include <iterator>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/fs/rehousing.h"
#include "core/table/table.h"

namespace cffs {
namespace {

struct Directory {
  InodeId ino;
  std::string path;

  std::string below(const std::string& name) const { return path.empty() ? name : path + "/" + name; }
};

}  // namespace

// A directory's own files, then its directories'. Iterative: a tree may be deep.
Status visit_small_files(FileSystem& fs, const std::function<void(SmallFile)>& visit,
                         const std::atomic<bool>* stop) {
  std::vector<Directory> directories{{kRootInode, ""}};
  std::unordered_set<std::uint64_t> linked;
  std::unordered_set<std::uint64_t> met{kRootInode.value};  // rows of a damaged store may lead in a circle
  Status lost;
  while (!directories.empty() && (stop == nullptr || !stop->load())) {
    const Directory here = std::move(directories.back());
    directories.pop_back();
    std::vector<Directory> below;
    std::vector<std::pair<std::string, InodeId>> links;
    const auto add = [&](const std::string& name, const Inode& inode) {
      const bool small =
          inode.is_regular() && inode.size > 0 && inode.size <= fs.store_format().composite_file_max;
      if (!small || inode.home == Home::none || inode.holds_room()) return;
      visit({here.ino, inode.ino, name, here.below(name), inode.size, inode.home, inode.extent.composite,
             inode.extent.group_offset});
    };
    const auto on_row = [&](Key, const Row& row) {
      for (const Entry& e : row.entries) {
        if (S_ISDIR(e.type) && met.insert(e.ino.value).second) below.push_back({e.ino, here.below(e.name)});
        if (S_ISREG(e.type) && e.inode) add(e.name, *e.inode);
        if (S_ISREG(e.type) && !e.inode) links.emplace_back(e.name, e.ino);
      }
      return true;
    };
    const Status read = fs.table().scan_directory(here.ino, 0, on_row, pass_over);
    if (!read && !read.error().is_damage()) return read;
    if (!read && lost) lost = read;
    for (const auto& [name, ino] : links) {
      if (!linked.insert(ino.value).second) continue;
      if (const auto inode = fs.rehousing().linked_inode(ino)) add(name, *inode);
    }
    directories.insert(directories.end(), std::make_move_iterator(below.rbegin()),
                       std::make_move_iterator(below.rend()));
  }
  return lost;
}

}  // namespace cffs
