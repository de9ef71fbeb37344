// Names below a directory, which may be somebody else's: nothing leads out of it. Symbolic links are not followed, neither at
// the end of a name nor on the way, ".." climbs nowhere, and what is no file makes nobody wait (a FIFO, a device).
//
// One openat2(2) where the kernel has it (Linux 5.6) and nobody forbids it; else one openat(2) for each component. All calls
// from any thread.
#pragma once

#include <string>

#include "core/object/file_descriptor.h"

namespace cffs {

class Beneath {
 public:
  // The directory's descriptor must outlive this.
  explicit Beneath(int directory);

  // As openat(2), O_NONBLOCK added; errno is set where the result is none: ELOOP for a symbolic link, EXDEV for a way out.
  FileDescriptor open(const std::string& name, int flags) const;
  // As their namesakes: of the last component nothing is followed, and the folder above it is opened as open() does.
  bool unlink(const std::string& name) const;
  bool rename(const std::string& from, const std::string& to) const;
  bool make_folder(const std::string& name) const;
  bool exists(const std::string& name) const;

 private:
  class Place;
  const int directory_;
  const bool has_openat2_;
};

// What open() does without openat2.
FileDescriptor open_by_components(int directory, const std::string& name, int flags);

}  // namespace cffs
