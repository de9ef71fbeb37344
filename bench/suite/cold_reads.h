// Reading cold what a target holds: files in pieces that several readers take, and a tree as it is listed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bench/suite/source_tree.h"

namespace cffs::bench {

// Numbers of files that are read one after the other by whoever takes the piece.
using Piece = std::vector<std::uint32_t>;

// A share of the files (0 to 1, one at least), each a piece, in an order that the seed gives.
std::vector<Piece> at_random(std::size_t files, double share, std::uint64_t seed);

// Figures that are stored with a phase.
using Notes = std::map<std::string, double>;

// One phase, "WHAT, N threads": pieces read by several threads, each taking the next that nobody has. A file that has not the size
// that it should have is an error.
Status read_pieces(Session& session, Rig& rig, const std::string& what, unsigned threads,
                   const std::vector<SourceFile>& files, const std::vector<Piece>& pieces,
                   const Notes& notes = {});

// One phase, as tar, cp and grep -r go through a tree: a directory is listed, then each entry looked at, and read where it is a file.
Status sweep_as_listed(Session& session, Rig& rig, std::uint64_t files, const Notes& notes = {});

}  // namespace cffs::bench
