#include "core/transfer/existing_files.h"

#include <sys/stat.h>

namespace cffs {

bool ExistingFiles::is_empty(InodeId directory) const {
  const auto found = to_.names(directory);
  return found && found->empty();
}

bool ExistingFiles::is_same(InodeId parent, const std::string& name, const Attributes& there,
                            const Inode& wanted, const SameContent& same) const {
  if (S_ISLNK(there.mode)) {
    const auto target = to_.target(parent, name);
    return target && *target == wanted.target;
  }
  if (!S_ISREG(there.mode)) return there.rdev == wanted.rdev;
  if (there.size != wanted.size) return false;
  if (!by_content_ || !same) return there.mtime_ns == wanted.mtime_ns;
  const auto read = to_.open(parent, name);
  return read && same(*read);
}

Result<ExistingFiles::Found> ExistingFiles::look(InodeId parent, const std::string& name, const Inode& wanted,
                                                 const SameContent& same) const {
  if (new_.contains(parent)) return Found{};
  const auto there = to_.look(parent, name);
  if (!there && there.error().errno_value != ENOENT) return fail(there.error());
  if (!there) return Found{};
  Found found{What::differs, false, {}};
  if (S_ISDIR(there->mode)) {
    found.what = What::directory;
  } else if ((there->mode & S_IFMT) == (wanted.mode & S_IFMT)) {
    if (is_same(parent, name, *there, wanted, same)) found.what = What::same;
    if (found.what == What::same && there->nlink > 1) found.linked = there->ino;
    const bool mode = !S_ISLNK(there->mode) && (there->mode & 07777) != (wanted.mode & 07777);
    const bool owner = to_.keeps_owners() && (there->uid != wanted.uid || there->gid != wanted.gid);
    found.attributes_differ = mode || owner || there->mtime_ns != wanted.mtime_ns;
  }
  return found;
}

Result<std::uint64_t> ExistingFiles::clear(InodeId directory) {
  if (!to_.knows_of_left_overs()) return 0;
  std::uint64_t gone = 0;
  CFFS_TRY(const auto found, to_.names(directory));
  for (const auto& [name, is_directory] : found) {
    if (is_directory || !to_.is_left_over(directory, name)) continue;
    CFFS_TRY_VOID(to_.remove(directory, name, false));
    ++gone;
  }
  return gone;
}

Status ExistingFiles::take_name(InodeId parent, const std::string& temporary, const std::string& name) {
  Status done = to_.replace(parent, temporary, name);
  if (!done) (void)to_.remove(parent, temporary, false);
  return done;
}

// Without recursion: what is removed may be deeper than a stack.
Result<std::uint64_t> ExistingFiles::remove(InodeId parent, const std::string& name, const Keep& keep,
                                            const std::string& path) {
  struct Level {
    InodeId parent, ino;
    std::string name;
    std::vector<std::pair<std::string, bool>> left;
    std::size_t path_bytes = 0;  // of what it lies in
    bool keeps = false;
  };
  std::vector<Level> levels;
  std::uint64_t removed = 0;
  std::string at = path;  // of the innermost level
  const auto enter = [&](InodeId in, const std::string& what) -> Status {
    CFFS_TRY(const Attributes there, to_.look(in, what));
    if (!S_ISDIR(there.mode)) {
      CFFS_TRY_VOID(to_.remove(in, what, false));
      ++removed;
      return {};
    }
    CFFS_TRY(const InodeId directory, to_.enter(in, what, true));
    levels.push_back({in, directory, what, {}, at.size(), false});
    if (keep && levels.size() > 1) at += "/" + what;
    CFFS_TRY(levels.back().left, to_.names(directory));
    return {};
  };
  Status done = enter(parent, name);
  while (done && !levels.empty()) {
    Level& level = levels.back();
    if (!level.left.empty()) {
      const auto [next, is_directory] = std::move(level.left.back());
      level.left.pop_back();
      if (keep && keep(at + "/" + next, is_directory)) {
        level.keeps = true;
      } else {
        done = enter(level.ino, next);
      }
      continue;
    }
    at.resize(level.path_bytes);
    const bool keeps = level.keeps;
    if (!keeps) done = to_.remove(level.parent, level.name, true);
    if (!keeps && done) ++removed;
    to_.leave(level.ino);  // after it: who is in a directory knows by then that it is empty
    levels.pop_back();
    if (keeps && !levels.empty()) levels.back().keeps = true;
  }
  for (const Level& level : levels) to_.leave(level.ino);
  if (!done) return fail(done.error());
  return removed;
}

}  // namespace cffs
