// How tests open a store: nothing happens by itself.
#pragma once

#include "core/fs/file_system_options.h"

namespace cffs::test {

inline FileSystemOptions quiet() {
  FileSystemOptions options;
  options.background = false;
  return options;
}

}  // namespace cffs::test
