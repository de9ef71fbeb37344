// A directory of an ordinary file system as a destination, by ordinary system calls: a mount that is in use, where whoever else works
// there is respected, or where an export goes.
//
// Every name is made in the descriptor of its folder (destination_folders.h). A file has no name until it is whole (O_TMPFILE); where the file
// system has no such files it has a temporary one.
#pragma once

#include <memory>
#include <unordered_set>

#include "core/base/mutex.h"
#include "core/object/file_descriptor.h"
#include "core/transfer/destination.h"
#include "core/transfer/destination_folders.h"
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
  bool is_mounted_in(InodeId directory) override;
  Result<Attributes> look(InodeId directory, const std::string& name) override;
  Result<std::string> target(InodeId directory, const std::string& name) override;
  Result<ReadAt> open(InodeId directory, const std::string& name) override;
  Result<std::vector<std::pair<std::string, bool>>> names(InodeId directory) override;
  Result<InodeId> make_directory(InodeId parent, const std::string& name, const Inode& attributes) override;
  Result<InodeId> enter(InodeId parent, const std::string& name, bool to_remove) override;
  void leave(InodeId directory) override { folders_.leave(directory); }
  Status make_file(InodeId parent, const std::string& name, const Inode& attributes,
                   const CopyFile& copy) override;
  Status make_node(InodeId parent, const std::string& name, const Inode& attributes) override;
  Status make_link(InodeId first_parent, const std::string& first_name, InodeId parent,
                   const std::string& name) override;
  Status replace(InodeId parent, const std::string& from, const std::string& to) override;
  Status remove(InodeId parent, const std::string& name, bool is_directory) override;
  void settle(InodeId parent, const std::string& name, const Inode& attributes) override;
  void settle_directory(InodeId directory, const Inode& attributes) override;
  Status sync() override;
  void expect_repeats() override CFFS_EXCLUDES(mutex_);
  bool was_made_here(const Attributes& file) const override CFFS_EXCLUDES(mutex_);
  Result<std::uint64_t> begin() override;
  void end_temporaries() override;
  bool is_its_own(InodeId directory, const std::string& name) override;

 private:
  using OpenFolder = DestinationFolders::Open;
  // Also a bind mount of the same file system is another mount.
  using Mount = std::pair<dev_t, std::uint64_t>;
  static std::optional<Mount> mount_of(int at, const std::string& name);
  DirectoryDestination(std::string path, FileDescriptor root);
  void note_made(int fd) CFFS_EXCLUDES(mutex_);
  std::string shown(InodeId parent, const std::string& name);
  bool is_temporary(const std::string& name) const;
  void expect_temporary(InodeId parent, const std::string& name);
  void note_temporary(InodeId parent, const std::string& name, const struct stat& st);
  // Of a name in a folder, which is not followed; of an open file itself where the name is empty. `path`: for people.
  void set_attributes(int at, const std::string& name, const Inode& wanted, const std::string& path) const;

  const std::string path_;  // for people
  DestinationFolders folders_;
  const std::optional<Mount> mount_;
  const bool privileged_;
  TransferList temporaries_;  // of the root
  mutable Mutex mutex_;       // nothing is called under it
  bool repeats_ CFFS_GUARDED_BY(mutex_) = false;
  std::unordered_set<ino_t> made_ CFFS_GUARDED_BY(mutex_);
};

}  // namespace cffs
