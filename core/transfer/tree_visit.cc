#include "core/transfer/tree_visit.h"

#include <unordered_set>

#include "core/transfer/export.h"

namespace cffs {

Result<Attributes> resolve(FileSystem& fs, const std::string& path) {
  CFFS_TRY(Attributes at, fs.lookup(kRootInode, "."));
  for (std::size_t from = 0; from <= path.size();) {
    const std::size_t slash = std::min(path.find('/', from), path.size());
    const std::string name = path.substr(from, slash - from);
    from = slash + 1;
    if (name.empty()) continue;
    if (name == "..") {
      fs.forget(at.ino, 1);
      return fail(
          Error::command_line("'" + path + "': name what is in the store from its root on, without '..'"));
    }
    auto next = fs.lookup(at.ino, name);
    fs.forget(at.ino, 1);
    if (!next) return fail(next.error().errno_value, "'" + path + "' in the store");
    at = *next;
  }
  return at;
}

namespace {

struct Child {
  std::string name;
  Attributes attributes;
};

// A directory that was entered: what is below it is visited next, then it is left. Its children are referenced.
struct Entered {
  Attributes attributes;
  std::size_t path_bytes = 0;
  std::vector<Child> directories;
  std::size_t next = 0;
};

}  // namespace

// Without recursion: a tree may be deep.
Status visit_tree(FileSystem& fs, const Attributes& start,
                  const std::function<Status(const VisitedFile&)>& enter,
                  const std::function<Status(const VisitedFile&)>& leave, const VisitChoice& choice) {
  VisitedFile file{"", start};
  std::vector<Entered> open;
  std::unordered_set<InodeId> entered;
  const auto below = [&](const Entered& directory, const Child& child) {
    file.path.resize(directory.path_bytes);
    if (!file.path.empty()) file.path += '/';
    file.path += child.name;
    file.attributes = child.attributes;
  };
  // Files first: they lie together.
  const auto descend = [&]() -> Status {
    const bool again = !entered.insert(file.attributes.ino).second;
    Entered directory{file.attributes, file.path.size(), {}, 0};
    std::vector<Child> files;
    if (again) {
      open.push_back(std::move(directory));
      return fail(Error::corruption("directory '" + file.path + "' has two names"));
    }
    std::set<std::string, std::less<>> names;
    std::string inside;
    const Status listed = fs.readdir(file.attributes.ino, 2, true, [&](const DirectoryEntry& e) {
      if (choice.excludes != nullptr && !choice.excludes->empty()) {
        inside = file.path + (file.path.empty() ? "" : "/") + std::string(e.name);
        if (choice.excludes->match(inside, S_ISDIR(e.attributes.mode))) {
          fs.forget(e.attributes.ino, 1);
          return true;
        }
      }
      if (choice.listed) names.emplace(e.name);
      (S_ISDIR(e.attributes.mode) ? directory.directories : files)
          .push_back({std::string(e.name), e.attributes});
      return true;
    });
    Status result = listed;
    if (result && choice.listed) choice.listed(file, names);
    for (const Child& child : files) {
      below(directory, child);
      if (result) result = enter(file);
      fs.forget(child.attributes.ino, 1);
    }
    open.push_back(std::move(directory));
    return result;
  };
  const auto goes_below = [&] { return !choice.descend || choice.descend(file); };
  Status result = enter(file);
  if (result && S_ISDIR(start.mode) && goes_below()) result = descend();
  while (!open.empty()) {
    Entered& directory = open.back();
    if (directory.next < directory.directories.size()) {
      const Child& child = directory.directories[directory.next++];
      if (result) {
        below(directory, child);
        result = enter(file);
        if (result && goes_below()) {
          result = descend();
          continue;
        }
      }
      fs.forget(child.attributes.ino, 1);
      continue;
    }
    file.path.resize(directory.path_bytes);
    file.attributes = directory.attributes;
    if (result) result = leave(file);
    open.pop_back();
    if (!open.empty()) fs.forget(file.attributes.ino, 1);  // the start is the caller's
  }
  return result;
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
