// Directories of an ordinary file system, by numbers that a transfer gives them. Each is opened from the one it is in, without following
// links: whoever changes the tree meanwhile leads nothing out of it, and no path is too long. Only the few used last stay open.
//
// A directory that its owner cannot write in may be opened up for as long as the transfer is at work in it.
//
// Thread safety: everything.
#pragma once

#include <sys/types.h>

#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/base/error.h"
#include "core/base/ids.h"
#include "core/base/mutex.h"
#include "core/object/file_descriptor.h"

namespace cffs {

class DestinationFolders {
 public:
  struct Folder {
    FileDescriptor fd;
    bool gives_acl = false;  // to what is made in it
  };
  using Open = std::shared_ptr<const Folder>;

  // `path`: the root's, for people.
  DestinationFolders(std::string path, FileDescriptor root);

  int root() const { return root_->fd.get(); }
  // ESTALE: no such number, or no more.
  Result<Open> open(InodeId directory) CFFS_EXCLUDES(mutex_);
  // For a name in it. EINVAL: no file can have that name, as one of a damaged store may be.
  Result<Open> open_for(InodeId parent, const std::string& name) CFFS_EXCLUDES(mutex_);
  // Its number: the same each time, until it is left.
  InodeId know(InodeId parent, const std::string& name) CFFS_EXCLUDES(mutex_);
  // Just made and open, and gives no ACL.
  InodeId know_made(InodeId parent, const std::string& name, FileDescriptor made) CFFS_EXCLUDES(mutex_);
  // Its number is nobody's any more. What was opened up is closed again.
  void leave(InodeId directory) CFFS_EXCLUDES(mutex_);
  // From the root on; of the directory itself where the name is empty.
  std::string path_of(InodeId parent, const std::string& name) CFFS_EXCLUDES(mutex_);

  // `in` is the descriptor of the one that it is in, `mode` what it has.
  void open_up(InodeId directory, int in, const std::string& name, mode_t mode) CFFS_EXCLUDES(mutex_);
  void close_again(InodeId directory) CFFS_EXCLUDES(mutex_);
  void close_all_again() CFFS_EXCLUDES(mutex_);
  // It has its own mode by now.
  void settled(InodeId directory) CFFS_EXCLUDES(mutex_);

 private:
  struct Known {
    InodeId parent;
    std::string name;
  };
  void keep_open(InodeId directory, Open folder) CFFS_EXCLUDES(mutex_);

  const std::string path_;
  const Open root_;
  Mutex mutex_;  // nothing is called under it
  std::unordered_map<InodeId, Known> known_ CFFS_GUARDED_BY(mutex_);
  std::map<std::pair<InodeId, std::string>, InodeId> numbers_ CFFS_GUARDED_BY(mutex_);
  std::list<std::pair<InodeId, Open>> open_ CFFS_GUARDED_BY(mutex_);  // the last used first
  std::uint64_t last_number_ CFFS_GUARDED_BY(mutex_) = kRootInode.value;
  std::unordered_map<InodeId, mode_t> closed_ CFFS_GUARDED_BY(mutex_);  // what is open for now, and was not
};

}  // namespace cffs
