#include "core/region/store_at.h"

#include <sys/stat.h>
#include <unistd.h>

#include "core/region/file_device.h"
#include "core/region/region_store.h"

namespace cffs {

Result<std::unique_ptr<ObjectStore>> open_store_at(const std::string& path, PosixStore::Access access,
                                                   PosixStore::Owners owners) {
  struct stat st;
  if (::stat(path.c_str(), &st) == 0 && (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode))) {
    CFFS_TRY(auto device,
             FileDevice::open(
                 path,
                 access == PosixStore::Access::read_only ? FileDevice::Access::read_only
                                                         : FileDevice::Access::read_write,
                 owners == PosixStore::Owners::own ? FileDevice::Owners::own : FileDevice::Owners::anybody));
    return RegionStore::open(std::move(device));
  }
  return PosixStore::open_directory(path, access, owners);
}

bool is_store_at(const std::string& path) {
  struct stat st;
  if (::stat(path.c_str(), &st) != 0) return false;
  if (S_ISDIR(st.st_mode)) return ::access((path + "/superblock").c_str(), F_OK) == 0;
  const auto device = FileDevice::open(path, FileDevice::Access::read_only, FileDevice::Owners::anybody);
  return device && RegionStore::is_store(**device).value_or(false);
}

}  // namespace cffs
