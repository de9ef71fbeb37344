// Depth-first visit of a directory tree in a store, for exports.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "core/fs/file_system.h"
#include "core/transfer/import_rules.h"

namespace cffs {

struct VisitedFile {
  std::string path;  // relative to where the visit began; "" is the start itself
  Attributes attributes;
};

// Which files.
struct VisitChoice {
  const Excludes* excludes = nullptr;  // of paths from the start on
  // Whether to go below a directory that was entered; where not, it is not left either. None: below all.
  std::function<bool(const VisitedFile&)> descend;
  // All names in it that are not left out, before they are visited.
  std::function<void(const VisitedFile& directory, const std::set<std::string, std::less<>>& names)> listed;
};

// enter(file) for every file before its children; leave(directory) after them. Errors of either end the
// visit. So does a directory that is met a second time: rows of a damaged store may lead in a circle.
Status visit_tree(FileSystem& fs, const Attributes& start,
                  const std::function<Status(const VisitedFile&)>& enter,
                  const std::function<Status(const VisitedFile&)>& leave, const VisitChoice& choice = {});

// All data of a file, from data to data: holes are skipped.
Status visit_data(FileSystem& fs, const Attributes& file,
                  const std::function<Status(std::uint64_t offset, std::string_view bytes)>& write);

}  // namespace cffs
