// Depth-first walk of a directory tree in a store for who looks: entries in the order of their names, and what cannot be read is told of
// and passed over. (Exports go by tree_visit.h: files first, as they lie, and an error is the end.) Holds the listings of the directories
// on the way down, and a reference to each of these, not to files.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/fs/file_system.h"

namespace cffs {

struct WalkedFile {
  std::string path;  // relative to where the walk began; "" is the start itself
  Attributes attributes;
  unsigned depth = 0;  // of the start: 0
  InodeId parent;      // referenced; of the start: its own
  std::string_view name() const { return std::string_view(path).substr(path.rfind('/') + 1); }
};

enum class Onward { descend, pass_by, end };

struct TreeWalker {
  std::function<Result<Onward>(const WalkedFile&)>
      enter;                                       // every file, before its children; an error ends the walk
  std::function<Status(const WalkedFile&)> leave;  // directories that were descended into; may be null
  std::function<void(const WalkedFile&, const Error&)> trouble;  // a directory, of which entries are missing
};

struct ListedEntry {
  std::string name;
  Attributes attributes;
};
// The entries of a directory without "." and "..", by name, without references. Where the error is not null, what could be read is
// listed and it is set.
std::vector<ListedEntry> list_by_name(FileSystem& fs, InodeId directory, Status& problem);

// `start` is referenced.
Status walk_tree(FileSystem& fs, const Attributes& start, const TreeWalker& walker);

}  // namespace cffs
