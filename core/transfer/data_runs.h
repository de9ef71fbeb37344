// Where a file has data, and where bytes could as well be a hole.
#pragma once

#include <cstdint>
#include <vector>

#include "core/fs/file_system.h"
#include "core/transfer/destination.h"

namespace cffs {

struct DataRun {
  std::uint64_t offset = 0, bytes = 0;
};

// In order. Where there would be more than `most`, short holes count as data.
Result<std::vector<DataRun>> data_runs(FileSystem& fs, const Attributes& file, std::size_t most);

// Into a new file of full length: zeros that would fill blocks of 4 KiB become holes.
Status write_data(const WriteAt& write, std::uint64_t offset, std::string_view bytes);

}  // namespace cffs
