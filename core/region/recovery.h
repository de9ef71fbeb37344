// What a region store's device holds, read when the store is opened: by its checkpoint where it was closed in good order, else by a
// scan of all region heads and onodes, as in the paper.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/region/body.h"

namespace cffs::region {

// The newer of the two superblocks; one that the medium does not give counts as lost. `usage`: none, or a newer program's. Where there is
// only one, the one that is lost may have been newer, and have said that the store is used: it counts as not clean, and its checkpoint as none.
Result<Superblock> read_superblock(const BlockDevice& device);
// To the place of the older one; durable once that range is flushed.
Result<DeviceRange> put_superblock(BlockDevice& device, const Superblock& superblock);
// The same, and flushed.
Status write_superblock(BlockDevice& device, const Superblock& superblock);

struct Recovered {
  Regions regions;
  std::vector<Body::Found> objects;  // names are different
  std::vector<Mapping> mappings;     // of each
  std::vector<Body::Found>
      superseded;             // an object with a newer version has their name: their removal was under way
  std::vector<OnodeId> gone;  // removed as the live sectors say, not for good yet
  std::vector<std::string> damaged;     // what is wrong with objects that cannot be shown; a sentence each
  std::vector<OnodeId> damaged_onodes;  // which stay as they are
  std::uint64_t version = 0;            // the newest of all
  Epoch epoch;
  bool scanned = false;
  // The medium did not give an onode or a region's head: what these may name nobody knows, so no block counts as free.
  bool hides_something = false;
};
// Of now; what was noted in an earlier incarnation does not count. Where the note cannot be read, one whose mark nothing has.
Result<Epoch> read_epoch(const BlockDevice& device, const Geometry& geometry);
// After a flush that failed: what live sectors say of the time before is not believed any more. As well as such a device takes it.
void end_epoch(BlockDevice& device, const Geometry& geometry, Epoch epoch);
// Nothing is written.
Result<Recovered> recover(const BlockDevice& device, const Superblock& superblock);

// The whole state in bytes, and back; nullopt where it is not what the superblock says.
std::string encode_checkpoint(const Regions& regions, const std::vector<Body::Found>& objects,
                              const std::vector<OnodeId>& damaged, std::uint64_t version);
// Where a checkpoint could lie: blocks that are free. Empty: too many pieces, or no room.
std::vector<Run> room_for_checkpoint(Regions regions, std::uint64_t bytes);

}  // namespace cffs::region
