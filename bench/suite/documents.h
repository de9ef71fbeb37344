// The documents of a tree, each with what it embeds: what a browser asks for when somebody opens a page, or a compiler.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/suite/source_tree.h"

namespace cffs::bench {

// Numbers of files, the document first.
using Visit = std::vector<std::uint32_t>;

// Of the files below a directory. Documents that embed nothing of them are left out, unless `alone`: then all files that are HTML by
// their name are there.
std::vector<Visit> visits_of(const std::string& directory, const std::vector<SourceFile>& files, bool alone);

}  // namespace cffs::bench
