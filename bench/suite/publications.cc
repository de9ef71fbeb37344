#include "bench/suite/publications.h"

namespace cffs::bench {
namespace {

constexpr std::uint64_t operator""_MB(unsigned long long n) { return n << 20; }

// Ren and Gibson, two texts: one disk of 2009, less memory than what they work on takes. Of fig. 9 half of their files in their memory, of the
// others a tenth; queries are fewer, since each costs a seek and more of them tell the same. TableFS is policy none.
Publication tablefs() {
  return {
      "tablefs",
      "Ren, Gibson: TableFS, technical report CMU-PDL-12-110",
      {
          {"source-tree", "hdd", 0, {"ext4", "xfs", "none", "directory"}, {}, {}},
          {"create", "raw", 0, {"library", "predict", "none"}, {{"sleep-ms", "0"}}, {}},
          // XFS keeps a million new inodes in memory, and is ended for want of it at 700 MB.
          {"metadata",
           "hdd",
           350_MB,
           {"ext4", "none", "predict"},
           {{"files", "1000000"}, {"queries", "10000"}},
           {}},
          {"metadata", "hdd", 96_MB, {"xfs", "none"}, {}, {}},
          {"small-files",
           "hdd",
           160_MB,
           {"ext4", "xfs", "none"},
           {{"files", "100000"}, {"queries", "1000"}},
           {}},
          {"readdir", "hdd", 160_MB, {"ext4", "xfs", "none"}, {{"files", "100000"}, {"queries", "500"}}, {}},
          {"postmark",
           "hdd",
           160_MB,
           {"ext4", "xfs", "none", "directory"},
           {{"files", "100000"}, {"transactions", "50000"}},
           {},
           true},
      },
      {
          {"5", "untar of a source tree, through FUSE", 0.5, 0.9, 0, {"untar"}, "none", "ext4"},
          {"5", "grep of it", 0.5, 0.9, 0, {"grep"}, "none", "ext4"},
          {"5", "gzip of it", 0.5, 0.9, 0, {"gzip"}, "none", "ext4"},
          {"6", "creates: the library against FUSE", 3, 0, 1, {"create"}, "library", "none"},
          {"9", "creates: predicted for a kernel's file system", 2, 3, 2, {"create"}, "predict", "ext4"},
          {"9", "creates through FUSE, slower than others", 0, 1, 2, {"create"}, "none", "ext4"},
          {"11", "queries, half of them reads", 1.5, 10, 2, {"query 50 % reads"}, "none", "ext4"},
          {"11", "the same against XFS, 50,000 files", 1.5, 10, 3, {"query 50 % reads"}, "none", "xfs"},
          {"14", "creates of 512 bytes, slower than XFS", 0, 1, 4, {"create"}, "none", "xfs"},
          {"15", "queries of 512 bytes, 10 % reads", 2, 0, 4, {"query 10 % reads"}, "none", "ext4"},
          {"15", "50 % reads", 2, 0, 4, {"query 50 % reads"}, "none", "ext4"},
          {"15", "90 % reads", 2, 0, 4, {"query 90 % reads"}, "none", "ext4"},
          {"16", "listings, slower than XFS", 0, 1, 5, {"readdir"}, "none", "xfs"},
          {"18", "listings with attributes", 1, 0, 5, {"readdir and stat"}, "none", "ext4"},
          {"19", "Postmark, 23 % less time", 1.3, 0, 6, {"create", "transactions", "delete"}, "none", "ext4"},
          {"20", "its transactions", 1, 0, 6, {"transactions"}, "none", "ext4"},
          {"19",
           "Postmark, grouped by directory",
           1.3,
           0,
           6,
           {"create", "transactions", "delete"},
           "directory",
           "ext4"},
          {"20", "its transactions", 1, 0, 6, {"transactions"}, "directory", "ext4"},
      }};
}

Publication tablefs_short() {
  const std::vector<std::string> targets{"ext4", "xfs", "btrfs", "none"};
  return {"tablefs-short",
          "Ren, Gibson: TableFS, short paper",
          {
              {"desktop-metadata", "hdd", 160_MB, targets, {{"files", "100000"}, {"queries", "1000"}}, {}},
              {"grid-small-files",
               "hdd",
               160_MB,
               targets,
               {{"files", "100000"}, {"directories", "100"}, {"queries", "1000"}},
               {}},
          },
          {
              {"4",
               "queries of attributes, all reads: as ext4",
               0.8,
               1.25,
               0,
               {"query 100 % reads"},
               "none",
               "ext4"},
              {"4", "half of them reads", 2.5, 3, 0, {"query 50 % reads"}, "none", "ext4"},
              {"4", "the same against XFS", 2.5, 3, 0, {"query 50 % reads"}, "none", "xfs"},
              {"4", "the same against Btrfs", 2.5, 3, 0, {"query 50 % reads"}, "none", "btrfs"},
              {"4", "all changes", 2.5, 3, 0, {"query 0 % reads"}, "none", "ext4"},
              {"7", "queries of 1 KB, half of them reads", 2, 0, 1, {"query 50 % reads"}, "none", "ext4"},
              {"7", "the same against Btrfs", 2, 0, 1, {"query 50 % reads"}, "none", "btrfs"},
              {"7", "creates of 1 KB, slower than ext4", 0, 1, 1, {"create"}, "none", "ext4"},
              {"7", "slower than Btrfs", 0, 1, 1, {"create"}, "none", "btrfs"},
          }};
}

// Zhang, Catanese and Wang, against FUSE on ext4, as theirs was; the targets are policies.
Publication composite_files(const std::string& site) {
  return {"composite-files",
          "Zhang, Catanese, Wang: the Composite-File File System, FAST'16",
          {
              {"web-server",
               "hdd",
               0,
               {"ext4", "passthrough", "directory", "reference", "frequency"},
               {{"threads", "1"}, {"min-files", "1"}},
               site.empty() ? std::map<std::string, std::string>()
                            : std::map<std::string, std::string>{{"site", site}}},
              {"development",
               "hdd",
               0,
               {"ext4", "passthrough", "directory", "reference", "frequency"},
               {{"threads", "1"}},
               {}},
          },
          {
              {"web server",
               "references: 20 % less latency",
               1.25,
               0,
               0,
               {"cold, 1 thread"},
               "reference",
               "passthrough"},
              {"web server",
               "directories: fewer misses",
               1,
               0,
               0,
               {"cold, 1 thread"},
               "directory",
               "passthrough"},
              {"web server",
               "mining, worse than directories",
               0,
               1,
               0,
               {"cold, 1 thread"},
               "frequency",
               "directory"},
              {"development",
               "mining: 27 % less time",
               1.37,
               0,
               1,
               {"cold, 1 thread"},
               "frequency",
               "passthrough"},
              {"development",
               "directories: 17 % less time",
               1.2,
               0,
               1,
               {"cold, 1 thread"},
               "directory",
               "passthrough"},
              {"development",
               "references: as FUSE on ext4",
               1,
               0,
               1,
               {"cold, 1 thread"},
               "reference",
               "passthrough"},
          }};
}

// Wang, Brandt, Miller and Long: the region store alone on the disk, as theirs was; the others keep objects in files of their own, each
// write with an fsync.
Publication obfs() {
  const std::vector<std::string> targets{"ext2", "ext3", "xfs", "regions"};
  return {
      "obfs",
      "Wang, Brandt, Miller, Long: OBFS, MSST'04",
      {
          {"obfs-micro",
           "hdd",
           0,
           targets,
           {{"requests", "100"}, {"aging", "30000"}, {"utilization", "75"}, {"interface", "objects"}},
           {}},
          {"obfs-1",
           "hdd",
           0,
           targets,
           {{"aging", "30000"}, {"utilization", "75"}, {"interface", "objects"}},
           {}},
          {"obfs-2",
           "hdd",
           0,
           targets,
           {{"aging", "30000"}, {"utilization", "75"}, {"interface", "objects"}},
           {}},
      },
      {
          {"4 (a)", "reads against ext2", 3, 0, 0, {"objects: mixed read at 75 %"}, "regions", "ext2"},
          {"4 (a)", "reads against XFS", 0.9, 0, 0, {"objects: mixed read at 75 %"}, "regions", "xfs"},
          {"4 (b)", "writes against ext2", 2, 0, 0, {"objects: mixed write at 75 %"}, "regions", "ext2"},
          {"4 (b)", "writes against XFS", 1.1, 1.2, 0, {"objects: mixed write at 75 %"}, "regions", "xfs"},
          {"4 (c)", "rewrites against ext2", 3, 0, 0, {"objects: mixed rewrite at 75 %"}, "regions", "ext2"},
          {"4 (c)",
           "rewrites against XFS",
           1.2,
           1.3,
           0,
           {"objects: mixed rewrite at 75 %"},
           "regions",
           "xfs"},
          {"7", "Benchmark I against ext3", 2, 3, 1, {"objects: all at 75 %"}, "regions", "ext3"},
          {"7", "Benchmark I against XFS", 0.9, 1.1, 1, {"objects: all at 75 %"}, "regions", "xfs"},
          {"8", "Benchmark II against ext3", 2, 3, 2, {"objects: all at 75 %"}, "regions", "ext3"},
          {"8", "Benchmark II against XFS", 0.9, 1.1, 2, {"objects: all at 75 %"}, "regions", "xfs"},
      }};
}

}  // namespace

std::vector<Publication> publications(const std::string& site) {
  return {tablefs(), tablefs_short(), composite_files(site), obfs()};
}

SessionOptions options_of(const Step& step, Size size) {
  SessionOptions options;
  options.size = size;
  options.targets = step.targets;
  options.sync = step.sync;
  options.disk = size == Size::tiny ? "raw" : step.disk;
  if (size != Size::tiny) options.parameters = step.given;
  if (size == Size::small) {
    options.parameters.insert(step.parameters.begin(), step.parameters.end());
    if (step.memory_bytes != 0) options.memory_bytes = {step.memory_bytes};
  }
  return options;
}

}  // namespace cffs::bench
