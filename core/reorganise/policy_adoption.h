// A policy becomes the store's: new files are grouped by it from now on, and a plan that it brings along is the plan that
// the store keeps. The only place where that plan is changed; choosing a policy, and looking at what it would do, change
// nothing.
#pragma once

#include <memory>

#include "core/fs/file_system.h"
#include "grouping/policy.h"

namespace cffs {

// Files of the plan that are found at their paths are known by their numbers from now on, so that they keep their places
// when they are renamed.
Status adopt_policy(FileSystem& fs, std::shared_ptr<const grouping::Policy> policy);

}  // namespace cffs
