#include "core/repair/new_tree.h"

#include <unordered_set>

#include "core/base/no_room.h"

namespace cffs {
namespace {

std::string numbered(const std::string& name, InodeId lost) {
  std::string numbered = name;
  numbered += '#';
  numbered += std::to_string(lost.value);
  return numbered;
}

Caller root() { return Caller::privileged(0, 0); }

// The second name is tried where the first one is taken.
template <typename Make>
auto make_as(const std::string& name, InodeId lost, Make make) {
  auto made = make(name);
  const bool taken = !made && made.error().errno_value == EEXIST;
  return taken ? make(numbered(name, lost)) : made;
}

}  // namespace

Status NewTree::make_directories() {
  directories_[kRootInode] = kRootInode;
  for (const auto& [ino, known] : names_.directories()) CFFS_TRY_VOID(directory(ino));
  return {};
}

// From the directory up to one that is there, then down again: as deep as the tree is, and a circle has an end.
Result<InodeId> NewTree::directory(InodeId lost) {
  if (lost == kRootInode) return kRootInode;
  std::vector<InodeId> way;
  std::unordered_set<InodeId> on_it;
  InodeId top = lost;
  while (top != kRootInode && !directories_.contains(top)) {
    const LostNames::Directory* known = names_.directory(top);
    if (known == nullptr || !on_it.insert(top).second) {
      CFFS_TRY(directories_[top], make_nameless(top));
      break;
    }
    way.push_back(top);
    top = known->parent;
  }
  InodeId parent = top == kRootInode ? kRootInode : directories_.at(top);
  for (; !way.empty(); way.pop_back()) {
    const InodeId ino = way.back();
    if (const auto there = directories_.find(ino); there != directories_.end()) {
      parent = there->second;
      continue;
    }
    const auto made = make_as(names_.directory(ino)->name, ino,
                              [&](const std::string& name) { return fs_.mkdir(parent, name, 0700, root()); });
    const bool too_long = !made && made.error().errno_value == ENAMETOOLONG;  // with a number behind it
    if (!made && !too_long) return fail(made.error());
    if (made) parent = made->ino;
    if (too_long) {
      CFFS_TRY(parent, make_nameless(ino));
    }
    directories_[ino] = parent;
  }
  return parent;
}

Result<InodeId> NewTree::make_nameless(InodeId lost) {
  nameless_.push_back(lost);
  return directory(numbered("", lost));
}

Result<InodeId> NewTree::directory(const std::string& name) {
  if (const auto known = named_.find(name); known != named_.end()) return known->second;
  for (std::string as = name;; as += '#') {  // a file may be called so
    auto there = fs_.mkdir(kRootInode, as, 0700, root());
    if (!there && there.error().errno_value == EEXIST) there = fs_.lookup(kRootInode, as);
    if (!there) return fail(there.error());
    if (!S_ISDIR(there->mode)) {
      fs_.forget(there->ino, 1);
      continue;
    }
    named_[name] = there->ino;
    return there->ino;
  }
}

Result<InodeId> NewTree::make_entry(InodeId parent, const std::string& name, const Inode& inode) {
  const auto made = make_as(name, inode.ino, [&](const std::string& as) {
    if (inode.is_symlink()) return fs_.symlink(parent, as, inode.target, root());
    const mode_t type = inode.mode & S_IFMT;
    return fs_.mknod(parent, as, type | 0600, inode.rdev, root());
  });
  if (!made) return fail(made.error());
  return made->ino;
}

Status NewTree::link(InodeId file, const EntryName& place, InodeId lost) {
  CFFS_TRY(const InodeId parent, directory(place.parent));
  const auto made =
      make_as(place.name, lost, [&](const std::string& name) { return fs_.link(file, parent, name); });
  if (!made) return fail(made.error());
  fs_.forget(file, 1);
  return {};
}

Status NewTree::set_attributes(InodeId file, const Inode& inode) {
  AttributeChange change;
  change.uid = inode.uid;
  change.gid = inode.gid;
  CFFS_TRY_VOID(fs_.setattr(file, change, root()));
  for (const auto& [name, value] : inode.xattrs) {
    const Status set = fs_.setxattr(file, name, value, XattrMode::any, root());
    if (set) continue;
    if (set.error().is_shortage() || is_no_room(set.error().errno_value)) return set;
    lost_.push_back("inode " + std::to_string(inode.ino.value) + ": attribute " + name + ": " +
                    set.error().message());
  }
  AttributeChange last;  // after the owner, which takes set-id bits away
  if (!inode.is_symlink()) last.mode = inode.mode & 07777;
  last.atime_ns = inode.atime_ns;
  last.mtime_ns = inode.mtime_ns;
  CFFS_TRY_VOID(fs_.setattr(file, last, root()));
  return {};
}

Status NewTree::finish_directories() {
  for (const auto& [ino, known] : names_.directories()) {
    const auto made = directories_.find(ino);
    if (made != directories_.end()) CFFS_TRY_VOID(set_attributes(made->second, known.inode));
  }
  return names_.root() == nullptr ? Status() : set_attributes(kRootInode, *names_.root());
}

}  // namespace cffs
