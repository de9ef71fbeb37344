// The receiving end of an import: takes files in the order in which a source meets them, fills composites in
// policy order with several workers, and settles at the end what must come last (hard links, directory
// times).
//
// One thread calls the add functions; workers read and write behind a bounded queue. A file that cannot be
// read or whose name is taken is reported and counted; the import goes on.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "core/base/mutex.h"
#include "core/fs/file_system.h"
#include "core/fs/new_file.h"
#include "core/transfer/pending_groups.h"

namespace cffs {

struct ImportReport {
  std::uint64_t files = 0, directories = 0, symlinks = 0, specials = 0, links = 0, bytes = 0;
  std::uint64_t failed = 0;
  std::vector<std::string> problems;  // the first few, one sentence each
};

class ImportTarget {
 public:
  // on_progress is called now and then from any thread.
  ImportTarget(FileSystem& fs, unsigned jobs, std::function<void(const ImportReport&)> on_progress);
  ~ImportTarget();

  // The directory of this name, made if it is not there. Its attributes are settled in finish().
  Result<InodeId> directory(InodeId parent, const std::string& name, const Inode& attributes);
  void directory_attributes(InodeId directory, const Inode& attributes);

  // A file of at most small_limit() bytes. `read` is called later, once, by a worker, and may set attributes.
  using ReadFile = std::function<Result<std::string>(Inode& attributes)>;
  void small_file(InodeId parent, std::string name, Inode attributes, ReadFile read);
  // No more small files of this directory are to come: what is together need not wait for others.
  void files_complete(InodeId directory);
  // Called by a worker with a function that writes at an offset; the file gets its size from `attributes`.
  using WriteAt = std::function<Status(std::uint64_t offset, std::string_view bytes)>;
  using CopyFile = std::function<Status(const WriteAt&)>;
  void large_file(InodeId parent, std::string name, Inode attributes, CopyFile copy);
  // The same at once, in the caller's thread: for sources that cannot wait. `path` is what a problem names.
  void large_file_now(InodeId parent, const std::string& path, const std::string& name,
                      const Inode& attributes, const CopyFile& copy);
  void symlink(InodeId parent, const std::string& name, const Inode& attributes);
  void special(InodeId parent, const std::string& name, const Inode& attributes);
  // Another name for a file that is, or will be, at (first_parent, first_name).
  void hard_link(InodeId parent, std::string name, InodeId first_parent, std::string first_name);
  // Removes a name that this import made; an archive may hold a path twice, and the later one counts.
  void forget_earlier(InodeId parent, const std::string& name);
  void failed(const std::string& problem);

  std::uint64_t small_limit() const { return fs_.load_limit(); }
  const NameHash& name_hash() const { return fs_.name_hash(); }
  // Waits for all, links, sets directory times, makes everything durable.
  Result<ImportReport> finish();

 private:
  struct Pending {
    InodeId parent;
    std::string name;
    Inode attributes;
    std::uint64_t size = 0;
    ReadFile read;
  };
  struct Job {
    std::function<void()> run;
    std::uint64_t bytes = 0;  // that it has, or will have, in memory
  };

  bool in_a_group(const Pending& file) const;
  void hand_out();
  void load(std::vector<Pending> files);
  void enqueue(Job job);
  void wait_for_workers();
  void work();
  void settle(InodeId ino, const Inode& attributes);
  void settle_made(const Result<Attributes>& made, const std::string& name, const Inode& attributes,
                   std::uint64_t ImportReport::*counter);
  template <typename Change>
  void count(Change change);

  FileSystem& fs_;
  const std::function<void(const ImportReport&)> on_progress_;
  const InodeId first_new_inode_;
  const std::uint64_t table_bytes_;  // files of at most so many stay in the table
  PendingGroups<Pending> pending_;
  struct Link {
    InodeId parent;
    std::string name;
    InodeId first_parent;
    std::string first_name;
  };
  std::vector<Link> links_;
  std::unordered_map<InodeId, Inode> directories_;  // each referenced once, until the end

  Mutex mutex_;
  CondVar changed_;
  std::deque<Job> queue_ CFFS_GUARDED_BY(mutex_);
  unsigned busy_ CFFS_GUARDED_BY(mutex_) = 0;
  std::uint64_t bytes_ CFFS_GUARDED_BY(mutex_) = 0;  // of the jobs that are waiting or at work
  bool ending_ CFFS_GUARDED_BY(mutex_) = false;
  ImportReport report_ CFFS_GUARDED_BY(mutex_);
  std::vector<std::thread> workers_;
};

}  // namespace cffs
