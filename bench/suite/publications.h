// What the publications say of their systems, as ratios to a rival, and which benchmarks here give the same ratio.
//
// A figure of a paper cannot be compared with one that was measured on another machine two decades later; how much faster one system is
// than another, at the same work on the same machine, can. So each headline is a ratio of times: a rival's by the system's own, above 1
// where the system is faster.
#pragma once

#include <string>
#include <vector>

#include "bench/suite/session.h"

namespace cffs::bench {

// A benchmark with what it is run on.
struct Step {
  std::string benchmark, disk;
  std::uint64_t memory_bytes = 0;  // of the small size; 0: no limit
  std::vector<std::string> targets;
  std::map<std::string, std::string> parameters;  // of the small size
  std::map<std::string, std::string> given;       // of the small and the published size
  bool sync = false;                              // a phase ends when all of it is on the disk
};

struct Headline {
  std::string figure, says;
  double from = 0, to = 0;          // the published ratio; 0: open to that side
  std::size_t step = 0;             // index into the publication's steps
  std::vector<std::string> phases;  // whose times are added up, by the names of the small size
  std::string target, rival;
};

struct Publication {
  std::string name, title;
  std::vector<Step> steps;
  std::vector<Headline> headlines;
};

// `site`: a directory of HTML for the web server; empty: its documents are made up.
std::vector<Publication> publications(const std::string& site = "");
// The options that the step is run with; work, results and rounds are the caller's.
SessionOptions options_of(const Step& step, Size size);

}  // namespace cffs::bench
