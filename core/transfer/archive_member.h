// What an archive says of a member: mode, owner, times, extended attributes. Access control lists: archive_acls.h.
#pragma once

#include "core/table/inode.h"

struct archive_entry;

namespace cffs {

Inode inode_of(archive_entry* entry, bool is_tar);
// Whether its owner and group are numbers that a file here can have; one that is not is nobody's, 65534.
bool holds_owners_of(archive_entry* entry);
// Whether the time of its last change is one that a file here can have; if not, it is the nearest.
bool holds_time_of(archive_entry* entry);

}  // namespace cffs
