// The tree that a salvage fills: makes things in a new store at the places that they had in a lost one.
//
// A directory has the place that the catalogue gives it. Of one that the catalogue does not know only the number is known: it is #NUMBER below the
// root. A name that is taken, by a file that had it before or after, becomes NAME#NUMBER. Nodes of directories are referred to as long as the new store
// is open.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/fs/file_system.h"
#include "core/repair/lost_names.h"

namespace cffs {

class NewTree {
 public:
  // `lost` gets a sentence for each attribute that could not be given.
  NewTree(FileSystem& fs, const LostNames& names, std::vector<std::string>& lost)
      : fs_(fs), names_(names), lost_(lost) {}

  // All directories that the catalogue knows, without their attributes.
  Status make_directories();
  // Attributes of directories: last, since times move with what is made in them.
  Status finish_directories();
  // Where what was in that directory of the lost store belongs.
  Result<InodeId> directory(InodeId lost);
  // A directory of this name below the root.
  Result<InodeId> directory(const std::string& name);

  // Makes a file of the inode's type, with its target or device, and calls `fill` to give it its content; then it gets its
  // attributes, and its other names. `places`: names in the lost store, at least one.
  template <typename Fill>
  Status make(const std::vector<EntryName>& places, const Inode& inode, Fill fill) {
    CFFS_TRY(const InodeId parent, directory(places.front().parent));
    return make_at(parent, places, inode, fill);
  }
  // The same in a directory of the new store, with the first of the names.
  template <typename Fill>
  Status make_in(InodeId parent, const std::string& name, const Inode& inode, Fill fill) {
    return make_at(parent, {{kRootInode, name}}, inode, fill);
  }

  // Directories of which no name is known, by their numbers.
  const std::vector<InodeId>& nameless() const { return nameless_; }

 private:
  template <typename Fill>
  Status make_at(InodeId parent, const std::vector<EntryName>& places, const Inode& inode, Fill fill) {
    CFFS_TRY(const InodeId file, make_entry(parent, places.front().name, inode));
    CFFS_TRY_VOID(fill(file));
    for (std::size_t i = 1; i < places.size(); ++i) CFFS_TRY_VOID(link(file, places[i], inode.ino));
    CFFS_TRY_VOID(set_attributes(file, inode));
    fs_.forget(file, 1);
    return {};
  }
  Result<InodeId> make_entry(InodeId parent, const std::string& name, const Inode& inode);
  Result<InodeId> make_nameless(InodeId lost);
  Status link(InodeId file, const EntryName& place, InodeId lost);
  Status set_attributes(InodeId file, const Inode& inode);

  FileSystem& fs_;
  const LostNames& names_;
  std::vector<std::string>& lost_;
  std::unordered_map<InodeId, InodeId> directories_;  // of the lost store, in the new one
  std::unordered_map<std::string, InodeId> named_;
  std::vector<InodeId> nameless_;
};

}  // namespace cffs
