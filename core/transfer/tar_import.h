// Import of a tar archive, plain or compressed in any way libarchive knows; "-" reads standard input.
#pragma once

#include "core/transfer/import_target.h"

namespace cffs {

Status import_tar(const std::string& source, ImportTarget& target);

}  // namespace cffs
