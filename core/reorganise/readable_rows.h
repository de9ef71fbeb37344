// The rows of the namespace for whoever moves files: those that can be read. What is in a block that cannot is told by fsck, scrub and
// its own readers; it stays where it is, and keeps nothing else from moving.
#pragma once

#include "core/table/table.h"

namespace cffs {

// Table::scan_namespace() behind what is damaged. Rows are missing then, or are as they were earlier: who moves a file looks again.
inline Status scan_readable(const Table& table, NamespaceVisitor visitor) {
  visitor.damaged = pass_over;
  visitor.past_damage = true;
  const Status done = table.scan_namespace(visitor);
  return !done && done.error().is_damage() ? Status() : done;
}

}  // namespace cffs
