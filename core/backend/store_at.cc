#include "core/region/store_at.h"

#include <fcntl.h>
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

std::string store_owner_text(const std::string& path) {
  struct stat st;
  if (::stat(path.c_str(), &st) != 0) return {};
  const bool directory = S_ISDIR(st.st_mode);
  const FileDescriptor lock(
      ::open((directory ? path + "/lock" : path).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  std::string text(region::kOwnerBytes, '\0');
  const ssize_t n = lock ? ::pread(lock.get(), text.data(), text.size(),
                                   directory ? 0 : static_cast<off_t>(region::kOwnerOffset))
                         : 0;
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return text.substr(0, text.find('\0'));
}

bool is_store_at(const std::string& path) {
  struct stat st;
  if (::stat(path.c_str(), &st) != 0) return false;
  if (S_ISDIR(st.st_mode)) return ::access((path + "/superblock").c_str(), F_OK) == 0;
  const auto device = FileDevice::open(path, FileDevice::Access::read_only, FileDevice::Owners::anybody);
  return device && RegionStore::is_store(**device).value_or(false);
}

}  // namespace cffs
