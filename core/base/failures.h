// What of many things failed: all are counted, the first are told of.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cffs {

struct Failures {
  std::uint64_t failed = 0;
  std::vector<std::string> problems;  // of the first, a sentence each

  // One sentence for `n` things.
  void fail(std::string problem, std::uint64_t n = 1) {
    constexpr std::size_t kMostProblems = 20;
    failed += n;
    if (problems.size() < kMostProblems) problems.push_back(std::move(problem));
  }
};

}  // namespace cffs
