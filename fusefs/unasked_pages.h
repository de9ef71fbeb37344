// Puts files that a reader will come to into the kernel's cache before he asks (FUSE_NOTIFY_STORE): who goes through a directory that was
// listed then opens and reads most of it without a request.
//
// Only for mounts of which nobody changes anything, for good. The notification replaces pages, also newer ones: a program that writes
// through a shared mapping would lose what it wrote, and nobody could tell (docs/PERFORMANCE.md, "Handed over").
//
// A thread of its own: the kernel may wait for a READ under way of the same page, so nobody who serves requests may ask for it.
#pragma once

#include <atomic>
#include <cstddef>

#include "core/base/favours.h"
#include "core/fs/file_system.h"

struct fuse_session;

namespace cffs {

class UnaskedPages {
 public:
  UnaskedPages(fuse_session* session, FileSystem& fs) : session_(session), fs_(fs) {}
  // When nobody reads any more.
  ~UnaskedPages();
  UnaskedPages(const UnaskedPages&) = delete;
  UnaskedPages& operator=(const UnaskedPages&) = delete;
  // Before anybody reads.
  void begin();
  // While requests are still served: the kernel may wait for one before it takes a page.
  void end();

 private:
  struct Group {
    ReaderId reader = 0;
    InodeId of;
  };
  void fill(const Group& group);
  Taken put(InodeId file, ConstBytes content) const;

  fuse_session* const session_;
  FileSystem& fs_;
  bool begun_ = false;
  std::atomic<bool> over_{false};
  // Of its thread alone. Where the kernel does not know the files of a group, for they were not listed, looking is in vain: so many groups
  // are passed over, twice as many each time.
  unsigned pass_ = 0, passed_ = 0;
  Favours<Group> groups_{"the thread that fills the kernel's cache",
                         [this](const Group& group) { fill(group); }};
};

}  // namespace cffs
