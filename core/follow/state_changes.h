// What differs between two states of a store, as those who remember names and attributes of the earlier one have to know.
#pragma once

#include <set>
#include <vector>

#include "core/fs/file_system.h"
#include "core/table/key.h"
#include "core/table/row.h"

namespace cffs {

struct StateChanges {
  std::vector<EntryName> names;          // lead elsewhere, nowhere, or somewhere for the first time
  std::vector<InodeId> listings;         // of directories that have other names
  std::vector<InodeId> attributes;       // of inodes that are the same otherwise
  std::vector<InodeId> contents;         // of regular files; their attributes too
  std::vector<InodeId> gone;             // inodes that a name led to and that these rows have no more
  std::vector<std::pair<InodeId, EntryName>> places;  // where inodes are found now
};

// By the rows that may differ.
Result<StateChanges> compare_states(const Table& before, const Table& after, const std::set<Key>& keys);

// Whether who knows the one must be told of the other; a file that only lies elsewhere is the same.
bool has_same_attributes(const Inode& a, const Inode& b);
bool has_same_content(const Inode& a, const Inode& b);

}  // namespace cffs
