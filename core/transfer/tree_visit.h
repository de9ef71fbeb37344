// Depth-first visit of a directory tree in a store, for exports.
#pragma once

#include <functional>

#include "core/fs/file_system.h"

namespace cffs {

struct VisitedFile {
  std::string path;  // relative to where the visit began; "" is the start itself
  Attributes attributes;
};

// enter(file) for every file before its children; leave(directory) after them. Errors of either end the
// visit. So does a directory that is met a second time: rows of a damaged store may lead in a circle.
Status visit_tree(FileSystem& fs, const Attributes& start,
                  const std::function<Status(const VisitedFile&)>& enter,
                  const std::function<Status(const VisitedFile&)>& leave);

// All data of a file, from data to data: holes are skipped.
Status visit_data(FileSystem& fs, const Attributes& file,
                  const std::function<Status(std::uint64_t offset, std::string_view bytes)>& write);

}  // namespace cffs
