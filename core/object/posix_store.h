// The default backend: objects are files below one directory of a local file system.
#pragma once

#include <atomic>
#include <mutex>
#include <set>

#include "core/object/file_descriptor.h"
#include "core/object/object_store.h"

namespace cffs {

class PosixStore final : public ObjectStore {
 public:
  // `directory` must exist. ENOENT, ENOTDIR, EACCES.
  static Result<std::unique_ptr<PosixStore>> open_directory(const std::string& directory);

  Result<std::shared_ptr<Object>> create(std::string_view name, Create how) override;
  Result<std::shared_ptr<Object>> open(std::string_view name) override;
  Status remove(std::string_view name) override;
  Status rename(std::string_view from, std::string_view to) override;
  Result<bool> exists(std::string_view name) override;
  Result<std::vector<std::string>> list(std::string_view folder) override;
  Status sync_names() override;
  Result<SpaceInfo> space() override;
  Result<std::unique_ptr<StoreLock>> lock(std::string_view owner) override;
  std::string description() const override { return path_; }

 private:
  friend class PosixObject;
  PosixStore(std::string path, FileDescriptor root) : path_(std::move(path)), root_(std::move(root)) {}

  Status make_folders(const std::string& name);
  Status sync_folders_of(const std::string& name);
  std::string full_name(std::string_view name) const { return path_ + "/" + std::string(name); }

  const std::string path_;
  const FileDescriptor root_;
  std::mutex changed_mutex_;
  std::set<std::string> changed_folders_;  // folders with a removal or rename that sync_names has to sync
};

}  // namespace cffs
