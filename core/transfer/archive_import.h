// Import of a tar or cpio archive, plain or compressed in any way libarchive knows, or of a zip; "-" reads standard input, a zip not.
#pragma once

#include "core/transfer/import_target.h"

namespace cffs {

Status import_archive(const std::string& source, ImportTarget& target);

}  // namespace cffs
