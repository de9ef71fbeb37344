#include "core/transfer/tree_visit.h"

#include "core/transfer/export.h"

namespace cffs {

Result<Attributes> resolve(FileSystem& fs, const std::string& path) {
  CFFS_TRY(Attributes at, fs.lookup(kRootInode, "."));
  for (std::size_t from = 0; from <= path.size();) {
    const std::size_t slash = std::min(path.find('/', from), path.size());
    const std::string name = path.substr(from, slash - from);
    from = slash + 1;
    if (name.empty()) continue;
    auto next = fs.lookup(at.ino, name);
    fs.forget(at.ino, 1);
    if (!next) return fail(next.error().errno_value, "'" + path + "' in the store");
    at = *next;
  }
  return at;
}

Status visit_tree(FileSystem& fs, const Attributes& start,
                  const std::function<Status(const VisitedFile&)>& enter,
                  const std::function<Status(const VisitedFile&)>& leave) {
  const std::function<Status(const VisitedFile&)> walk = [&](const VisitedFile& file) -> Status {
    CFFS_TRY_VOID(enter(file));
    if (!S_ISDIR(file.attributes.mode)) return {};
    std::vector<VisitedFile> children;
    CFFS_TRY_VOID(fs.readdir(file.attributes.ino, 2, true, [&](const DirectoryEntry& e) {
      const std::string name(e.name);
      children.push_back({file.path.empty() ? name : file.path + "/" + name, e.attributes});
      return true;
    }));
    Status result;
    // Files first: they lie together.
    for (const bool directories : {false, true}) {
      for (const VisitedFile& child : children) {
        if (S_ISDIR(child.attributes.mode) != directories) continue;
        if (result) result = walk(child);
        fs.forget(child.attributes.ino, 1);
      }
    }
    if (result) result = leave(file);
    return result;
  };
  return walk({"", start});
}

Status visit_data(FileSystem& fs, const Attributes& file,
                  const std::function<Status(std::uint64_t, std::string_view)>& write) {
  std::string buffer(std::min<std::uint64_t>(file.size, 1u << 20), '\0');
  std::uint64_t at = 0;
  while (at < file.size) {
    CFFS_TRY(at, fs.next_data(file.ino, at));
    if (at >= file.size) break;
    CFFS_TRY(const std::uint64_t hole, fs.next_hole(file.ino, at));
    const std::size_t wanted = std::min<std::uint64_t>(buffer.size(), std::max(hole, at + 1) - at);
    CFFS_TRY(const std::size_t n, fs.read(file.ino, at, as_writable_bytes(buffer).first(wanted)));
    if (n == 0) break;
    CFFS_TRY_VOID(write(at, std::string_view(buffer).substr(0, n)));
    at += n;
  }
  return {};
}

}  // namespace cffs
