// Import of a directory tree: modes, owners, times, links, extended attributes and holes are kept.
#pragma once

#include "core/transfer/import_target.h"

namespace cffs {

// `source` becomes the root of the store, attributes included. Other file systems mounted below it are walked
// too.
Status import_directory(const std::string& source, ImportTarget& target);

}  // namespace cffs
