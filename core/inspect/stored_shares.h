// What members of composites take where those are packed. Of a composite only the index of its frames is read, once, and kept for
// those of its members that are asked for soon after. Thread safety: none.
#pragma once

#include <deque>
#include <unordered_map>
#include <vector>

#include "core/object/object_store.h"
#include "core/table/inode.h"

namespace cffs {

class PackedObject;

class StoredShares {
 public:
  explicit StoredShares(ObjectStore& objects) : objects_(objects) {}

  // Bytes of the object that are this member's: of each frame that it is in as much as it has of its plain bytes. What the object has
  // beside frames is shared in the same proportion.
  double of(const Extent& extent);
  // Composites whose index could not be read; their members count as if they were not compressed.
  std::uint64_t unread() const { return unread_; }

 private:
  struct Frames {
    std::vector<std::uint64_t> plain_ends, stored_ends;  // none: not packed
    double beside = 1;                                   // bytes of the object for one of a frame
    double stored_before(std::uint64_t plain_at) const;
  };
  static constexpr std::size_t kKept = 256;  // composites; 2 KiB each where they have 8 MiB

  static Frames frames_of(const PackedObject& object);
  const Frames& frames(CompositeId id);

  ObjectStore& objects_;
  std::unordered_map<std::uint64_t, Frames> kept_;
  std::deque<std::uint64_t> order_;  // the oldest first
  std::uint64_t unread_ = 0;
};

}  // namespace cffs
