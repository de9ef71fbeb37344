// A handle of an object in a Ceph pool.
#pragma once

#include <memory>

#include "core/object/object_store.h"
#include "core/rados/body.h"

namespace cffs {

class RadosStore;

std::shared_ptr<Object> make_rados_object(RadosStore& store, std::shared_ptr<rados::Body> body);

}  // namespace cffs
