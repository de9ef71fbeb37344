// The plan that a store keeps for itself, so that a mount with policy frequency needs no other file: the last one given
// by --plan, or mined by the mount. An object of its own, written beside the old one and then renamed
// (docs/ON_DISK_FORMAT.md, "The plan").
#pragma once

#include "core/object/object_store.h"
#include "grouping/plan_groups.h"

namespace cffs {

Status write_plan_object(ObjectStore& store, const grouping::PlanGroups& plan);
// nullopt: the store has none. A damaged one is `corruption`.
Result<std::optional<grouping::PlanGroups>> read_plan_object(ObjectStore& store);

}  // namespace cffs
