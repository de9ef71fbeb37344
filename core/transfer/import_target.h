// The receiving end of an import: takes files in the order in which a source meets them, fills composites in
// policy order with several workers, and settles at the end what must come last (hard links, directory
// times).
//
// One thread calls the add functions; workers read and write behind a bounded queue. A file that cannot be
// read or whose name is taken is reported and counted; the import goes on.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/fs/file_system.h"
#include "core/transfer/destination.h"
#include "core/transfer/directory_places.h"
#include "core/transfer/existing_files.h"
#include "core/transfer/import_rules.h"
#include "core/transfer/import_tally.h"
#include "core/transfer/job_queue.h"
#include "core/transfer/pending_groups.h"
#include "core/transfer/waiting_links.h"

namespace cffs {

class ImportTarget {
 public:
  // on_progress is called now and then from any thread.
  ImportTarget(std::unique_ptr<Destination> to, unsigned jobs,
               std::function<void(const ImportReport&)> on_progress, ImportRules rules = {});
  // Into a store.
  ImportTarget(FileSystem& fs, unsigned jobs, std::function<void(const ImportReport&)> on_progress,
               ImportRules rules = {});
  ~ImportTarget();

  // The directory that sources come into is this one ("a/b"), made if it is not there; no link is followed. Before anything is added.
  Status begin_at(const std::string& path);
  InodeId root() const { return root_; }
  const ImportRules& rules() const { return rules_; }
  // Whether anything was given to it, or failed.
  bool has_any();
  // No room is left, nothing can be written any more, or it is to stop: what is added from now on is lost.
  bool stopped() const { return stopped_.load(std::memory_order_relaxed) != 0 || rules_.is_to_stop(); }
  // All names of a directory of the source: all others in it go (the rule `erase`), but for those that are left out. `path` as for Excludes.
  void only(InodeId directory, std::string_view path, const std::set<std::string, std::less<>>& names);

  // The directory of this name, made if it is not there. Its attributes are settled in finish().
  // `implied`: the source has files in it, and does not say how it is itself: one that is there stays as it is.
  Result<InodeId> directory(InodeId parent, const std::string& name, const Inode& attributes,
                            bool implied = false);
  void directory_attributes(InodeId directory, const Inode& attributes);

  // A file that is_small(). `read` is called later, once, by a worker, and may set attributes.
  using ReadFile = std::function<Result<std::string>(Inode& attributes)>;
  // `same`: ExistingFiles.
  void small_file(InodeId parent, std::string name, Inode attributes, ReadFile read,
                  const ExistingFiles::SameContent& same = {});
  // No more small files of this directory are to come: what is together need not wait for others.
  void files_complete(InodeId directory);
  // Called by a worker with a function that writes at an offset; the file gets its size from `attributes`.
  using WriteAt = cffs::WriteAt;
  using CopyFile = cffs::CopyFile;
  void large_file(InodeId parent, std::string name, Inode attributes, CopyFile copy,
                  const ExistingFiles::SameContent& same = {});
  // The same at once, in the caller's thread: for sources that cannot wait. `path` is what a problem names.
  void large_file_now(InodeId parent, const std::string& path, const std::string& name,
                      const Inode& attributes, const CopyFile& copy,
                      const ExistingFiles::SameContent& same = {});
  void symlink(InodeId parent, const std::string& name, const Inode& attributes);
  void special(InodeId parent, const std::string& name, const Inode& attributes);
  // Another name for a file that is, or will be, at (first_parent, first_name).
  void hard_link(InodeId parent, std::string name, InodeId first_parent, std::string first_name);
  // A source may hold a path twice, as archives do, and the later one counts: before anything is added,
  void expect_repeats() { to_->expect_repeats(); }
  // and where it comes by one again, which removes a name that this import made.
  void forget_earlier(InodeId parent, const std::string& name);
  // Nothing more comes of one source: what comes of another finds it there, and the later one counts as in a second import.
  void source_complete();
  void failed(const std::string& problem);
  // The same of a file that may have other names: those are no names of what is there by this one.
  void did_not_come(InodeId parent, const std::string& name, const std::string& problem);
  // Of an archive, as it lies, this many bytes more have been read.
  void archive_read(std::uint64_t bytes);
  // A source's time is none that can be held.
  void time_changed();
  bool keeps_owners() const { return to_->keeps_owners(); }
  // This directory of the machine is where the files come.
  bool is_destination(dev_t device, ino_t number) const { return to_->is(root_, device, number); }

  // Of small files, bytes; 0: every file comes alone.
  std::uint64_t small_limit() const { return small_ != nullptr ? small_->limit() : 0; }
  // `content` is asked of large ones, at once; without it they are none.
  bool is_small(std::uint64_t size, const ReadAt& content) const {
    return small_ != nullptr && size <= small_->limit() && small_->takes(size, content);
  }
  std::uint64_t order_of(const std::string& directory_name) const { return to_->order_of(directory_name); }
  // Waits for all, links, sets directory times, makes everything durable.
  Result<ImportReport> finish();

 private:
  struct Pending {
    InodeId parent;
    std::string name;
    Inode attributes;
    std::uint64_t size = 0;
    ReadFile read;
    bool replaces = false;
    std::uint64_t held = 0;  // bytes of its attributes
  };
  // What is to be done with a file: nothing more (it is there, or may not come), or to make it, perhaps in another's place.
  enum class Place { none, free, replaces };
  Place place_for(InodeId parent, const std::string& name, const Inode& attributes,
                  const ExistingFiles::SameContent& same);
  Place look_for_place(InodeId parent, const std::string& name, const Inode& attributes,
                       const ExistingFiles::SameContent& same, bool& is_there);
  void write_large(InodeId parent, const std::string& path, const std::string& name, const Inode& attributes,
                   const CopyFile& copy, bool replaces);
  Status clear(InodeId directory);
  bool directory_goes(InodeId parent, const std::string& name);
  Status take_away_directory(InodeId parent, const std::string& name);
  ExistingFiles::Keep keep_excluded() const;
  std::string path_of(InodeId parent, const std::string& name, bool in_source = false);
  void failed_to_write(const std::string& path, const Error& error, std::uint64_t files);
  void left_out(std::uint64_t files);
  void hand_out();
  void keep_attributes(InodeId directory, std::optional<Inode> attributes);
  void make_all_links();
  void make_links_of(InodeId parent, const std::string& name);
  void make_link(const WaitingLinks::Link& link);
  void load(std::vector<Pending> files);
  void make_node(InodeId parent, const std::string& name, const Inode& attributes,
                 std::uint64_t ImportReport::*counter);

  const std::unique_ptr<Destination> to_;
  SmallFiles* const small_;  // null: none
  const ImportRules rules_;
  ExistingFiles existing_;  // the caller's thread alone, but for what replaces
  WaitingLinks links_;
  InodeId root_ = kRootInode;
  std::atomic<int> stopped_{0};  // errno
  ImportTally tally_;
  DirectoryPlaces places_;
  PendingGroups<Pending> pending_;
  // Which name of the source a file with several names is.
  std::unordered_map<InodeId, std::pair<InodeId, std::string>> linked_;
  std::unordered_map<InodeId, std::optional<Inode>> directories_;  // whose attributes come at the end
  std::unordered_set<InodeId> of_source_;                          // of these, what the present source has
  std::uint64_t held_attributes_ = 0;                              // of these, bytes of the extended ones
  bool attributes_left_out_ = false;                               // and that is told
  JobQueue jobs_;
};

}  // namespace cffs
