// Which rows of the table differ between two states of it: those that the logs speak of between the one and the other.
#pragma once

#include <optional>
#include <set>

#include "core/object/object_store.h"
#include "core/table/checkpoint.h"
#include "core/table/key.h"

namespace cffs {

// nullopt: a log between the two is gone, or there never was one: any row may differ.
Result<std::optional<std::set<Key>>> changed_keys(ObjectStore& store, const TableState& from,
                                                  const TableState& to);

}  // namespace cffs
