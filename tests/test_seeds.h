// Seeds for randomised tests: fixed ones by default; CFFS_TEST_SEED=n runs that one alone, CFFS_TEST_SEEDS=k
// the first k in place of the default number. A failing test prints its seed.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <vector>

namespace cffs::test {

inline std::vector<std::uint64_t> seeds(std::uint64_t default_count) {
  if (const char* one = std::getenv("CFFS_TEST_SEED")) return {std::strtoull(one, nullptr, 10)};
  if (const char* count = std::getenv("CFFS_TEST_SEEDS")) default_count = std::strtoull(count, nullptr, 10);
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = 1; i <= default_count; ++i) all.push_back(i);
  return all;
}

}  // namespace cffs::test
