// The in-memory reference: as simple as it can be, nothing shared with the engine.
#pragma once

#include <memory>

#include "tests/model/surface.h"

namespace cffs::test {

class Reference final : public Surface {
 public:
  Reference();
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
  void drop(int handle) override { held_.erase(handle); }
  Tree tree() override;
  void reopen() override {}

 private:
  struct File;
  using FilePtr = std::shared_ptr<File>;
  struct File {
    mode_t mode = 0;
    std::uint64_t names = 1;
    std::int64_t mtime_ns = -1;
    std::string bytes;
    std::map<std::string, std::string> xattrs;
    std::map<std::string, FilePtr> entries;
    bool is_directory() const { return S_ISDIR(mode); }
  };
  struct Entry {
    FilePtr directory;
    std::string name;
    FilePtr file;  // null: no such entry
  };
  int find(const std::string& path, Entry& entry) const;
  int existing(const std::string& path, Entry& entry) const;
  int regular(const std::string& path, Entry& entry) const;
  int add(const std::string& path, FilePtr file);
  static bool contains(const FilePtr& tree, const FilePtr& file);

  FilePtr root_;
  std::map<int, FilePtr> held_;
  int next_handle_ = 1;
};

}  // namespace cffs::test
