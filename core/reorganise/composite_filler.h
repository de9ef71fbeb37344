// Fills composites: appends groups of files to the one being filled, or to a new one, makes the bytes durable, then has the
// engine switch the files' rows. All who move files into composites in the background (consolidation, compaction,
// regrouping) do it through one of these; each of theirs fills a composite of its own.
//
// A group is switched in one batch, so after a crash it is together or where it was. For one thread at a time.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/composite/twin_search.h"
#include "core/fs/file_system.h"
#include "core/fs/rehousing.h"

namespace cffs {

class CompositeFiller {
 public:
  using Group = std::vector<FileToMove>;  // with their contents

  explicit CompositeFiller(FileSystem& fs) : fs_(fs), twins_(fs.table(), fs.composites()) {}
  CompositeFiller(const CompositeFiller&) = delete;
  CompositeFiller& operator=(const CompositeFiller&) = delete;

  // Bytes that still fit into the composite being filled.
  std::uint64_t room() const;
  // Nothing more goes to the composite being filled: what comes next goes to a new one. It is packed now, as the store wants it.
  void begin_anew();
  // The same, if it is this one that is being filled: it is about to be emptied.
  void leave(CompositeId id);

  struct Filled {
    std::size_t moved = 0;  // files; those that changed since they were read stay where they were
    // The composite lost all its members meanwhile; files that were to follow them are where they were.
    bool composite_gone = false;
  };
  // Reads the file and puts it behind the group's others, unless it is gone or has changed its home. Of files that share a record and come
  // one behind the other, the first alone has the content.
  Status read_into(Group& group, FileToMove file) const;
  // Compaction may use room that is kept free: it gives back more than it takes.
  enum class Purpose { grouping, compaction };
  Result<Filled> add(std::vector<Group> groups, grouping::PolicyId policy, Purpose purpose);

 private:
  struct Tail {  // the composite that is being filled
    CompositesAtWork::Mark filled;
    std::uint64_t bytes = 0;
    std::uint64_t slots = 0;
    bool closed = false;  // it was written packed: nothing can be added
    CompositeId id() const { return filled.id(); }
  };
  static bool is_of_one_record(const FileToMove& a, const FileToMove& b);
  // What others have already is shared with them, and taken out of `groups`; the number of files.
  Result<std::size_t> into_twins(std::span<const FileToMove> files, std::vector<std::size_t>& left) const;
  Result<std::size_t> share(std::vector<Group>& groups, Purpose purpose);
  std::optional<Extent> twin_of(const FileToMove& file, Purpose purpose) const;
  Result<Filled> write(std::vector<Group> groups, grouping::PolicyId policy, Purpose purpose);
  Result<Filled> put(std::vector<Group> groups, grouping::PolicyId policy, Purpose purpose);
  // The object to append to; null: a new one.
  Result<std::shared_ptr<Object>> open_tail();
  Status reserve(const FileToMove& file, Purpose purpose) const;
  Result<Filled> add_to_tail(std::vector<Group> groups, grouping::PolicyId policy, Purpose purpose,
                             const std::shared_ptr<Object>& into);
  Result<Filled> add_apart(std::vector<Group> groups, grouping::PolicyId policy, Purpose purpose);
  Result<Filled> add_behind(std::vector<Group> groups, grouping::PolicyId policy, Purpose purpose);
  // `named`: a row says that there is such a composite. What found no place is left_.
  Result<Filled> switch_rows(const CompositeBuilder& builder, bool& named, grouping::PolicyId policy,
                             const std::vector<FileToMove>& files,
                             const std::vector<std::size_t>& group_ends);

  FileSystem& fs_;
  const TwinSearch twins_;
  bool shares_ = false;  // what is put together may share
  Group left_;           // files that found no place in this composite; without their contents
  std::optional<Tail> tail_;  // goes with this: else nobody would pack it until the store is opened anew
};

}  // namespace cffs
