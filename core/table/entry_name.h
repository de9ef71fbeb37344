// Where in the namespace an entry is.
#pragma once

#include <string>

#include "core/base/ids.h"

namespace cffs {

struct EntryName {
  InodeId parent;
  std::string name;
  friend bool operator==(const EntryName&, const EntryName&) = default;
};

}  // namespace cffs
