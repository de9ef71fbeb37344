// How far a tree's composites would shrink: some of them are made in memory, as an import would make them, and packed by the store's
// own code, frames and dictionary included.
//
// Composites are drawn by where their bytes lie in the import's order, at equal distances from a random start: so each part of a
// tree is looked at by its share of the bytes. A tree that is smaller than the sample may be is packed whole. The estimate is
// corrected by what all files' names say of them: the share of bytes whose extensions stand for formats that are compressed already.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/advise/import_outline.h"
#include "core/packed/compression.h"

namespace cffs {

struct SampleOptions {
  unsigned workers = 2;
  std::uint64_t bytes = 192u << 20;  // that are read, at most
  double seconds =
      4;  // of each worker; composites that were not begun then are left out, but for the first few
  std::uint64_t seed = 0;         // of where the sample begins
  std::vector<Compression> ways;  // to try
  std::function<bool()> go_on = [] { return true; };
  std::function<void(std::uint64_t bytes)> on_progress = [](std::uint64_t) {};
};

// One way to compress, of all composites.
struct PackingEstimate {
  Compression how;
  double share = 1;                  // of the composites' bytes, that is stored
  double uncertainty = 0;            // standard error of that
  double seconds_a_byte = 0;         // of one processor
  double unpack_seconds_a_byte = 0;  // of plain bytes, again; 0: nothing of the sample shrank
};

struct ContentSample {
  std::uint64_t bytes = 0, files = 0;    // that were read
  std::uint64_t composites = 0, of = 0;  // that were packed, in whole or in part, of all there would be
  std::uint64_t unreadable = 0;          // files
  bool whole = false;                    // it was all of them
  std::vector<std::vector<OutlinedFile>> drawn;  // the members of those composites, in an order of chance
  std::vector<PackingEstimate> packings;         // in the order of the ways
  const PackingEstimate* find(Codec codec) const;
};

// `format`: whose composites. EACCES and the like where the root cannot be opened.
Result<ContentSample> sample_content(const TreeSurvey& survey, const StoreFormat& format,
                                     const SampleOptions& options);

// Whether files with this extension (lower case) hold what is compressed already.
bool is_compressed_already(std::string_view extension);

}  // namespace cffs
