// Whose a store's directory is, and who could have put something into it.
//
// The caller's own are those of the effective user and of root, who needs no store to do harm. A store that somebody else has
// prepared may name any inode as set-user-ID, be full of crafted rows, and be changed while it is used: it is refused unless
// asked for (as git's safe.directory). Of a store that only its owner can write to, folders are looked at once, when it is
// opened; of one that others can write to, each file when it is opened.
#pragma once

#include <sys/stat.h>

#include <string>

#include "core/base/error.h"

namespace cffs {

struct StoreOwners {
  uid_t owner = 0;              // of the directory
  bool foreign = false;         // the directory, or what it holds, is somebody else's
  bool open_to_others = false;  // others may make names in one of its folders
  std::string whose;            // foreign: "DIRECTORY/blobs belongs to user 1000"
};

// Looks at the directory, what lies in it, the table's files, and the folders of blobs and composites: one lstat each. The
// errno of what cannot be looked at.
Result<StoreOwners> look_at_owners(int directory, const std::string& path);

// Said of what stands where an object should: nothing goes through it, and nothing that is the store's is thrown away for it.
inline constexpr const char kNoRegularFile[] =
    "is no regular file, and a store has nothing else: move it elsewhere";
inline constexpr const char kSymbolicLink[] =
    "is a symbolic link, or lies behind one; a store has none, and it was not followed: move it elsewhere";

// Of a file in a store that others own or can write to: what is wrong with it, "" where nothing is.
std::string strange_file(const struct stat& file, const StoreOwners& owners);

}  // namespace cffs
