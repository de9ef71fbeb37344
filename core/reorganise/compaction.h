// Compaction: the living members of a composite that is half freed move to another, and it goes.
#pragma once

#include <vector>

#include "core/reorganise/composite_filler.h"

namespace cffs {

class Compaction {
 public:
  // `filler` lives longer and goes on where the last one ended.
  Compaction(FileSystem& fs, CompositeFiller& filler) : fs_(fs), filler_(filler) {}

  // Returns the bytes read and written; 0 where the composite is gone, or no longer wasteful.
  Result<std::uint64_t> run(CompositeId id);
  // Every composite that is half freed, found by one scan of the namespace: in stores of before they were remembered, and where
  // one could not be compacted.
  Result<std::vector<CompositeId>> find_wasteful() const;

 private:
  Result<std::vector<FileToMove>> living_members(CompositeId id, std::uint64_t bytes) const;

  FileSystem& fs_;
  CompositeFiller& filler_;
};

}  // namespace cffs
