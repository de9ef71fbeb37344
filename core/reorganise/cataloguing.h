// Cataloguing: writes the catalogue (core/table/catalogue.h), and knows when it is time for another one.
//
// From a snapshot of the table, beside all users, who wait for nothing but the processor and the medium. How much of these it takes is
// bounded: it is written when names and attributes have not changed for a while (or have been changing for long), at most a hundredth of the time
// goes into it, and 128 KB a second in the long run, whatever there is to write. Where room is short there is none, and an unmount
// does not wait for one.
#pragma once

#include <functional>
#include <optional>

#include "core/fs/file_system.h"

namespace cffs {

// Now, whether it is needed or not; returns its size in bytes. EINTR: `go_on`, asked again and again, said no. ENOSPC: it would
// take an eighth of the room that is left. `corruption`: rows cannot be read. Whatever ends it early, the one before is as it was. One at a time
// in a store.
Result<std::uint64_t> write_catalogue(FileSystem& fs, const std::function<bool()>& go_on);

// For who has added so many files at once, and leaves a store that nobody may ever mount for writing: where the store has not many times as
// many. What keeps it from being written is nobody's trouble, since a mount or a scrub makes the next.
void catalogue_what_came(FileSystem& fs, std::uint64_t added, const std::function<bool()>& go_on);

class Cataloguing {
 public:
  // A store is quiet when it has not changed for five times `quiet_ms`.
  Cataloguing(FileSystem& fs, std::int64_t quiet_ms);

  // To be called again and again, by one thread: writes one where it is time to.
  void run(const std::function<bool()>& go_on);

 private:
  bool is_due(std::int64_t at);
  void compare_with_former(std::int64_t at);

  FileSystem& fs_;
  const std::int64_t quiet_ms_;
  bool compared_ = false;  // with the catalogue of an earlier user
  std::string last_problem_;
  std::uint64_t written_ = 0;                    // Table::namespace_changes() that the catalogue has
  std::uint64_t seen_ = 0;                       // the same, when it was looked at last
  std::optional<std::int64_t> behind_since_ms_;  // the catalogue lacks something; steady ms, as the others
  std::int64_t changed_ms_ = 0;
  std::int64_t not_before_ms_ = 0;
};

}  // namespace cffs
