// What an archive says of a member: mode, owner, times, extended attributes. Access control lists: archive_acls.h.
#pragma once

#include <cstddef>
#include <string>

#include "core/table/inode.h"

struct archive_entry;

namespace cffs {

// Extended attributes that are longer, or more, than a file can have: a few compressed bytes stand for many.
struct AttributesLeftOut {
  std::size_t count = 0;
  std::string first;     // name of one of them; may be cut
  bool has_acl = false;  // one of them is an access control list
};

Inode inode_of(archive_entry* entry, bool is_tar, AttributesLeftOut& left_out);
// Whether its owner and group are numbers that a file here can have; one that is not is nobody's, 65534.
bool holds_owners_of(archive_entry* entry);
// Whether the time of its last change is one that a file here can have; if not, it is the nearest.
bool holds_time_of(archive_entry* entry);

}  // namespace cffs
