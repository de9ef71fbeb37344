// Scrub: reads everything that a store in use has, from the medium, and names each file that is damaged.
//
// One walk over the table in order of keys: a composite's row stands for its object, which is read whole, every record and every
// member; an entry's for its inline data or its blob, sealed ones held against their checksums. Files that have been quiet and have no
// checksums get them on the way. What changes meanwhile is not judged: a file that differs is looked at once more, and only one that
// is still what it was is reported. The walk keeps no iterator and no lock for longer than a few rows.
//
// Where it is stays in the table (system row `scrub`), every few seconds and at the end: another one goes on from there.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "core/base/pace.h"
#include "core/fs/rehousing.h"
#include "core/reorganise/sealing.h"
#include "core/reorganise/store_paths.h"
#include "core/table/system_rows.h"

namespace cffs {

struct ScrubOptions {
  std::uint64_t bytes_per_second = 0;  // 0: as fast as it goes
  bool anew = false;                   // from the start, even where an earlier one was not finished
  std::int64_t quiet_ms = 10'000;      // files that changed last before that get checksums
  std::function<bool()> go_on = [] { return true; };
  std::function<void(const std::string&)> on_damage = [](const std::string&) {};
  std::function<void(const ScrubProgress&)> on_progress = [](const ScrubProgress&) {};
};

class Scrub {
 public:
  Scrub(FileSystem& fs, ScrubOptions options);

  // As far as it came: to the end, or until it was told to stop. An error: rows cannot be read or written at all.
  Result<ScrubProgress> run();
  // What the last one has said of itself; nullopt: there was none.
  static Result<std::optional<ScrubProgress>> last(FileSystem& fs);

 private:
  using Rows = std::vector<std::pair<Key, std::string>>;
  struct Record {
    RecordMeta meta;
    std::uint64_t data_at = 0;
  };

  Status begin();
  std::uint64_t add_up() const;
  Status check_table();
  Status check_catalogue();
  Result<Rows> next_rows();
  Status check_row(Key key, const std::string& value);
  Status check_composite(CompositeId id, const CompositeRow& row);
  Status check_members(CompositeId id, std::string_view bytes, std::uint64_t from);
  Status check_members_by_rows(CompositeId id, const std::string& why, const Object& object);
  Status report_members_by_rows(CompositeId id, const std::string& why,
                                const std::function<Status(const Extent&)>& check);
  Status report_unopened(CompositeId id, const Error& error);
  Status check_large(CompositeId id, const CompositeRow& row, const Object& object);
  Status read_member(const Object& object, const Extent& extent);
  Status report_record(CompositeId id, const RecordMeta& record, const Error& error);
  Status check_file(Key key, InodeId directory, const Entry& entry);
  Status check_inline(FileToMove& file);
  Status check_blob(const FileToMove& file);
  Status read_blob(const FileToMove& file, const Object& object);
  Status seal(const FileToMove& file);
  // The error is a damage of this file, unless it changed since; errors that concern more than it come back.
  Status judge(const FileToMove& file, const Error& error);
  Result<bool> unchanged(const FileToMove& file);
  Result<std::string> read_from_medium(const Object& object, std::uint64_t bytes, Status& problem);
  void damaged(const std::string& sentence);
  // Descriptors or memory that were short for it say nothing about it.
  Status unreadable(const Error& error);
  void spent(std::uint64_t bytes);
  Status remember();

  FileSystem& fs_;
  const ScrubOptions options_;
  ScrubProgress progress_;
  Pace pace_;
  StorePaths paths_;
  std::set<InodeId> linked_;  // hard-linked inodes that were seen
  std::int64_t remembered_ms_ = 0;
};

}  // namespace cffs
