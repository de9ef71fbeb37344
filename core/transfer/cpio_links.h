// Files with several names in a cpio archive. Each name is a member, and the data is with one of them: with the last (newc, as GNU cpio writes
// it), or with each (odc). Those without come first, so a file waits until its data is there, or the archive is at its end.
// Of one thread.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/transfer/import_target.h"

namespace cffs {

class CpioLinks {
 public:
  struct Place {
    InodeId parent;
    std::string name;
    std::string path;  // for people
  };
  // Brings the data of the member that is read.
  using Bring = std::function<Status(const Place&, const Inode&)>;

  explicit CpioLinks(ImportTarget& target) : target_(target) {}

  // Whether this file has this name already: whoever lists names for cpio may do so twice.
  bool has(const std::string& first, const Place& place) const;
  // A member of a file whose first name in the archive was `first`; it is that one where `is_first`. Where the first was left out this name
  // takes its place.
  Status add(const std::string& first, bool is_first, const Place& place, const Inode& attributes,
             const Bring& bring);
  // The data of such a file comes with a member that is left out: it is that of the others.
  Status give(const std::string& first, std::uint64_t size, const Bring& bring);
  // Those whose data did not come are empty, at the end of an archive that is whole.
  void settle();
  using Name = std::pair<InodeId, std::string>;
  // The same of the one that has this name, which comes again as another file's.
  void settle(const Name& name);

 private:
  struct File {
    Place place;
    Inode attributes;
    bool waits = true;
    bool given_up = false;  // empty, though its data may still come
    std::set<Name> names;
  };
  void make_empty(File& file);

  ImportTarget& target_;
  std::map<std::string, File> files_;
  std::map<Name, std::string> holders_;  // whose first name was what
};

}  // namespace cffs
