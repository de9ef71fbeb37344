// The daemon that has a store, seen from outside: by the store's lock, which it holds until everything is durable. One that
// serves a read-only mount shares the lock and writes no name into it; it is found among the processes that have it open.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/object/file_descriptor.h"

namespace cffs {

// Of a daemon whose mount is over, until it ends: a mark among its descriptors that StoreOwner finds from outside.
FileDescriptor mark_as_leaving();
// Whether no mount is left of those that a process serves, and nothing of them in use; nullopt where the kernel does not tell us.
std::optional<bool> mount_is_over(pid_t process);

class StoreOwner {
 public:
  // Of the store at a path, as it is now.
  explicit StoreOwner(const std::string& store);

  // 0, or why there is no store to ask: ENOENT, EACCES.
  int problem() const { return lock_ ? 0 : lock_problem_; }
  // Whether it still has the store; false where it is gone, or somebody else's.
  bool holds() const;
  // Whether it serves a read-only mount: it opened the store to look, and will not change it.
  bool only_reads() const { return !readers_.empty(); }
  // "pid 17 on host", as it wrote into the lock.
  const std::string& text() const { return text_; }
  // 0: it cannot be seen from here (another machine or pid namespace, or it is gone).
  pid_t process() const;
  // Whether that process has the lock open.
  bool is_open_in(pid_t process) const { return has_lock_open(process); }
  // Whether it will let go of the store by itself, and soon: its mount is gone, and it closes the store. Unknown where nobody
  // who has the store can be seen from here: somebody looks at it, or is far, or it is free by now.
  enum class Outlook { stays, leaves, unknown };
  Outlook outlook() const;
  // Asks it to end in good order (SIGTERM): it commits, closes the store and goes. Several read-only mounts of one store have
  // a daemon each, and which of them serves which mount cannot be told: either all are asked, or none.
  Status end(bool all);

 private:
  std::string text_now() const;
  bool is_locked() const;
  bool has_lock_open(pid_t process) const;
  std::vector<pid_t> find_readers() const;
  bool leaves(pid_t process) const;

  const std::string store_;
  const std::string lock_path_;
  const FileDescriptor lock_;
  const int lock_problem_;
  const std::vector<pid_t> readers_;  // daemons of read-only mounts of this store
  const std::string text_;
  bool all_asked_ = false;
};

}  // namespace cffs
