#include "core/backend/store_at.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/rados/address.h"
#include "core/region/file_device.h"
#include "core/region/region_store.h"
#ifdef CFFS_WITH_RADOS
#include "core/rados/rados_store.h"
#endif

namespace cffs {
namespace {

#ifndef CFFS_WITH_RADOS
tl::unexpected<Error> without_rados(const std::string& path) {
  return fail(
      Error::usage(path + ": this cffs was built without RADOS; install librados-dev and build it anew"));
}
#endif

Result<std::unique_ptr<ObjectStore>> open_rados(const std::string& path, bool read_only,
                                                const std::optional<rados::LocalCache::Place>& cache) {
  CFFS_TRY(const RadosAddress address, RadosAddress::parse(path));
#ifdef CFFS_WITH_RADOS
  return RadosStore::open(address, read_only, cache);
#else
  (void)read_only, (void)cache;
  return without_rados(address.text());
#endif
}

}  // namespace

Result<std::unique_ptr<ObjectStore>> open_store_at(const std::string& path, PosixStore::Access access,
                                                   PosixStore::Owners owners,
                                                   const std::optional<rados::LocalCache::Place>& cache) {
  if (RadosAddress::is_one(path)) return open_rados(path, access == PosixStore::Access::read_only, cache);
  if (cache)
    return fail(
        Error::usage("a local cache is for stores in a pool; " + path + " is on a disk of this machine"));
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

Status make_rados_store(const std::string& path) {
  CFFS_TRY(const RadosAddress address, RadosAddress::parse(path));
#ifdef CFFS_WITH_RADOS
  // One that is there is left as it is: what another one began and did not finish goes with the format, or the copy, that goes on with it,
  // and those know it from a store that lost its superblock (check_formattable).
  const Status made = RadosStore::format(address);
  if (!made && made.error().errno_value == EEXIST) return {};
  return made;
#else
  return without_rados(address.text());
#endif
}

Status renew_rados_store(const std::string& path) {
  CFFS_TRY(const RadosAddress address, RadosAddress::parse(path));
#ifdef CFFS_WITH_RADOS
  return RadosStore::renew_id(address);
#else
  return without_rados(address.text());
#endif
}

std::string store_owner_text(const std::string& path) {
  if (RadosAddress::is_one(path)) {
#ifdef CFFS_WITH_RADOS
    const auto address = RadosAddress::parse(path);
    return address ? RadosStore::owner_text(*address) : std::string();
#else
    return {};
#endif
  }
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
  if (RadosAddress::is_one(path)) {
#ifdef CFFS_WITH_RADOS
    const auto address = RadosAddress::parse(path);
    return address && RadosStore::is_store(*address).value_or(false);
#else
    return false;
#endif
  }
  struct stat st;
  if (::stat(path.c_str(), &st) != 0) return false;
  if (S_ISDIR(st.st_mode)) return ::access((path + "/superblock").c_str(), F_OK) == 0;
  const auto device = FileDevice::open(path, FileDevice::Access::read_only, FileDevice::Owners::anybody);
  return device && RegionStore::is_store(**device).value_or(false);
}

}  // namespace cffs
