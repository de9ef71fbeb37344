// A tree of real files, as a trace lists it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "replay/trace/trace.h"

namespace cffs::replay {

// All below `root` but devices and the like, parents first: paths relative to it, entries whose own path is not set. Symlinks are
// not followed; directories that may not be read are empty.
Result<std::vector<std::pair<std::string, InitialEntry>>> snapshot(const std::string& root);

}  // namespace cffs::replay
