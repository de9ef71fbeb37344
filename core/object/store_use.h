// Using a store alone, or beside others who only look: the store's own lock, and one sentence for who is refused.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/object/object_store.h"

namespace cffs {

// "pid N on HOST": the owner of a lock, as its next user is told.
std::string this_process();

// Held for as long as the result lives. `usage` with EBUSY, where somebody has it: who that is, and what to do.
Result<std::unique_ptr<StoreLock>> use_alone(ObjectStore& store, std::string_view owner);
Result<std::unique_ptr<StoreLock>> use_to_look(ObjectStore& store);

}  // namespace cffs
