// Empty objects, kept for their inodes. A file system has as many as it was made with (ext4), or was given (tmpfs): where the last one is taken,
// by files of this store or by anybody else, LevelDB cannot begin its next log or table, stops for good, and cannot be opened again; and
// then nobody can remove anything. So some are held by objects that have nothing else. Where it runs short one goes, and LevelDB
// tries again; what is removed brings them back before users of the store get any.
#pragma once

#include <set>
#include <string>

#include "core/object/object_store.h"

namespace cffs {

class SpareObjects {
 public:
  static constexpr const char* kFolder = "spare";
  static constexpr unsigned kHeld = 16;  // a log, a table, a manifest, and some for a merge
  static bool is_one(std::string_view name);

  explicit SpareObjects(ObjectStore& store) : store_(store) {}

  // Makes those that are missing, as far as there is room.
  void hold(const SpaceInfo& space);
  // Whether some are missing that could not be made. What is left is for who removes something.
  bool are_short() const { return reason_ != 0; }
  int reason() const { return reason_; }
  // Removes one where there is no other inode, or none for who owns the store. False: there is, or there are no spares left.
  bool give(const SpaceInfo& space);

 private:
  // False: others do not take them, or nobody knows how many there are.
  static bool are_scarce(const SpaceInfo& space) { return space.shares_inodes && space.total_inodes > 0; }
  void look();
  bool is_one_refused();

  ObjectStore& store_;
  std::set<std::string> held_;
  bool looked_ = false;
  int reason_ = 0;  // why some could not be made: ENOSPC, EDQUOT
};

}  // namespace cffs
