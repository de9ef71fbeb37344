// The largest number that a store has given to anything that is still there: an inode, a composite, what waits for its removal, an object. The
// inode counter has to be beyond it, or the next file would get another's number, and with that its blob. For check and repair.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "core/table/row.h"
#include "core/table/table.h"

namespace cffs {

class UsedNumbers {
 public:
  void note(std::uint64_t number) {
    if (number < kInodeLimit) largest_ = std::max(largest_, number);
  }
  void note(const Entry& entry) { note(entry.ino.value); }
  // Of all rows what their keys tell; entries, which tell more, are the caller's to note. A few hundred short scans.
  Status note_keys(const Table& table);
  // A blob, a composite, or what a repair has kept of one.
  void note_object(const std::string& name);
  // What the catalogue, where there is one that can be read, says was given by then.
  void note_catalogue(ObjectStore& store);
  // The counter as its row has it, once all of the above is noted; entries, as before, are the caller's.
  struct Counter {
    std::optional<std::uint64_t> gives;  // nullopt: its row is malformed
    bool is_behind = false;              // it would give numbers that are used
    bool is_beyond = false;              // it gives numbers that no file may have
    bool is_good() const { return gives && !is_behind && !is_beyond; }
  };
  Result<Counter> judge_counter(const Table& table, ObjectStore& store);
  // The least number that the counter may give next.
  std::uint64_t next() const { return std::max(kFirstInode, largest_ + 1); }

 private:
  std::uint64_t largest_ = 0;
};

}  // namespace cffs
