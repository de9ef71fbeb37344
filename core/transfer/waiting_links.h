// Hard links of a source, until what they lead to is there: the first name may come after them, or may still be on its way.
// A first name that did not come leads to what was there before, which is another file: what links to it does not come either.
//
// Of one thread, but for did_not_come().
#pragma once

#include <cstddef>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/base/mutex.h"
#include "core/transfer/destination.h"
#include "core/transfer/existing_files.h"

namespace cffs {

class WaitingLinks {
 public:
  // Another name for a file that is, or will be, at (first_parent, first_name).
  struct Link {
    InodeId parent;
    std::string name;
    InodeId first_parent;
    std::string first_name;
  };
  WaitingLinks(Destination& to, ExistingFiles& existing) : to_(to), existing_(existing) {}

  void add(Link link) { links_.push_back(std::move(link)); }
  bool is_empty() const { return links_.empty(); }
  // Whether this name is one of a link that waits, or the first that it leads to.
  bool concern(InodeId parent, const std::string& name) const;
  // Of a file whose name shows something else, or nothing. From any thread.
  void did_not_come(InodeId parent, const std::string& name) CFFS_EXCLUDES(mutex_);
  // It comes once more.
  void comes_again(InodeId parent, const std::string& name) CFFS_EXCLUDES(mutex_);
  // All names may come once more.
  void all_come_again() CFFS_EXCLUDES(mutex_);
  // All that wait, in the order of the source; none does any more.
  std::vector<Link> take();

  enum class Made { anew, replaced, was_there, not_over_a_directory, not_over_another };
  // `update`: in another file's place, too.
  Result<Made> make(const Link& link, bool update);

 private:
  Destination& to_;
  ExistingFiles& existing_;
  std::vector<Link> links_;
  Mutex mutex_;  // leaf
  // By their hashes: all files of a source may be refused.
  std::unordered_set<std::size_t> missing_ CFFS_GUARDED_BY(mutex_);
};

}  // namespace cffs
