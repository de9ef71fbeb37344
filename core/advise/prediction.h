// What a store of a surveyed tree would take, and how fast it would be read: a model, held against real stores in docs/ADVISE.md.
//
// Counts come from the outline of an import, what compression gives from packed samples, times from constants that were measured
// (docs/PERFORMANCE.md, docs/ADVISE.md) and a disk's model: requests and bytes of the device, and FUSE's cost of each file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/advise/content_sample.h"
#include "core/advise/disk.h"
#include "core/advise/duplicates.h"
#include "core/advise/import_outline.h"
#include "core/advise/import_trial.h"

namespace cffs {

// One way to keep the tree.
struct StorePrediction {
  std::string name;         // "tablefs" (policy none), "plain", "lz4", "zstd:3"
  std::string compression;  // as --compress
  ImportOutline outline;
  std::uint64_t stored_bytes = 0;  // of the composites' objects
  double share = 1;                // of the composites' bytes
  double uncertainty = 0;          // standard error of that share
  std::uint64_t table_bytes = 0, rows = 0;
  std::uint64_t objects = 0, inodes = 0;  // of the file system below; inodes: folders too
  std::uint64_t object_bytes = 0;
  std::uint64_t reserve_bytes = 0;  // that a store keeps free for itself, beside those
  double import_s = 0;              // of what is in memory, on this machine
  double unpack_seconds_a_byte =
      0;                // of one processor, for composites' plain bytes; 0 where they are not compressed
  double unpack_s = 0;  // of all of them
  std::uint64_t daemon_bytes = 0;  // when the kernel knows all of it

  // What object_bytes would be with --dedupe: as if what is there twice shrank as all does.
  std::uint64_t bytes_deduped(const Duplicates& duplicates) const;
};

inline constexpr double kRandomShare = 0.03;

struct ReadPrediction {
  double sweep_s = 0;          // everything once, by name, cold, one reader
  double random_files_s = 0;   // single files of chance, cold, one reader: so many a second
  std::uint64_t requests = 0;  // of the device, in the sweep
};
struct DiskPrediction {
  Disk disk;
  ReadPrediction directory;            // the tree as it is
  std::vector<ReadPrediction> stores;  // in the order of Prediction::stores
};

struct Prediction {
  std::vector<StorePrediction> stores;
  std::vector<DiskPrediction> disks;
  unsigned processors = 1;

  const StorePrediction* store(std::string_view name) const;
  const DiskPrediction* disk(std::string_view name) const;
  // How many times as fast as the directory.
  double sweep_gain(const DiskPrediction& on, const StorePrediction& of) const;
  double random_gain(const DiskPrediction& on, const StorePrediction& of) const;
};

// `paces`: those that are known.
Prediction predict(const TreeSurvey& survey, const ContentSample& sample,
                   const std::vector<ImportPace>& paces, const std::vector<Disk>& disks, unsigned processors);

}  // namespace cffs
