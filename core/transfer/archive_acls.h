// Access control lists of an archive's members: pax has them as text, SCHILY.acl.access and SCHILY.acl.default, as star, GNU tar and bsdtar
// write and read them; files have them as two extended attributes (core/fs/acl.h).
//
// No right becomes wider on the way: a mode's group bits are the list's mask, and whoever takes the one without the other would let the
// group do what only those may whom the list names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/table/inode.h"

struct archive_entry;

namespace cffs {

// Of a list that is this attribute's value. The entry's mode becomes what it is without the list. False: the text says a little less than the
// list does, so that the attribute should go along.
Result<bool> add_acl(archive_entry* entry, std::string_view xattr, std::string_view value);

// Adds the entry's lists to the attributes, where they are not among them already; the mode is what goes with them.
// `is_readable`: the reader understood all of them; else the file is its owner's alone. Returns what could not be kept, a clause each.
std::vector<std::string> take_acls(archive_entry* entry, bool is_readable, Inode& inode);

}  // namespace cffs
