// What a tree in a store takes, counted as du(1) counts it on a mount of it: blocks of each file, the directories' own among them, a
// file with several names once. What composites really take is `cffs stat --by-directory`.
#pragma once

#include <functional>
#include <string>
#include <unordered_set>

#include "core/fs/file_system.h"

namespace cffs {

struct DiskUsageOptions {
  bool apparent = false;  // sizes, not blocks
  bool all_files = false;
  unsigned depth = ~0u;  // lines for directories down to there
  // Each line, a directory behind what is in it; `below` is relative to the start.
  std::function<void(const std::string& below, std::uint64_t bytes)> line;
  std::function<void(const std::string& below, const Error&)> trouble;
};

class DiskUsage {
 public:
  DiskUsage(FileSystem& fs, DiskUsageOptions options) : fs_(fs), options_(std::move(options)) {}
  // Bytes below a file that has a reference, itself included. What an earlier call has counted counts no more.
  Result<std::uint64_t> of(const Attributes& start);

 private:
  FileSystem& fs_;
  const DiskUsageOptions options_;
  std::unordered_set<InodeId> counted_;  // files with several names
};

}  // namespace cffs
