#include "tests/model/reference.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>

#include <algorithm>
#include <cerrno>
#include <functional>

namespace cffs::test {

Reference::Reference() : root_(std::make_shared<File>()) { root_->mode = S_IFDIR | 0755; }

int Reference::find(const std::string& path, Entry& entry) const {
  FilePtr at = root_;
  std::size_t from = 0;
  for (;;) {
    const std::size_t slash = path.find('/', from);
    const std::string name = path.substr(from, slash == std::string::npos ? slash : slash - from);
    // Symlinks of these tests lead nowhere, so a path through one ends there.
    if (S_ISLNK(at->mode)) return ENOENT;
    if (!at->is_directory()) return ENOTDIR;
    const auto it = at->entries.find(name);
    if (slash == std::string::npos) {
      entry = {at, name, it == at->entries.end() ? nullptr : it->second};
      return 0;
    }
    if (it == at->entries.end()) return ENOENT;
    at = it->second;
    from = slash + 1;
  }
}

int Reference::existing(const std::string& path, Entry& entry) const {
  if (const int e = find(path, entry)) return e;
  return entry.file ? 0 : ENOENT;
}

int Reference::regular(const std::string& path, Entry& entry) const {
  if (const int e = existing(path, entry)) return e;
  if (entry.file->is_directory()) return EISDIR;
  return S_ISREG(entry.file->mode) ? 0 : ELOOP;
}

int Reference::add(const std::string& path, FilePtr file) {
  Entry entry;
  if (const int e = find(path, entry)) return e;
  if (entry.file) return EEXIST;
  entry.directory->entries[entry.name] = std::move(file);
  entry.directory->mtime_ns = -1;
  return 0;
}

int Reference::create(const std::string& path, mode_t mode) {
  auto file = std::make_shared<File>();
  file->mode = S_IFREG | mode;
  return add(path, file);
}

int Reference::mkdir(const std::string& path, mode_t mode) {
  auto file = std::make_shared<File>();
  file->mode = S_IFDIR | mode;
  return add(path, file);
}

int Reference::symlink(const std::string& target, const std::string& path) {
  auto file = std::make_shared<File>();
  file->mode = S_IFLNK | 0777;
  file->bytes = target;
  return add(path, file);
}

int Reference::unlink(const std::string& path) {
  Entry entry;
  if (const int e = existing(path, entry)) return e;
  if (entry.file->is_directory()) return EISDIR;
  entry.file->names -= 1;
  entry.directory->entries.erase(entry.name);
  entry.directory->mtime_ns = -1;
  return 0;
}

int Reference::rmdir(const std::string& path) {
  Entry entry;
  if (const int e = existing(path, entry)) return e;
  if (!entry.file->is_directory()) return ENOTDIR;
  if (!entry.file->entries.empty()) return ENOTEMPTY;
  entry.directory->entries.erase(entry.name);
  entry.directory->mtime_ns = -1;
  return 0;
}

int Reference::link(const std::string& from, const std::string& to) {
  Entry entry;
  if (const int e = existing(from, entry)) return e;
  Entry target;
  if (const int e = find(to, target)) return e;
  if (target.file) return EEXIST;
  if (entry.file->is_directory()) return EPERM;
  if (const int e = add(to, entry.file)) return e;
  entry.file->names += 1;
  return 0;
}

bool Reference::contains(const FilePtr& tree, const FilePtr& file) {
  if (tree == file) return true;
  for (const auto& [name, child] : tree->entries) {
    if (contains(child, file)) return true;
  }
  return false;
}

int Reference::rename(const std::string& from, const std::string& to, unsigned flags) {
  Entry a, b;
  if (const int e = find(from, a)) return e;
  if (const int e = find(to, b)) return e;
  if (!a.file) return ENOENT;
  if (b.file && (flags & RENAME_NOREPLACE) != 0) return EEXIST;
  if (!b.file && (flags & RENAME_EXCHANGE) != 0) return ENOENT;
  // The order of checks is the kernel's: ancestors before types.
  if (contains(a.file, b.directory)) return EINVAL;
  if (b.file && contains(b.file, a.directory)) return (flags & RENAME_EXCHANGE) != 0 ? EINVAL : ENOTEMPTY;
  if (a.file == b.file) return 0;
  if ((flags & RENAME_EXCHANGE) != 0) {
    a.directory->entries[a.name] = b.file;
    b.directory->entries[b.name] = a.file;
  } else {
    if (b.file) {
      if (a.file->is_directory() && !b.file->is_directory()) return ENOTDIR;
      if (!a.file->is_directory() && b.file->is_directory()) return EISDIR;
      if (!b.file->entries.empty()) return ENOTEMPTY;
      b.file->names -= 1;
    }
    a.directory->entries.erase(a.name);
    b.directory->entries[b.name] = a.file;
  }
  a.directory->mtime_ns = b.directory->mtime_ns = -1;
  return 0;
}

int Reference::write(const std::string& path, std::uint64_t offset, const std::string& data) {
  Entry entry;
  if (const int e = regular(path, entry)) return e;
  std::string& bytes = entry.file->bytes;
  if (bytes.size() < offset + data.size()) bytes.resize(offset + data.size());
  bytes.replace(offset, data.size(), data);
  entry.file->mtime_ns = -1;
  return 0;
}

int Reference::truncate(const std::string& path, std::uint64_t size) {
  Entry entry;
  if (const int e = regular(path, entry)) return e;
  entry.file->bytes.resize(size);
  entry.file->mtime_ns = -1;
  return 0;
}

int Reference::allocate(const std::string& path, int flags, std::uint64_t offset, std::uint64_t length) {
  Entry entry;
  if (const int e = regular(path, entry)) return e;
  std::string& bytes = entry.file->bytes;
  const std::uint64_t end = offset + length;
  if ((flags & FALLOC_FL_KEEP_SIZE) == 0 && bytes.size() < end) bytes.resize(end);
  if ((flags & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) != 0 && offset < bytes.size()) {
    const std::uint64_t n = std::min<std::uint64_t>(end, bytes.size()) - offset;
    bytes.replace(offset, n, n, '\0');
  }
  entry.file->mtime_ns = -1;
  return 0;
}

int Reference::copy(const std::string& from, std::uint64_t from_offset, const std::string& to,
                    std::uint64_t to_offset, std::uint64_t length) {
  Entry source, target;
  if (const int e = regular(from, source)) return e;
  if (const int e = regular(to, target)) return e;
  if (source.file == target.file) return EINVAL;
  const std::string& all = source.file->bytes;
  const std::string piece = from_offset < all.size() ? all.substr(from_offset, length) : std::string();
  if (!piece.empty()) write(to, to_offset, piece);
  // What the kernel does with nothing to copy differs; the time is not compared then.
  target.file->mtime_ns = -1;
  return 0;
}

int Reference::make_unnamed(const std::string& path, mode_t mode, const std::string& data) {
  if (const int e = create(path, mode)) return e;
  return write(path, 0, data);
}

int Reference::chmod(const std::string& path, mode_t mode) {
  Entry entry;
  if (const int e = existing(path, entry)) return e;
  if (S_ISLNK(entry.file->mode)) return ELOOP;
  entry.file->mode = (entry.file->mode & S_IFMT) | mode;
  return 0;
}

int Reference::set_mtime(const std::string& path, std::int64_t mtime_ns) {
  Entry entry;
  if (const int e = existing(path, entry)) return e;
  entry.file->mtime_ns = mtime_ns;
  return 0;
}

int Reference::setxattr(const std::string& path, const std::string& name, const std::string& value) {
  Entry entry;
  if (const int e = existing(path, entry)) return e;
  if (S_ISLNK(entry.file->mode)) return ELOOP;
  entry.file->xattrs[name] = value;
  return 0;
}

int Reference::removexattr(const std::string& path, const std::string& name) {
  Entry entry;
  if (const int e = existing(path, entry)) return e;
  if (S_ISLNK(entry.file->mode)) return ELOOP;
  return entry.file->xattrs.erase(name) == 1 ? 0 : ENODATA;
}

int Reference::read(const std::string& path, std::uint64_t offset, std::size_t n, std::string& out) {
  Entry entry;
  if (const int e = regular(path, entry)) return e;
  const std::string& bytes = entry.file->bytes;
  out = offset < bytes.size() ? bytes.substr(offset, n) : std::string();
  return 0;
}

int Reference::hold(const std::string& path, int& handle) {
  Entry entry;
  if (const int e = regular(path, entry)) return e;
  handle = next_handle_++;
  held_[handle] = entry.file;
  return 0;
}

int Reference::write_held(int handle, std::uint64_t offset, const std::string& data) {
  std::string& bytes = held_.at(handle)->bytes;
  if (bytes.size() < offset + data.size()) bytes.resize(offset + data.size());
  bytes.replace(offset, data.size(), data);
  held_.at(handle)->mtime_ns = -1;
  return 0;
}

int Reference::truncate_held(int handle, std::uint64_t size) {
  held_.at(handle)->bytes.resize(size);
  held_.at(handle)->mtime_ns = -1;
  return 0;
}

int Reference::read_held(int handle, std::string& all) {
  all = held_.at(handle)->bytes;
  return 0;
}

Tree Reference::tree() {
  Tree tree;
  const std::function<void(const std::string&, const FilePtr&)> walk = [&](const std::string& path,
                                                                           const FilePtr& file) {
    Visible& v = tree[path];
    v.mode = file->mode;
    v.mtime_ns = file->mtime_ns;
    v.xattrs = file->xattrs;
    v.content = file->bytes;
    v.size = file->is_directory() ? 0 : file->bytes.size();
    v.nlink = file->is_directory() ? 2 : file->names;
    for (const auto& [name, child] : file->entries) {
      if (child->is_directory()) v.nlink += 1;
      walk(path.empty() ? name : path + "/" + name, child);
    }
  };
  walk("", root_);
  return tree;
}

}  // namespace cffs::test
