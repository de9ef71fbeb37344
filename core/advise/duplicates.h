// How many bytes of a surveyed tree are in it more than once, as whole files: of equal size first, then by what they hold.
//
// Content is read of a bounded number: the sizes whose files have most bytes, then others by chance, which stand for the rest. Of a
// file larger than 1 MiB three pieces are compared, at both ends and in the middle.
#pragma once

#include <cstdint>
#include <functional>

#include "core/advise/tree_survey.h"

namespace cffs {

struct DuplicateOptions {
  unsigned workers = 2;
  std::uint64_t bytes = 128u << 20;  // that are read, at most
  std::uint64_t files = 50'000;      // the same
  double seconds = 2;
  std::uint64_t seed = 0;
  std::function<bool()> go_on = [] { return true; };
  std::function<void(std::uint64_t files)> on_progress = [](std::uint64_t) {};
};

struct Duplicates {
  std::uint64_t candidates = 0, candidate_bytes = 0;  // files that share their size with another
  std::uint64_t compared = 0, compared_bytes = 0;     // of those; bytes: what they hold, not what was read
  std::uint64_t files = 0, bytes = 0;                 // that are there already as another file: an estimate
  // Of those, what a store that dedupes would share: of small files that are long enough. Bytes; an estimate.
  std::uint64_t shared_bytes = 0;
  bool whole = false;  // all candidates were compared
};

Result<Duplicates> find_duplicates(const TreeSurvey& survey, const DuplicateOptions& options);

}  // namespace cffs
