// Operations on names and attributes, by path.
#pragma once

#include <pybind11/pybind11.h>

#include "python/extension/opened_store.h"

namespace cffs::python {

// (mode, ino, nlink, uid, gid, rdev, size, allocated, atime_ns, mtime_ns, ctime_ns)
pybind11::tuple attributes_tuple(const Attributes& attributes);

using StoreClass = pybind11::class_<OpenedStore, std::shared_ptr<OpenedStore>>;
void define_names(StoreClass& store);

}  // namespace cffs::python
