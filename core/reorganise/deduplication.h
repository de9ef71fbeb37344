// Has the members that a store has share what is the same of them (docs/DEDUPLICATION.md). What is written from now on shares by itself:
// this is for what was there before. Files keep their numbers, names and times. May be stopped between two batches, and run again.
#pragma once

#include "core/reorganise/regrouping.h"

namespace cffs {

class Deduplication {
 public:
  Deduplication(Reorganiser& reorganiser, const RegroupOptions& options)
      : reorganiser_(reorganiser),
        fs_(reorganiser.fs()),
        options_(options),
        twins_(fs_.table(), fs_.composites()) {}

  struct Done {
    std::uint64_t files = 0, bytes = 0;  // that share from now on what others have
    bool stopped = false;
  };
  // A file that changes meanwhile, or cannot be read, stays as it is.
  Result<Done> run();

 private:
  bool stopped() const { return options_.stop != nullptr && options_.stop->load(); }
  Status look(const EntryName& at, InodeId ino);
  Status offer(const FileToMove& file);
  Status share();

  Reorganiser& reorganiser_;
  FileSystem& fs_;
  const RegroupOptions& options_;
  const TwinSearch twins_;
  std::vector<FileToMove> files_;  // whose twins are known
  Done done_;
};

}  // namespace cffs
