// What directories hold and take, for `cffs stat --by-directory`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/commands.h"

namespace cffs::cli {

// As core/inspect/directory_sizes.h makes it; of a mounted store its daemon does, and tells as much as fits in 64 KiB.
Result<nlohmann::ordered_json> directories_of(const StoreName& name, unsigned depth);
// As a table.
void print_directories(const nlohmann::ordered_json& directories);

}  // namespace cffs::cli
