// An object of the default backend: one file, by its descriptor.
#pragma once

#include <memory>
#include <string>

#include "core/object/file_descriptor.h"
#include "core/object/object_store.h"

namespace cffs {

class PosixStore;

// `fresh`: its name is not durable yet, and the object's first sync makes it so. The store must outlive it.
std::shared_ptr<Object> make_posix_object(PosixStore& store, std::string name, FileDescriptor fd, bool fresh);

}  // namespace cffs
