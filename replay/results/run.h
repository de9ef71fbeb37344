// One measured run: a workload's phase on one target, once.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "replay/results/latency_histogram.h"

namespace cffs::replay {

struct Run {
  std::string benchmark;  // "replay", "fdtree", ...
  std::string
      workload;  // which trace, which size: runs are compared where benchmark, workload and phase are equal
  std::string phase;           // "create", "query 50%", ...; empty where there is only one
  std::string target;          // "ext4", "directory", ...
  unsigned round = 0;          // counted from 1
  std::int64_t started_s = 0;  // since the epoch
  double seconds = 0;
  std::uint64_t operations = 0;
  std::map<std::string, std::string> parameters;
  std::map<std::string, double>
      metrics;  // the unit is the name's end: device_reads, device_read_bytes, client_cpu_s
  std::map<std::string, LatencyHistogram> latencies;    // by call
  std::map<std::string, std::vector<double>> timeline;  // by series; one value each `slice_ms`
  std::map<std::string, std::string> environment;

  static constexpr int kSliceMs = 100;
  double rate() const { return seconds > 0 ? static_cast<double>(operations) / seconds : 0; }
  LatencyHistogram all_latencies() const {
    LatencyHistogram whole;
    for (const auto& [call, histogram] : latencies) whole.merge(histogram);
    return whole;
  }
};

}  // namespace cffs::replay
