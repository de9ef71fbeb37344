// Consolidation: staged files that became quiet become members of composites.
//
// One pass looks at directories that the engine named, groups the quiet small files that it finds by the policy, and fills
// composites with them. Under the policies reference and frequency a file that became quiet is not alone: what belongs
// with it is brought along, from wherever it lies (affiliation.h), and so is a member that was renamed. With a policy without composites, small blobs go into
// the table instead.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/reorganise/composite_filler.h"
#include "core/reorganise/sealing.h"
#include "core/reorganise/store_paths.h"

namespace cffs {

class Consolidation {
 public:
  // What is held in memory at once, however many files wait: names of one directory, some 80 bytes each, so that they are moved
  // by name, as an import lays them (more of them come in so many turns); and files, some 500 bytes each and their contents.
  struct Bounds {
    std::size_t names = std::size_t{1} << 18;
    std::size_t files = std::size_t{1} << 13;
  };
  // One pass, by one policy; `filler` lives longer and goes on where the last pass ended.
  // `stopped`: it ends early, with EINTR.
  Consolidation(FileSystem& fs, CompositeFiller& filler, Sealing& sealing, std::int64_t quiet_before_ns,
                std::function<bool()> stopped, Bounds bounds)
      : fs_(fs),
        filler_(filler),
        sealing_(sealing),
        policy_(fs.policy()),
        quiet_before_ns_(quiet_before_ns),
        stopped_(std::move(stopped)),
        bounds_(bounds),
        paths_(fs) {}

  // What is to be looked at again.
  struct Left {
    std::vector<InodeId> directories, renamed;
    std::vector<InodeId> unreadable;  // directories: by the store's next user, who may have repaired it
  };
  // The small files of these directories, and the members among the renamed ones, that changed last before `quiet_before_ns`; large
  // ones are named to Sealing.
  Result<Left> run(const std::vector<InodeId>& directories,
                   const std::vector<RenamedFiles::Renamed>& renamed);

 private:
  bool should_move(const Inode& inode) const;
  Status may_go_on() const;
  // The quiet members among them; `waiting` gets the others.
  Result<std::vector<FileToMove>> quiet_members(const std::vector<RenamedFiles::Renamed>& renamed,
                                                std::vector<InodeId>& waiting) const;
  struct Quiet {
    std::string name;
    InodeId ino;
  };
  // Some quiet ones of a directory, by name, from the names' hash on; it goes on to where the next turn begins, none: that was all.
  // `waiting` tells that there are others.
  Result<std::vector<Quiet>> quiet_files(InodeId directory, std::optional<std::uint64_t>& hash,
                                         bool& waiting) const;
  // To be moved with what comes behind it, or, where a slice is full, with what came before.
  Status add(FileToMove file);
  Status move_slice(const std::vector<FileToMove>& renamed = {});
  Status run_directory(InodeId directory, bool& waiting);
  Status run_where_readable(InodeId directory, bool& waiting, bool& unreadable);
  Status move(std::vector<FileToMove> files, const std::vector<FileToMove>& renamed);
  Status move_to_table(const std::vector<FileToMove>& files);
  Status move_to_composites(std::vector<FileToMove> files, const std::vector<FileToMove>& renamed);

  FileSystem& fs_;
  CompositeFiller& filler_;
  Sealing& sealing_;
  const std::shared_ptr<const grouping::Policy> policy_;
  const std::int64_t quiet_before_ns_;
  const std::function<bool()> stopped_;
  const Bounds bounds_;
  std::vector<FileToMove> slice_;  // not moved yet
  std::uint64_t slice_bytes_ = 0;
  StorePaths paths_;           // of all slices: a scan of the whole namespace is made for all of them
  bool some_left_ = false;     // found no place this time
  bool slice_failed_ = false;  // none of its files is done, whichever directory they are of
};

}  // namespace cffs
