// The objects of the store at a path, whatever its backend: a directory holds files (PosixStore), an image file or a block device
// regions (RegionStore), and an address that begins with rados: (core/rados/address.h) names objects of a Ceph pool (RadosStore).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/object/posix_store.h"
#include "core/rados/local_cache.h"

namespace cffs {

// The errors of PosixStore::open_directory(), FileDevice::open(), RegionStore::open() and RadosStore::open(). `cache`: where of a store in
// a pool is kept on a local disk what was read of it; `usage` for the others, which are on one.
Result<std::unique_ptr<ObjectStore>> open_store_at(const std::string& path,
                                                   PosixStore::Access access = PosixStore::Access::read_write,
                                                   PosixStore::Owners owners = PosixStore::Owners::own,
                                                   const std::optional<rados::LocalCache::Place>& cache = {});

// An empty store of objects at an address in a Ceph pool. One that is there is left as it is, and no error: it may be what was begun there.
Status make_rados_store(const std::string& path);

// What local caches kept of the store at that address is not used any more: for who writes over its objects.
Status renew_rados_store(const std::string& path);

// Whether there is one, of whatever backend; false also where that cannot be found out.
bool is_store_at(const std::string& path);

// "pid 17 on host": who has, or had last, the store for writing; "" where that cannot be found out.
std::string store_owner_text(const std::string& path);

}  // namespace cffs
