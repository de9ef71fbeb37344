// The sums of sealed blobs: made of an object, held against it, erased.
//
// A blob is changed in place, so its sums can only describe content that nobody is changing. A blob that became quiet is synced,
// its sums are written, and its row says that it is sealed; the first change after that says first, durably, that it is not
// (docs/CONSISTENCY.md). So a block that differs from its sum is rot, never a write that a crash has torn.
#pragma once

#include <functional>

#include "core/object/object_store.h"
#include "core/table/block_sums.h"
#include "core/table/table.h"

namespace cffs {

class BlobSums {
 public:
  explicit BlobSums(Table& table) : table_(table) {}

  // Writes the sums of the object's first `size` bytes. False: `go_on` said no, and rows may be there that mean nothing.
  Result<bool> write(InodeId ino, const Object& object, std::uint64_t size,
                     const std::function<bool()>& go_on);
  // The rows of this inode go, whatever they say.
  Status erase(Batch& batch, InodeId ino) const;
  // The rows of a blob that is sealed at this size, which has none behind it. A few go by their keys: to look for them could
  // mean to walk over the deletion marks of all that was removed behind this one.
  Status erase_sealed(Batch& batch, InodeId ino, std::uint64_t size) const;
  // `data` is what was read of the object at `offset`, none of it beyond `size`, which is the file's. `corruption` names the
  // first block that differs. Blocks that it covers in part are read anew, and `data` then is what was checked.
  Status verify(InodeId ino, const Object& object, std::uint64_t size, std::uint64_t offset,
                Bytes data) const;
  // Whether every row is there that the object's data needs: where rows were lost, they say nothing about data. What cannot
  // be read needs one.
  Result<bool> complete(InodeId ino, const Object& object, std::uint64_t size) const;

 private:
  Table& table_;
};

}  // namespace cffs
