// The default backend: objects are files below one directory of a local file system.
#pragma once

#include <atomic>
#include <set>

#include "core/base/mutex.h"
#include "core/object/file_descriptor.h"
#include "core/object/object_store.h"

namespace cffs {

class PosixStore final : public ObjectStore {
 public:
  // read_only: nothing is opened for writing, changes are refused with EROFS, and reading leaves access times as they
  // are where the files are the caller's own.
  enum class Access { read_write, read_only };
  // `directory` must exist. ENOENT, ENOTDIR, EACCES.
  static Result<std::unique_ptr<PosixStore>> open_directory(const std::string& directory,
                                                            Access access = Access::read_write);

  Result<std::shared_ptr<Object>> create(std::string_view name, Create how) override;
  Result<std::shared_ptr<Object>> open(std::string_view name) override;
  Status remove(std::string_view name) override;
  Status rename(std::string_view from, std::string_view to) override;
  Result<bool> exists(std::string_view name) override;
  Result<std::vector<std::string>> list(std::string_view folder) override;
  Status sync_names() override;
  Status sync_everything() override;
  Result<SpaceInfo> space() override;
  Result<std::unique_ptr<StoreLock>> lock(std::string_view owner) override;
  Result<std::unique_ptr<StoreLock>> lock_for_reading() override;
  void on_shortage(std::function<std::size_t()> relieve) override;
  std::string description() const override { return path_; }

 private:
  friend class PosixObject;
  PosixStore(std::string path, FileDescriptor root, Access access)
      : path_(std::move(path)), root_(std::move(root)), access_(access) {
    keep_spare();
  }
  void keep_spare() const;

  FileDescriptor open_file(const std::string& name, int flags) const;
  // openat(2) below the root; where there is no descriptor left, those that can be spared are closed first.
  FileDescriptor open_below(const std::string& name, int flags) const;
  Status sync_folder(const std::string& folder) const;
  Status writable(std::string_view name) const;
  Status make_folders(const std::string& name);
  Status sync_folders_of(const std::string& name);
  std::string full_name(std::string_view name) const { return path_ + "/" + std::string(name); }

  const std::string path_;
  const FileDescriptor root_;
  const Access access_;
  mutable std::atomic<int> names_failed_{0};  // errno of the first folder that could not be synced
  mutable Mutex relief_mutex_;                // before the mutexes of what relieves
  std::function<std::size_t()> relieve_ CFFS_GUARDED_BY(relief_mutex_);
  // Given up one by one where nothing else can be closed, for what must go on: a log of LevelDB's, a folder to sync.
  mutable std::vector<FileDescriptor> spare_ CFFS_GUARDED_BY(relief_mutex_);
  Mutex changed_mutex_;  // leaf
  // Folders with a removal or rename that sync_names has to sync.
  std::set<std::string> changed_folders_ CFFS_GUARDED_BY(changed_mutex_);
};

}  // namespace cffs
