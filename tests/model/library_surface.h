// The library as a Surface, on any ObjectStore.
#pragma once

#include <deque>

#include "core/fs/file_system.h"
#include "tests/model/surface.h"

namespace cffs::test {

// All that a file system shows. Throws where it contradicts itself, or fails.
Tree tree_of(FileSystem& fs);

class LibrarySurface final : public Surface {
 public:
  // Formats the store first where `format` is given.
  LibrarySurface(ObjectStore& store, FileSystemOptions options, const StoreFormat* format);
  // reorganise() regroups too, by one policy after the other.
  void regroup_as_well() { regroups_ = true; }
  // As a kernel does that caches inodes: gives the references back only when it has so many of later ones.
  void remember(std::size_t most) { most_remembered_ = most; }
  void forget_all_but(std::size_t most);
  FileSystem& fs() { return *fs_; }

  int create(const std::string& path, mode_t mode) override;
  int mkdir(const std::string& path, mode_t mode) override;
  int unlink(const std::string& path) override;
  int rmdir(const std::string& path) override;
  int symlink(const std::string& target, const std::string& path) override;
  int link(const std::string& from, const std::string& to) override;
  int rename(const std::string& from, const std::string& to, unsigned flags) override;
  int write(const std::string& path, std::uint64_t offset, const std::string& data) override;
  int truncate(const std::string& path, std::uint64_t size) override;
  int allocate(const std::string& path, int flags, std::uint64_t offset, std::uint64_t length) override;
  int copy(const std::string& from, std::uint64_t from_offset, const std::string& to, std::uint64_t to_offset,
           std::uint64_t length) override;
  int make_unnamed(const std::string& path, mode_t mode, const std::string& data) override;
  int chmod(const std::string& path, mode_t mode) override;
  int set_mtime(const std::string& path, std::int64_t mtime_ns) override;
  int setxattr(const std::string& path, const std::string& name, const std::string& value) override;
  int removexattr(const std::string& path, const std::string& name) override;
  int read(const std::string& path, std::uint64_t offset, std::size_t n, std::string& out) override;
  int hold(const std::string& path, int& handle) override;
  int write_held(int handle, std::uint64_t offset, const std::string& data) override;
  int truncate_held(int handle, std::uint64_t size) override;
  int read_held(int handle, std::string& all) override;
  void drop(int handle) override;
  Tree tree() override;
  void reopen() override;
  void reorganise() override;

 private:
  void give_back(InodeId ino);
  class Reference;  // one reference to an inode, given back at the end of its life
  int parent_of(const std::string& path, std::optional<Reference>& parent, std::string& name);
  int find(const std::string& path, std::optional<Reference>& found);
  int regular(const std::string& path, std::optional<Reference>& found);

  ObjectStore& store_;
  FileSystemOptions options_;
  bool regroups_ = false;
  std::size_t reorganised_ = 0;
  std::unique_ptr<FileSystem> fs_;
  std::size_t most_remembered_ = 0;
  std::deque<InodeId> remembered_;  // a reference each
};

}  // namespace cffs::test
