#include "core/transfer/data_runs.h"

#include <algorithm>
#include <cstring>

namespace cffs {
namespace {

constexpr std::uint64_t kBlock = 4096;

void join(std::vector<DataRun>& runs, std::uint64_t shortest_hole) {
  std::size_t kept = 0;
  for (const DataRun& run : runs) {
    DataRun* last = kept > 0 ? &runs[kept - 1] : nullptr;
    if (last != nullptr && run.offset - (last->offset + last->bytes) < shortest_hole) {
      last->bytes = run.offset + run.bytes - last->offset;
    } else {
      runs[kept++] = run;
    }
  }
  runs.resize(kept);
}

bool is_zero(std::string_view bytes) {
  return bytes.front() == '\0' && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

}  // namespace

Result<std::vector<DataRun>> data_runs(FileSystem& fs, const Attributes& file, std::size_t most) {
  std::vector<DataRun> runs;
  std::uint64_t shortest_hole = 1;
  for (std::uint64_t at = 0; at < file.size;) {
    CFFS_TRY(const std::uint64_t from, fs.next_data(file.ino, at));
    if (from >= file.size) break;
    CFFS_TRY(const std::uint64_t hole, fs.next_hole(file.ino, from));
    if (hole <= from) break;  // of a blob that is shorter than its file says: nobody can read what comes
    at = std::min(hole, file.size);
    runs.push_back({from, at - from});
    while (runs.size() > 2 * most)
      join(runs, shortest_hole *= 2);  // on the way, so that they never take much memory
  }
  while (runs.size() > most) join(runs, shortest_hole *= 2);
  return runs;
}

Status write_data(const WriteAt& write, std::uint64_t offset, std::string_view bytes) {
  std::size_t begin = 0;  // of what is to be written
  const auto flush = [&](std::size_t end) {
    return end > begin ? write(offset + begin, bytes.substr(begin, end - begin)) : Status();
  };
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = std::min<std::size_t>(bytes.size() - at, kBlock - (offset + at) % kBlock);
    const std::string_view block = bytes.substr(at, length);
    if (is_zero(block)) {
      CFFS_TRY_VOID(flush(at));
      begin = at + length;
    }
    at += length;
  }
  return flush(bytes.size());
}

}  // namespace cffs
