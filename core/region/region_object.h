// A handle of an object in a region store.
#pragma once

#include <memory>

#include "core/object/object_store.h"
#include "core/region/body.h"

namespace cffs {

class RegionStore;

std::shared_ptr<Object> make_region_object(RegionStore& store, std::shared_ptr<region::Shared> shared,
                                           region::BodyPtr body);

}  // namespace cffs
