#include "bench/suite/publications.h"

namespace cffs::bench {
namespace {

// Ren and Gibson: one disk of 2009, memory limited where the figure says so. TableFS is policy none.
Publication tablefs() {
  constexpr std::uint64_t kLittle = 96u << 20;
  return {
      "tablefs",
      "Ren, Gibson: TableFS, technical report CMU-PDL-12-110",
      {
          {"source-tree", "hdd", 0, {"ext4", "xfs", "none", "directory"}, {}, {}},
          {"create", "raw", 0, {"library", "predict", "none"}, {{"sleep-ms", "0"}}, {}},
          {"metadata", "hdd", kLittle, {"ext4", "xfs", "none", "directory", "predict"}, {}, {}},
          {"small-files", "hdd", kLittle, {"ext4", "xfs", "none", "directory"}, {{"queries", "2000"}}, {}},
          {"readdir", "hdd", kLittle, {"ext4", "xfs", "none", "directory"}, {{"queries", "500"}}, {}},
          {"postmark",
           "hdd",
           kLittle,
           {"ext4", "xfs", "none", "directory"},
           {{"files", "2000"}, {"transactions", "2000"}},
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
          {"11", "the same against XFS", 1.5, 10, 2, {"query 50 % reads"}, "none", "xfs"},
          {"14", "creates of 512 bytes, slower than XFS", 0, 1, 3, {"create"}, "none", "xfs"},
          {"15", "queries of 512 bytes, 10 % reads", 2, 0, 3, {"query 10 % reads"}, "none", "ext4"},
          {"15", "50 % reads", 2, 0, 3, {"query 50 % reads"}, "none", "ext4"},
          {"15", "90 % reads", 2, 0, 3, {"query 90 % reads"}, "none", "ext4"},
          {"16", "listings, slower than XFS", 0, 1, 4, {"readdir"}, "none", "xfs"},
          {"18", "listings with attributes", 1, 0, 4, {"readdir and stat"}, "none", "ext4"},
          {"19", "Postmark, 23 % less time", 1.3, 0, 5, {"create", "transactions", "delete"}, "none", "ext4"},
          {"20", "its transactions", 1, 0, 5, {"transactions"}, "none", "ext4"},
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

// Wang, Brandt, Miller and Long, whose store was no file system: here policy directory on ext4, each write with an fsync of its own.
Publication obfs() {
  return {
      "obfs",
      "Wang, Brandt, Miller, Long: OBFS, MSST'04",
      {
          {"obfs-micro",
           "hdd",
           0,
           {"ext2", "ext3", "ext4", "xfs", "directory"},
           {{"requests", "50"}, {"aging", "100"}, {"utilization", "50"}},
           {}},
      },
      {
          {"4 (b)", "writes against ext2", 2, 0, 0, {"files: mixed write at 50 %"}, "directory", "ext2"},
          {"4 (b)", "writes against XFS", 1.1, 1.2, 0, {"files: mixed write at 50 %"}, "directory", "xfs"},
          {"4 (a)", "reads against ext2", 3, 0, 0, {"files: mixed read at 50 %"}, "directory", "ext2"},
          {"4 (a)", "reads against XFS", 0.9, 0, 0, {"files: mixed read at 50 %"}, "directory", "xfs"},
          {"4 (c)", "rewrites against ext2", 3, 0, 0, {"files: mixed rewrite at 50 %"}, "directory", "ext2"},
          {"4 (c)",
           "rewrites against XFS",
           1.2,
           1.3,
           0,
           {"files: mixed rewrite at 50 %"},
           "directory",
           "xfs"},
      }};
}

}  // namespace

std::vector<Publication> publications(const std::string& site) {
  return {tablefs(), composite_files(site), obfs()};
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
