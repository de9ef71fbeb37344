// Hard links of a source, until what they lead to is there: the first name may come after them, or may still be on its way.
// Of one thread.
#pragma once

#include <string>
#include <vector>

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
  // All that wait, in the order of the source; none does any more.
  std::vector<Link> take();

  enum class Made { anew, replaced, was_there, not_over_a_directory, not_over_another };
  // `update`: in another file's place, too.
  Result<Made> make(const Link& link, bool update);

 private:
  Destination& to_;
  ExistingFiles& existing_;
  std::vector<Link> links_;
};

}  // namespace cffs
