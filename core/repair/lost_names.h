// What the catalogue of a lost store says of its tree, as far as it is needed before the files themselves are looked at: directories, the names
// of files that have several, inline data. Names of other files are many; visit() tells them one after the other.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/table/catalogue.h"

namespace cffs {

class LostNames {
 public:
  struct Directory {
    InodeId parent;
    std::string name;
    Inode inode;
  };

  // An object that cannot be read at all is as none, and damage; but for want of memory or descriptors, which looked() tells.
  explicit LostNames(ObjectStore& store) : store_(store) { load(); }

  // There is one, and some of it can be read.
  bool present() const { return present_; }
  // Asked before anything else is believed.
  const Status& looked() const { return looked_; }
  // All that there was at that moment is in it.
  bool whole() const { return present_ && damage_.empty(); }
  const CatalogueMoment& moment() const { return moment_; }
  const std::vector<std::string>& damage() const { return damage_; }

  const std::map<InodeId, Directory>& directories() const { return directories_; }
  const Directory* directory(InodeId ino) const;
  const Inode* root() const { return root_ ? &*root_ : nullptr; }
  // Of a file that has several, all of them; else none.
  const std::vector<EntryName>& names(InodeId ino) const;
  // Whole, of a file of so many bytes; nullopt: it is not.
  std::optional<std::string> inline_data(InodeId ino, std::uint64_t size) const;

  // Everything but directories, once each. `at`: its name, or nothing where names() has it. Ends with the first error, as which
  // counts that some of what was whole cannot be read any more.
  Status visit(
      const std::function<Status(const std::optional<EntryName>& at, const Inode& inode)>& file) const;

 private:
  void load();
  void note(InodeId upper, Row& row);
  void note_data(InodeId file, std::uint64_t chunk, std::string_view bytes);

  ObjectStore& store_;
  bool present_ = false;
  Status looked_;
  CatalogueMoment moment_;
  std::vector<std::string> damage_;
  std::map<InodeId, Directory> directories_;
  std::optional<Inode> root_;
  std::unordered_map<InodeId, std::vector<EntryName>> names_;
  std::unordered_map<InodeId, std::string> data_;  // chunks in order, as far as none is missing
  std::uint64_t data_bytes_ = 0;
};

}  // namespace cffs
