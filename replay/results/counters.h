// What a run cost: requests and bytes of a block device, time of processors, memory.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace cffs::replay {

struct DeviceCounters {
  std::uint64_t reads = 0, read_bytes = 0, writes = 0, written_bytes = 0, flushes = 0;
};
// "259:3" as in /sys/dev/block; zeros where it cannot be read.
DeviceCounters device_counters(const std::string& device);

// The process that has a store open, by its lock; 0: none is known.
pid_t holder_of_store(const std::string& store);

// User and system time that a process has used up; 0 where it is not there.
double cpu_seconds(pid_t process);
double own_cpu_seconds();  // this process, all its threads, and the children that it waited for
std::uint64_t resident_bytes(pid_t process);
std::uint64_t peak_resident_bytes(pid_t process);

// Counts between its beginning and finish(): metrics by name, device requests and the daemon's memory over time.
class Meter {
 public:
  // `device` and `daemon` may be missing: empty, 0.
  Meter(std::string device, pid_t daemon);
  ~Meter();
  void finish(std::map<std::string, double>& metrics, std::map<std::string, std::vector<double>>& timeline);

 private:
  void sample();

  const std::string device_;
  const pid_t daemon_;
  DeviceCounters before_;
  double own_cpu_ = 0, daemon_cpu_ = 0;
  std::atomic<bool> over_{false};
  std::vector<double> reads_, writes_, resident_;
  std::thread sampler_;
};

}  // namespace cffs::replay
