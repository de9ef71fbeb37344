// Random operation sequences, run on a subject and on the reference side by side; everything visible is
// compared.
#pragma once

#include <random>

#include "tests/model/surface.h"

namespace cffs::test {

struct SequenceOptions {
  std::uint64_t seed = 1;
  int operations = 2000;
  int compare_every = 200;  // whole trees
  int reopen_every = 0;     // 0: never
  std::uint64_t largest_write = 3000;
  std::uint64_t largest_offset = 6000;
};

// Empty, or what differed: the seed, the operation and both answers.
std::string run_random_operations(Surface& subject, const SequenceOptions& options);

}  // namespace cffs::test
