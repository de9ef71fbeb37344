#include "replay/results/counters.h"

#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "core/backend/store_at.h"
#include "replay/results/run.h"

namespace cffs::replay {
namespace {

constexpr std::uint64_t kSector = 512;

std::uint64_t status_bytes(pid_t process, const std::string& field) {
  std::ifstream in("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(field)) return std::strtoull(line.c_str() + field.size(), nullptr, 10) * 1024;
  }
  return 0;
}

}  // namespace

DeviceCounters device_counters(const std::string& device) {
  DeviceCounters c;
  if (device.empty()) return c;
  std::ifstream in("/sys/dev/block/" + device + "/stat");
  std::uint64_t read_merges = 0, read_ticks = 0, write_merges = 0, write_ticks = 0, skip = 0;
  in >> c.reads >> read_merges >> c.read_bytes >> read_ticks >> c.writes >> write_merges >> c.written_bytes >>
      write_ticks;
  for (int i = 0; i < 7; ++i)
    in >> skip;  // in flight, busy, weighted; discards and their merges, sectors, ticks
  in >> c.flushes;
  c.read_bytes *= kSector;
  c.written_bytes *= kSector;
  return c;
}

pid_t holder_of_store(const std::string& store) {
  std::istringstream lock(store_owner_text(store));
  std::string word;
  pid_t pid = 0;
  lock >> word >> pid;
  return pid;
}

double cpu_seconds(pid_t process) {
  std::ifstream in("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  std::getline(in, line);
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream words(line.substr(name_end + 1));
  std::string word;
  for (int i = 0; i < 11; ++i) words >> word;
  double user = 0, system = 0;
  words >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double own_cpu_seconds() {
  rusage own, ended;
  if (::getrusage(RUSAGE_SELF, &own) != 0 || ::getrusage(RUSAGE_CHILDREN, &ended) != 0) return 0;
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(own.ru_utime) + seconds(own.ru_stime) + seconds(ended.ru_utime) + seconds(ended.ru_stime);
}

std::uint64_t resident_bytes(pid_t process) { return status_bytes(process, "VmRSS:"); }
std::uint64_t peak_resident_bytes(pid_t process) { return status_bytes(process, "VmHWM:"); }

Meter::Meter(std::string device, pid_t daemon)
    : device_(std::move(device)),
      daemon_(daemon),
      before_(device_counters(device_)),
      own_cpu_(own_cpu_seconds()),
      daemon_cpu_(daemon > 0 ? cpu_seconds(daemon) : 0) {
  if (!device_.empty()) sampler_ = std::thread([this] { sample(); });
}

Meter::~Meter() {
  over_.store(true);
  if (sampler_.joinable()) sampler_.join();
}

void Meter::sample() {
  const auto start = std::chrono::steady_clock::now();
  DeviceCounters last = before_;
  for (int slice = 1; !over_.load(); ++slice) {
    std::this_thread::sleep_until(start + std::chrono::milliseconds(slice * Run::kSliceMs));
    if (over_.load()) break;
    const DeviceCounters now = device_counters(device_);
    reads_.push_back(static_cast<double>(now.reads - last.reads));
    writes_.push_back(static_cast<double>(now.writes - last.writes));
    if (daemon_ > 0) resident_.push_back(static_cast<double>(resident_bytes(daemon_)));
    last = now;
  }
}

void Meter::finish(std::map<std::string, double>& metrics,
                   std::map<std::string, std::vector<double>>& timeline) {
  over_.store(true);
  metrics["client_cpu_s"] = own_cpu_seconds() - own_cpu_;
  if (daemon_ > 0) {
    metrics["daemon_cpu_s"] = cpu_seconds(daemon_) - daemon_cpu_;
    metrics["daemon_resident_bytes"] = static_cast<double>(resident_bytes(daemon_));
    metrics["daemon_peak_bytes"] = static_cast<double>(peak_resident_bytes(daemon_));
  }
  if (device_.empty()) return;
  const DeviceCounters now = device_counters(device_);
  if (sampler_.joinable()) sampler_.join();
  metrics["device_reads"] = static_cast<double>(now.reads - before_.reads);
  metrics["device_read_bytes"] = static_cast<double>(now.read_bytes - before_.read_bytes);
  metrics["device_writes"] = static_cast<double>(now.writes - before_.writes);
  metrics["device_written_bytes"] = static_cast<double>(now.written_bytes - before_.written_bytes);
  metrics["device_flushes"] = static_cast<double>(now.flushes - before_.flushes);
  timeline["device_reads"] = reads_;
  timeline["device_writes"] = writes_;
  if (daemon_ > 0) timeline["daemon_resident_bytes"] = resident_;
}

}  // namespace cffs::replay
