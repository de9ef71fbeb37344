// Reads what lies in a tree that was surveyed, without changing anything of it: no link is followed, nobody is waited for, access
// times stay where the system lets them. Thread safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/object/beneath.h"

namespace cffs {

class SurveyedContent {
 public:
  // The directory's descriptor must outlive this.
  explicit SurveyedContent(int root) : root_(root), beneath_(root) {}

  // As Beneath::open, with O_NOATIME where that is allowed, and for paths that are longer than the kernel takes. "": the root.
  FileDescriptor open(const std::string& path, int flags) const;
  // Bytes of a regular file from `offset`, at most `bytes`; fewer where it ends. nullopt: it is gone, cannot be read, or is none.
  std::optional<std::string> read(const std::string& path, std::uint64_t offset, std::uint64_t bytes) const;

 private:
  const int root_;
  const Beneath beneath_;
};

}  // namespace cffs
