// The default backend: objects are files below one directory of a local file system.
#pragma once

#include <atomic>
#include <set>

#include "core/base/mutex.h"
#include "core/object/beneath.h"
#include "core/object/durable_names.h"
#include "core/object/file_descriptor.h"
#include "core/object/object_store.h"
#include "core/object/store_owners.h"

namespace cffs {

class PosixStore final : public ObjectStore {
 public:
  // read_only: nothing is opened for writing, changes are refused with EROFS, and reading leaves access times as they
  // are where the files are the caller's own.
  enum class Access { read_write, read_only };
  // Whose store may be opened: the caller's own (and root's), or anybody's.
  enum class Owners { own, anybody };
  // `directory` must exist. ENOENT, ENOTDIR, EACCES; `usage` for a store of somebody else where only one's own is wanted.
  static Result<std::unique_ptr<PosixStore>> open_directory(const std::string& directory,
                                                            Access access = Access::read_write,
                                                            Owners owners = Owners::own);
  // The same of one that is open already; `directory` is what it is called.
  static Result<std::unique_ptr<PosixStore>> of_open_directory(FileDescriptor opened,
                                                               const std::string& directory,
                                                               Access access = Access::read_write,
                                                               Owners owners = Owners::own);
  bool zeros_hold_room() const override { return true; }
  bool is_private() const override { return !checks_files_; }

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
  Result<std::unique_ptr<StoreLock>> follow() override;
  bool followed() override;
  void on_shortage(std::function<std::size_t()> relieve) override;
  std::string description() const override { return path_; }

 private:
  friend class PosixObject;
  PosixStore(std::string path, FileDescriptor root, Access access, StoreOwners owners)
      : path_(std::move(path)),
        root_(std::move(root)),
        beneath_(root_.get()),
        access_(access),
        owners_(std::move(owners)),
        checks_files_(owners_.foreign || owners_.open_to_others) {
    keep_spare();
  }
  void keep_spare() const;

  // Where there is no descriptor left, those that can be spared are closed, and it is tried again.
  template <typename Operation>
  auto with_relief(const Operation& operation) const;
  bool relieve(int attempt) const;
  FileDescriptor open_below(const std::string& name, int flags) const;
  FileDescriptor open_file(const std::string& name, int flags) const;
  // open_file() of an object: what it must not be, it is not.
  Result<FileDescriptor> open_object(const std::string& name, int flags) const;
  // What `errno` says of the name.
  tl::unexpected<Error> error(std::string_view name) const;
  Status sync_folder(const std::string& folder) const;
  Status writable(std::string_view name) const;
  Status make_folders(const std::string& name);
  std::string full_name(std::string_view name) const { return path_ + "/" + std::string(name); }

  const std::string path_;
  const FileDescriptor root_;
  const Beneath beneath_;
  const Access access_;
  const StoreOwners owners_;
  const bool checks_files_;                   // one fstat for each object that is opened
  mutable std::atomic<int> names_failed_{0};  // errno of the first folder that could not be synced
  DurableNames durable_names_{[this](const std::string& folder) { return sync_folder(folder); }};
  mutable Mutex relief_mutex_;  // before the mutexes of what relieves
  std::function<std::size_t()> relieve_ CFFS_GUARDED_BY(relief_mutex_);
  // Given up one by one where nothing else can be closed, for what must go on: a log of LevelDB's, a folder to sync.
  mutable std::vector<FileDescriptor> spare_ CFFS_GUARDED_BY(relief_mutex_);
  Mutex followers_mutex_;  // leaf
  FileDescriptor followers_ CFFS_GUARDED_BY(followers_mutex_);
  Mutex sync_names_mutex_;
  Mutex changed_mutex_;  // leaf
  // Folders with a removal or rename that sync_names has to sync.
  std::set<std::string> changed_folders_ CFFS_GUARDED_BY(changed_mutex_);
};

}  // namespace cffs
