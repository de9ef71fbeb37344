// How tests make and open a store: nothing happens by itself, and twice the same gives the same.
#pragma once

#include "core/fs/file_system_options.h"
#include "core/fs/store_format.h"

namespace cffs::test {

// Fewer than any operation uses: inodes fall asleep as soon as they can, and are woken all the time.
inline constexpr std::size_t kSleepy = 2;

inline FileSystemOptions quiet() {
  FileSystemOptions options;
  options.background = false;
  options.nameless_bytes = 5000;  // so that some content of files without a name is beyond it
  options.values = {
      .after_bytes = 300, .least_bytes = 24, .object_bytes = 5000};  // some in rows, more beside them
  return options;
}

// All file data that waits is in rows of the table: for tests that look at its files.
inline FileSystemOptions all_in_rows() {
  FileSystemOptions options = quiet();
  options.values.after_bytes = ~std::uint64_t{0};
  return options;
}

// With a key for names that is always the same: the order of a directory's entries, and what follows from it, is no matter of
// chance, so a seed reproduces a failure.
inline StoreFormat repeatable(StoreFormat format = {}) {
  format.name_hash =
      NameHash::keyed({'a', 'l', 'w', 'a', 'y', 's', ' ', 't', 'h', 'e', ' ', 's', 'a', 'm', 'e', '.'});
  return format;
}

}  // namespace cffs::test
