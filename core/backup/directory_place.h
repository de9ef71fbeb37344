// A backup in a directory. The new store is made beside it, in `.NAME.unfinished`, and has hard links to what the former one has
// already; then the two change their names in one step (renameat2, RENAME_EXCHANGE), and the former one is removed. So no two stores
// share a file for longer than a backup takes, and a backup that was cut leaves a directory that the next one clears away.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <set>
#include <string>

#include "core/backup/backup_place.h"
#include "core/object/file_descriptor.h"
#include "core/object/posix_store.h"

namespace cffs {

class DirectoryPlace final : public BackupPlace {
 public:
  // `path`: absolute; a symbolic link stands for where it leads. `source`: the directory of the store that is copied. `usage`, with
  // the cure: what is there is in use, the place is in the source, is a mount point, leads nowhere. Two backups at one place: EBUSY.
  static Result<std::unique_ptr<DirectoryPlace>> open(const std::string& path, const std::string& source);
  // Removes what is unfinished.
  ~DirectoryPlace() override;

  ObjectStore& fresh() override { return *fresh_; }
  ObjectStore* former() override { return former_.get(); }
  Status keep(const std::string& name) override;
  Status switch_over() override;
  std::string description() const override { return path_; }

 private:
  DirectoryPlace(std::string folder, std::string name);
  Status open_folder(const std::string& source);
  Status recover();
  Status open_former();
  Status open_fresh();
  Status recover_beside_another();
  Status change_names();
  void remove_former(const std::string& called);
  std::string unfinished() const { return folder_ + "/" + unfinished_; }

  const std::string folder_, name_, path_, unfinished_, aside_;
  FileDescriptor folder_fd_, former_fd_, fresh_fd_;
  std::optional<struct stat> there_;  // what has the place's name: a directory
  std::unique_ptr<PosixStore> former_, fresh_;
  std::unique_ptr<StoreLock> former_lock_, fresh_lock_;
  std::set<std::string> folders_made_;
  bool names_changed_ = false;  // what is unfinished by its name is the former one
};

}  // namespace cffs
