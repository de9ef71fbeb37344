// Extended attributes live in the inode's row, and only short ones in its node too (long_parts.h). A name and a value may be as
// long as the kernel lets them (ERANGE, E2BIG); in sum, where ext4 takes what fits beside the inode and into one block, Btrfs
// 16 KiB each and XFS any number, a row takes 128 KiB. What is beyond is ENOSPC, as there.
#include "core/fs/xattr.h"

#include <algorithm>

#include "core/fs/acl.h"
#include "core/fs/engine.h"
#include "core/fs/locking.h"
#include "core/fs/long_parts.h"

namespace cffs {
namespace {

constexpr std::size_t kXattrNameMax = 255;
constexpr std::size_t kNamesMax = 64 * 1024;   // of one inode: what listxattr(2) can return

auto position(Xattrs& xattrs, std::string_view name) {
  return std::lower_bound(xattrs.begin(), xattrs.end(), name,
                          [](const auto& x, std::string_view n) { return x.first < n; });
}

// EOPNOTSUPP: a namespace that nobody defined; EINVAL: a namespace without a name.
Status check_namespace(std::string_view name) {
  if (is_acl(name)) return {};
  for (const std::string_view prefix : {"user.", "trusted.", "security."}) {
    if (name == prefix) return fail(EINVAL);
    if (name.starts_with(prefix)) return {};
  }
  return fail(EOPNOTSUPP);
}

void put_value(Xattrs& xattrs, std::string_view name, std::string_view value) {
  const auto at = position(xattrs, name);
  if (at != xattrs.end() && at->first == name) {
    at->second = value;
  } else {
    xattrs.emplace(at, std::string(name), std::string(value));
  }
}

// An access list decides the mode's group bits; one that says no more than the mode is not kept.
Status put_acl(Inode& inode, std::string_view name, std::string_view value, const Caller& caller) {
  if (inode.is_symlink()) return fail(EOPNOTSUPP);
  if (name == kDefaultAcl && !inode.is_directory()) return fail(EACCES);
  CFFS_TRY(const auto acl, Acl::parse(value));
  if (!acl) {
    erase_xattr(inode.xattrs, name);
    return {};
  }
  if (name == kDefaultAcl) {
    put_value(inode.xattrs, name, value);
    return {};
  }
  inode.mode = (inode.mode & ~static_cast<mode_t>(0777)) | acl->permissions();
  if (!caller.may_set_group_id(inode.gid)) inode.mode &= ~static_cast<mode_t>(S_ISGID);
  if (acl->is_minimal()) {
    erase_xattr(inode.xattrs, name);
  } else {
    put_value(inode.xattrs, name, value);
  }
  return {};
}

Result<std::string> value_of(const Xattrs& xattrs, std::string_view name) {
  const std::string* value = find_xattr(xattrs, name);
  if (value == nullptr) return fail(ENODATA);
  return *value;
}

std::vector<std::string> names_of(const Xattrs& xattrs) {
  std::vector<std::string> names;
  for (const auto& [name, value] : xattrs) names.push_back(name);
  return names;
}

}  // namespace

Status put_xattr(Inode& inode, std::string_view name, std::string_view value, const Caller& caller) {
  if (name.empty() || name.size() > kXattrNameMax) return fail(ERANGE);
  if (value.size() > kXattrValueMax) return fail(E2BIG);
  CFFS_TRY_VOID(check_namespace(name));
  if (is_acl(name)) {
    CFFS_TRY_VOID(put_acl(inode, name, value, caller));
  } else {
    put_value(inode.xattrs, name, value);
  }
  std::size_t total = 0, names = 0;
  for (const auto& [key, v] : inode.xattrs) {
    total += key.size() + v.size();
    names += key.size() + 1;
  }
  if (total > kXattrsMax || names > kNamesMax) return fail(ENOSPC);
  return {};
}

Result<std::string> Engine::getxattr(InodeId ino, std::string_view name) {
  CFFS_TRY_VOID(check_namespace(name));
  CFFS_TRY(const NodePtr found, rows_.node(ino));
  const ReadLock guard(found->mutex);
  // Asked before the first write of every open: answered without a look at the row.
  if (name == kCapability && !has_capability(found->inode)) return fail(ENODATA);
  if (!found->inode.left_in_row) return value_of(found->inode.xattrs, name);
  CFFS_TRY(const Inode inode, rows_.whole(*found));
  return value_of(inode.xattrs, name);
}

Result<std::vector<std::string>> Engine::listxattr(InodeId ino) {
  CFFS_TRY(const NodePtr found, rows_.node(ino));
  const ReadLock guard(found->mutex);
  if (!found->inode.left_in_row) return names_of(found->inode.xattrs);
  CFFS_TRY(const Inode inode, rows_.whole(*found));
  return names_of(inode.xattrs);
}

Status Engine::setxattr(InodeId ino, std::string_view name, std::string_view value, XattrMode mode,
                        const Caller& caller) {
  CFFS_TRY_VOID(check_namespace(name));  // what nobody may have is not "not there" either
  CFFS_TRY(const NodePtr found, rows_.node(ino));
  CFFS_TRY_VOID(space_.charge(value.size()));
  Node& node = *found;
  const NodeUpdate update(locks_, node);
  CFFS_TRY(Inode inode, rows_.whole(node));
  const bool there = find_xattr(inode.xattrs, name) != nullptr;
  if (there && mode == XattrMode::create) return fail(EEXIST);
  if (!there && mode == XattrMode::replace) return fail(ENODATA);
  CFFS_TRY_VOID(put_xattr(inode, name, value, caller));
  inode.ctime_ns = now();
  return rows_.change(node, std::move(inode));
}

Status Engine::removexattr(InodeId ino, std::string_view name) {
  CFFS_TRY_VOID(check_namespace(name));
  CFFS_TRY(const NodePtr found, rows_.node(ino));
  Node& node = *found;
  const NodeUpdate update(locks_, node);
  CFFS_TRY(Inode inode, rows_.whole(node));
  const auto at = position(inode.xattrs, name);
  if (at == inode.xattrs.end() || at->first != name) {
    return is_acl(name) ? Status() : Status(fail(ENODATA));  // no list is as good as one that is gone
  }
  inode.xattrs.erase(at);
  inode.ctime_ns = now();
  return rows_.change(node, std::move(inode));
}

}  // namespace cffs
