// Sentences of one kind that are told: the first hundred, and how many more there are.
#pragma once

#include <string>
#include <vector>

namespace cffs {

inline std::vector<std::string> first_of(std::vector<std::string> all, const char* of_what) {
  constexpr std::size_t kMostTold = 100;
  if (all.size() <= kMostTold) return all;
  const std::size_t more = all.size() - kMostTold;
  all.resize(kMostTold);
  all.push_back("... and " + std::to_string(more) + " more " + of_what);
  return all;
}

}  // namespace cffs
