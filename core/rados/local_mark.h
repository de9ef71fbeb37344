// What shows on this host who has a store in a Ceph pool: a file that its process holds locked, shared by those who look. `cffs umount` waits by it, and finds
// the daemon; the pool's own lock is what counts.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/object/file_descriptor.h"

namespace cffs {

struct RadosAddress;

// Where the file lies: below /run for root, else below XDG_RUNTIME_DIR or /tmp.
std::string local_mark_path(const RadosAddress& address);

// `owner`: the text for the next one; empty: he only looks. Null where none can be made; then nobody waits by it.
FileDescriptor hold_local_mark(const RadosAddress& address, std::string_view owner);

}  // namespace cffs
