// From a path to an inode or to the place of a name, with references that go by themselves.
#pragma once

#include <string>
#include <utility>

#include "core/browse/tree_path.h"
#include "core/fs/file_system.h"

namespace cffs::python {

class Reference {
 public:
  Reference(FileSystem& fs, const Attributes& attributes) : fs_(&fs), attributes_(attributes) {}
  Reference(Reference&& other) noexcept
      : fs_(std::exchange(other.fs_, nullptr)), attributes_(other.attributes_) {}
  Reference& operator=(Reference&& other) noexcept {
    std::swap(fs_, other.fs_);
    std::swap(attributes_, other.attributes_);
    return *this;
  }
  ~Reference() {
    if (fs_ != nullptr) fs_->forget(attributes_.ino, 1);
  }
  const Attributes& operator*() const { return attributes_; }
  const Attributes* operator->() const { return &attributes_; }
  // The caller gives it back.
  Attributes release() {
    fs_ = nullptr;
    return attributes_;
  }

 private:
  FileSystem* fs_;
  Attributes attributes_;
};

inline Result<Reference> find(FileSystem& fs, const std::string& path, bool follow = true) {
  CFFS_TRY(const Attributes found, find_path(fs, path, follow ? LastLink::follow : LastLink::keep, path));
  return Reference(fs, found);
}

struct NamePlace {
  Reference parent;
  std::string name;
};

// Where a name is, or is to be. EINVAL: the path ends in "." or ".."; EEXIST: it is the root.
inline Result<NamePlace> find_place(FileSystem& fs, const std::string& path) {
  const std::size_t last = path.find_last_not_of('/');
  if (last == std::string::npos) return fail(EEXIST, path);
  const std::size_t slash = path.rfind('/', last);
  const std::size_t from = slash == std::string::npos ? 0 : slash + 1;
  std::string name = path.substr(from, last + 1 - from);
  if (name == "." || name == "..") return fail(EINVAL, path);
  CFFS_TRY(Reference parent, find(fs, path.substr(0, from) + "."));
  return NamePlace{std::move(parent), std::move(name)};
}

}  // namespace cffs::python
