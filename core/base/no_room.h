// Whether an errno says that there is no room: on the medium, or left of the quota of who owns the store. What is done
// about the one has to be done about the other.
#pragma once

#include <cerrno>

namespace cffs {

inline bool is_no_room(int errno_value) { return errno_value == ENOSPC || errno_value == EDQUOT; }

}  // namespace cffs
