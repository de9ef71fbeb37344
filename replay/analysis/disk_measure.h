// What a place and what bytes cost on the disk below a directory, for judging groupings on it: reads past the memory, some of
// them small and some large, all at places of chance.
#pragma once

#include <string>

#include "core/base/error.h"
#include "replay/analysis/evaluation.h"

namespace cffs::replay {

// Reads in the composites of the store that lies in `directory`, where they are as much as a scratch file would be, else in a
// scratch file of 256 MiB (less where room is scarce) that has no name and is gone with the call. The medium's own caches answer as they would
// answer a store. Takes up to four seconds, and the time that writing the scratch file takes. ENOSPC: no room for one; EINVAL: the
// file system has no reads past the memory. The profile's name is "this".
Result<DiskProfile> measure_disk(const std::string& directory);

}  // namespace cffs::replay
