#include "fusefs/process_numbers.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

namespace cffs {
namespace {

// Without "." and "..".
std::uint64_t entries_of(const char* directory) {
  const std::unique_ptr<DIR, int (*)(DIR*)> opened(::opendir(directory), &::closedir);
  std::uint64_t n = 0;
  while (opened && ::readdir(opened.get()) != nullptr) ++n;
  return n > 2 ? n - 2 : 0;
}

double seconds_of(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
}

}  // namespace

ProcessNumbers process_numbers() {
  ProcessNumbers p;
  if (std::FILE* const file = std::fopen("/proc/self/statm", "re")) {
    unsigned long pages = 0, resident = 0;
    if (std::fscanf(file, "%lu %lu", &pages, &resident) == 2) {
      const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
      p.virtual_bytes = pages * page;
      p.resident_bytes = resident * page;
    }
    (void)std::fclose(file);
  }
  const std::uint64_t open = entries_of("/proc/self/fd");
  p.descriptors = open > 0 ? open - 1 : 0;  // without the one that looked
  p.threads = entries_of("/proc/self/task");
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) p.most_descriptors = limit.rlim_cur;
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0)
    p.cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  return p;
}

}  // namespace cffs
