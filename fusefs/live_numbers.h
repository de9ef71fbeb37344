// What a mount does just now, for people and programs (`cffs stats`) and for Prometheus (`--metrics`): docs/OBSERVING.md says what each
// number means.
//
// Made of counters and of sizes that are kept anyway: nothing is scanned, no device waited for, nothing asked of the mount itself.
// Thread safety: everything.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "core/fs/file_system.h"
#include "fusefs/daemon_log.h"
#include "fusefs/request_counts.h"

namespace cffs {

class LiveNumbers {
 public:
  // `over_ring`: how requests come.
  LiveNumbers(FileSystem& fs, const RequestCounts& requests, const DaemonLog& log,
              const std::atomic<bool>& over_ring);

  // At most so many bytes: where there are more, latencies are told in wider buckets.
  std::string json(std::size_t most) const;
  // In Prometheus's text format.
  std::string exposition() const;

 private:
  FileSystem& fs_;
  const RequestCounts& requests_;
  const DaemonLog& log_;
  const std::atomic<bool>& over_ring_;
  const std::int64_t began_ns_, began_steady_ns_;
};

}  // namespace cffs
