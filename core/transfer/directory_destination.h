// A directory of an ordinary file system as a destination, by ordinary system calls: a mount that is in use, where whoever else works
// there is respected, or where an export goes.
//
// Every name is made in the descriptor of its folder, and folders are opened one from another without following links: whoever changes
// the tree meanwhile leads nothing out of it, and no path is too long. A file has no name until it is whole (O_TMPFILE); where the file
// system has no such files it has a temporary one.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "core/base/mutex.h"
#include "core/object/file_descriptor.h"
#include "core/transfer/destination.h"
#include "core/transfer/transfer_list.h"

namespace cffs {

class DirectoryDestination final : public Destination {
 public:
  // `path` is followed to its end. With `make` it is made if it is not there.
  static Result<std::unique_ptr<DirectoryDestination>> at(const std::string& path, bool make);

  std::string shown(const std::string& path) const override;
  std::string where() const override { return "there"; }
  bool keeps_owners() const override { return privileged_; }
  bool is(InodeId directory, dev_t device, ino_t number) override;
  bool is_mounted_in(InodeId directory) override CFFS_EXCLUDES(mutex_);
  Result<Attributes> look(InodeId directory, const std::string& name) override;
  Result<std::string> target(InodeId directory, const std::string& name) override;
  Result<ReadAt> open(InodeId directory, const std::string& name) override;
  Result<std::vector<std::pair<std::string, bool>>> names(InodeId directory) override;
  Result<InodeId> make_directory(InodeId parent, const std::string& name, const Inode& attributes) override;
  Result<InodeId> enter(InodeId parent, const std::string& name, bool to_remove) override;
  void leave(InodeId directory) override CFFS_EXCLUDES(mutex_);
  Status make_file(InodeId parent, const std::string& name, const Inode& attributes,
                   const CopyFile& copy) override;
  Status make_node(InodeId parent, const std::string& name, const Inode& attributes) override;
  Status make_link(InodeId first_parent, const std::string& first_name, InodeId parent,
                   const std::string& name) override;
  Status replace(InodeId parent, const std::string& from, const std::string& to) override;
  Status remove(InodeId parent, const std::string& name, bool is_directory) override;
  void settle(InodeId parent, const std::string& name, const Inode& attributes) override;
  void settle_directory(InodeId directory, const Inode& attributes) override CFFS_EXCLUDES(mutex_);
  Status sync() override CFFS_EXCLUDES(mutex_);
  void expect_repeats() override CFFS_EXCLUDES(mutex_);
  bool was_made_here(const Attributes& file) const override CFFS_EXCLUDES(mutex_);
  Result<std::uint64_t> begin() override;
  void end_temporaries() override;
  bool is_its_own(InodeId directory, const std::string& name) override;

 private:
  struct Folder {
    FileDescriptor fd;
    bool gives_acl = false;  // what is made in it
  };
  using OpenFolder = std::shared_ptr<const Folder>;
  struct Known {
    InodeId parent;
    std::string name;
  };

  // Also a bind mount of the same file system is another mount.
  using Mount = std::pair<dev_t, std::uint64_t>;
  static std::optional<Mount> mount_of(int at, const std::string& name);
  DirectoryDestination(std::string path, FileDescriptor root);
  static OpenFolder folder_of(FileDescriptor fd);
  Result<OpenFolder> folder(InodeId directory) CFFS_EXCLUDES(mutex_);
  Result<OpenFolder> folder_for(InodeId parent, const std::string& name) CFFS_EXCLUDES(mutex_);
  void keep_open(InodeId directory, OpenFolder folder) CFFS_EXCLUDES(mutex_);
  InodeId know(InodeId parent, const std::string& name) CFFS_EXCLUDES(mutex_);
  void note_made(int fd) CFFS_EXCLUDES(mutex_);
  // From the root on.
  std::string path_of(InodeId parent, const std::string& name) CFFS_EXCLUDES(mutex_);
  std::string shown(InodeId parent, const std::string& name) CFFS_EXCLUDES(mutex_);
  bool is_temporary(const std::string& name) const;
  void expect_temporary(InodeId parent, const std::string& name) CFFS_EXCLUDES(mutex_);
  void note_temporary(InodeId parent, const std::string& name, const struct stat& st) CFFS_EXCLUDES(mutex_);
  // Of a name in a folder, which is not followed; of an open file itself where the name is empty. `path`: for people.
  void set_attributes(int at, const std::string& name, const Inode& wanted, const std::string& path) const;
  void open_up(InodeId directory, int in, const std::string& name, mode_t mode) CFFS_EXCLUDES(mutex_);
  void close_again(InodeId directory) CFFS_EXCLUDES(mutex_);

  const std::string path_;  // for people
  const OpenFolder root_;
  const std::optional<Mount> mount_;
  const bool privileged_;
  TransferList temporaries_;  // of the root
  mutable Mutex mutex_;       // nothing is called under it
  std::unordered_map<InodeId, Known> known_ CFFS_GUARDED_BY(mutex_);
  std::map<std::pair<InodeId, std::string>, InodeId> numbers_ CFFS_GUARDED_BY(mutex_);
  std::list<std::pair<InodeId, OpenFolder>> open_ CFFS_GUARDED_BY(mutex_);  // a few, the last used first
  std::uint64_t last_number_ CFFS_GUARDED_BY(mutex_) = kRootInode.value;
  std::unordered_map<InodeId, mode_t> closed_ CFFS_GUARDED_BY(mutex_);  // what is open for now, and was not
  bool repeats_ CFFS_GUARDED_BY(mutex_) = false;
  std::unordered_set<ino_t> made_ CFFS_GUARDED_BY(mutex_);
};

}  // namespace cffs
