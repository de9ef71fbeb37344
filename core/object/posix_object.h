// An object of the default backend: one file, by its descriptor.
#pragma once

#include <memory>
#include <string>

#include "core/object/durable_names.h"
#include "core/object/file_descriptor.h"
#include "core/object/object_store.h"

namespace cffs {

class PosixStore;

// `unsynced_name`: the number of its name, which the object's first sync makes durable; 0 where it is. The store must outlive it.
std::shared_ptr<Object> make_posix_object(PosixStore& store, std::string name, FileDescriptor fd,
                                          DurableNames::Number unsynced_name);

}  // namespace cffs
