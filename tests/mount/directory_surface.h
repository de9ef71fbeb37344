// A directory of any file system as a Surface: one system call for each operation.
#pragma once

#include <functional>

#include "tests/model/surface.h"

namespace cffs::test {

class DirectorySurface final : public Surface {
 public:
  // remount and reorganise may be empty.
  DirectorySurface(std::string root, std::function<void()> remount, std::function<void()> reorganise)
      : root_(std::move(root)), remount_(std::move(remount)), reorganise_(std::move(reorganise)) {}

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
  void reopen() override {
    if (remount_) remount_();
  }
  void reorganise() override {
    if (reorganise_) reorganise_();
  }

 private:
  std::string at(const std::string& path) const { return path.empty() ? root_ : root_ + "/" + path; }
  void walk(const std::string& path, Tree& tree);

  const std::string root_;
  std::function<void()> remount_, reorganise_;
};

}  // namespace cffs::test
