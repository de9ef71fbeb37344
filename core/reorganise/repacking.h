// Packs, or unpacks, the composites that a store has, as it wants them from now on (docs/COMPRESSION.md): their objects are replaced,
// one by one; no row changes. May be stopped between two, and run again.
#pragma once

#include "core/reorganise/regrouping.h"

namespace cffs {

class Repacking {
 public:
  // options.compression is what is wanted; its rate counts plain bytes.
  Repacking(Reorganiser& reorganiser, const RegroupOptions& options)
      : reorganiser_(reorganiser), fs_(reorganiser.fs()), options_(options) {}

  struct Done {
    std::uint64_t composites = 0;  // whose objects were replaced
    bool stopped = false;
  };
  // A composite that is damaged, or is being filled, stays as it is.
  Result<Done> run();

 private:
  bool stopped() const { return options_.stop != nullptr && options_.stop->load(); }

  Reorganiser& reorganiser_;
  FileSystem& fs_;
  const RegroupOptions& options_;
};

}  // namespace cffs
