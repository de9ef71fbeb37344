// The tree that a trace begins with, made of files alone: the directories above them come with it, parents first.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "replay/trace/trace.h"

namespace cffs::replay {

class InitialFiles {
 public:
  // Of a trace that has no tree yet, and outlives this.
  explicit InitialFiles(Trace& trace) : trace_(trace) {}

  // `path`: relative; `size`: bytes.
  PathId add(const std::string& path, std::uint64_t size);
  // After the last: the tree is whole and in order.
  void finish();

 private:
  Trace& trace_;
  std::set<std::string> directories_;
};

}  // namespace cffs::replay
