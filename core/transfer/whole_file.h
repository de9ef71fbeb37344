// A file that is there whole, or not at all: it gets its name when it is finished. Whoever is killed before leaves nothing, where the file
// system can have files without names, else one that ends with ".partial".
#pragma once

#include <string>

#include "core/base/error.h"
#include "core/object/file_descriptor.h"

namespace cffs {

class WholeFile {
 public:
  // Replaces what is there when it is finished. What is no regular file (a pipe, a device) is written to as it is.
  static Result<WholeFile> create(const std::string& path);
  WholeFile(WholeFile&&) = default;
  WholeFile& operator=(WholeFile&&) = delete;
  ~WholeFile();

  int fd() const { return fd_.get(); }
  // Durable, and there.
  Status finish();

 private:
  WholeFile() = default;
  std::string path_;     // with links resolved
  std::string partial_;  // its name until then; empty: none
  FileDescriptor fd_;
  bool in_place_ = false;
};

}  // namespace cffs
