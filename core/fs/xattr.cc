// Extended attributes live in the inode's row; limits are those of ext4 with one block to spare for the rest.
#include <algorithm>

#include "core/fs/file_system.h"
#include "core/fs/locking.h"

namespace cffs {
namespace {

constexpr std::size_t kNameMax = 255;
constexpr std::size_t kValueMax = 64 * 1024;
constexpr std::size_t kTotalMax = 128 * 1024;  // of one inode; a row is read whole

auto position(Xattrs& xattrs, std::string_view name) {
  return std::lower_bound(xattrs.begin(), xattrs.end(), name,
                          [](const auto& x, std::string_view n) { return x.first < n; });
}

}  // namespace

Result<std::string> FileSystem::getxattr(InodeId ino, std::string_view name) {
  CFFS_TRY(const NodePtr found, node(ino));
  const std::shared_lock guard(found->mutex);
  for (const auto& [key, value] : found->inode.xattrs) {
    if (key == name) return value;
  }
  return fail(ENODATA);
}

Result<std::vector<std::string>> FileSystem::listxattr(InodeId ino) {
  CFFS_TRY(const NodePtr found, node(ino));
  const std::shared_lock guard(found->mutex);
  std::vector<std::string> names;
  for (const auto& [key, value] : found->inode.xattrs) names.push_back(key);
  return names;
}

Status FileSystem::setxattr(InodeId ino, std::string_view name, std::string_view value, XattrMode mode) {
  if (name.empty() || name.size() > kNameMax) return fail(ERANGE);
  if (value.size() > kValueMax) return fail(E2BIG);
  CFFS_TRY(const NodePtr found, node(ino));
  CFFS_TRY_VOID(space_.charge(value.size()));
  Node& node = *found;
  const NodeUpdate update(*this, node);
  const Inode before = node.inode;
  Xattrs& xattrs = node.inode.xattrs;
  const auto at = position(xattrs, name);
  const bool there = at != xattrs.end() && at->first == name;
  if (there && mode == XattrMode::create) return fail(EEXIST);
  if (!there && mode == XattrMode::replace) return fail(ENODATA);
  if (there) {
    at->second = value;
  } else {
    xattrs.emplace(at, std::string(name), std::string(value));
  }
  std::size_t total = 0;
  for (const auto& [key, v] : xattrs) total += key.size() + v.size();
  node.inode.ctime_ns = now();
  Batch batch;
  Status done = total > kTotalMax ? Status(fail(ENOSPC)) : put_node(batch, node);
  if (done) done = table_->write(batch);
  if (!done) node.inode = before;
  return done;
}

Status FileSystem::removexattr(InodeId ino, std::string_view name) {
  CFFS_TRY(const NodePtr found, node(ino));
  Node& node = *found;
  const NodeUpdate update(*this, node);
  const Inode before = node.inode;
  const auto at = position(node.inode.xattrs, name);
  if (at == node.inode.xattrs.end() || at->first != name) return fail(ENODATA);
  node.inode.xattrs.erase(at);
  node.inode.ctime_ns = now();
  Batch batch;
  Status done = put_node(batch, node);
  if (done) done = table_->write(batch);
  if (!done) node.inode = before;
  return done;
}

}  // namespace cffs
