// Punching: gives back the room of members that are gone, where they are, as holes. It takes no room itself: it is for a medium that
// is nearly full, where a compaction may find none. Composites stay as wasteful as they were, and are compacted when there is room.
//
// What is punched must never be wanted again:
//   - by its row: none names it in one snapshot of the table, in which the members that are found add up to what the composite's
//     row counts; and that is durable before anything is punched, or a power cut would bring the row back;
//   - by who has a file without a name open: no node is at this place;
//   - by a backup: none holds a moment.
// Headers and meta of records stay, so that composites can be followed from record to record.
#pragma once

#include <span>
#include <vector>

#include "core/fs/file_system.h"

namespace cffs {

class TableSnapshot;

class Punching {
 public:
  // Holes begin and end at multiples of this. Bytes.
  static constexpr std::uint64_t kBlockBytes = 4096;

  explicit Punching(FileSystem& fs, std::uint64_t block_bytes = kBlockBytes)
      : fs_(fs), block_bytes_(block_bytes) {}

  // Composites of which a block or more is freed, by one scan of the namespace.
  Result<std::vector<CompositeId>> find() const;
  // Returns the bytes that were punched. 0: there was nothing, or it may be wanted again; also where the backend turned out to keep
  // the room of a hole. One composite that cannot be followed keeps no other from it.
  Result<std::uint64_t> run(std::span<const CompositeId> ids);

 private:
  struct Range {
    std::uint64_t offset = 0, length = 0;  // bytes
  };
  struct Holes {
    std::shared_ptr<Object> object;
    std::vector<Range> ranges;
    std::uint64_t bytes = 0;
  };
  Result<Holes> look(CompositeId id, const TableSnapshot& rows) const;
  Range blocks_of(std::uint64_t offset, std::uint64_t length) const;
  Result<std::uint64_t> punch(const Holes& holes);

  FileSystem& fs_;
  const std::uint64_t block_bytes_;
  bool useless_ = false;  // the backend gives nothing back for a hole
};

}  // namespace cffs
