// Keeps what the kernel has cached of a mount within bounds: each inode that it knows costs the daemon memory, and the kernel, which
// has plenty of its own, keeps millions.
//
// Linux 6.18 can be asked to forget inodes that nobody uses (FUSE_NOTIFY_PRUNE): unlike the notification for an entry it leaves names
// that are in use alone. What it forgets it asks for again, a LOOKUP. Before Linux 6.18 there is no bound: the older notification
// takes names from under those who use them.
//
// A thread of its own: to forget an inode the kernel may wait for pages of it that others write, so nobody who serves requests may
// ask for it.
#pragma once

#include <cstddef>
#include <thread>
#include <vector>

#include "core/base/mutex.h"
#include "core/fs/file_system.h"

struct fuse_session;

namespace cffs {

class KernelCache {
 public:
  // `most`: inodes that the kernel may know; 0: any number.
  KernelCache(fuse_session* session, FileSystem& fs, std::size_t most)
      : session_(session), fs_(fs), most_(most) {}
  ~KernelCache();
  KernelCache(const KernelCache&) = delete;
  KernelCache& operator=(const KernelCache&) = delete;
  // EAGAIN: there is no thread to be had.
  Status begin();

 private:
  void run();
  // Seconds until the next look.
  int look();
  // False: the kernel knows no such notification.
  bool ask_to_forget(const std::vector<InodeId>& inodes) const;

  fuse_session* const session_;
  FileSystem& fs_;
  const std::size_t most_;
  Mutex mutex_;
  CondVar wake_;
  bool stopping_ CFFS_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace cffs
