#include "bench/rig/memory_limit.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace cffs::bench {
namespace {

bool write_to(const std::string& file, const std::string& text) {
  std::ofstream out(file);
  out << text;
  out.flush();
  return static_cast<bool>(out);
}

}  // namespace

Result<std::unique_ptr<MemoryLimit>> MemoryLimit::set(std::uint64_t bytes) {
  if (bytes == 0) return std::unique_ptr<MemoryLimit>();
  const std::string name = "/cffs-bench-" + std::to_string(::getpid());
  const bool v1 = ::access("/sys/fs/cgroup/memory/memory.limit_in_bytes", F_OK) == 0;
  const std::string above = v1 ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup";
  if (!v1) (void)write_to(above + "/cgroup.subtree_control", "+memory");
  const std::string group = above + name;
  if (::mkdir(group.c_str(), 0755) != 0 && errno != EEXIST) return fail(errno, "memory limit: " + group);
  std::unique_ptr<MemoryLimit> limit(new MemoryLimit(above, group));
  const std::string limit_file = group + (v1 ? "/memory.limit_in_bytes" : "/memory.max");
  if (!write_to(limit_file, std::to_string(bytes)) ||
      !write_to(group + "/cgroup.procs", std::to_string(::getpid()))) {
    return fail(Error::usage("memory cannot be limited: " + limit_file +
                             " cannot be written; it needs root and a memory cgroup"));
  }
  return limit;
}

MemoryLimit::~MemoryLimit() {
  (void)write_to(above_ + "/cgroup.procs", std::to_string(::getpid()));
  constexpr int kTries = 100;
  for (int i = 0; i < kTries && ::rmdir(group_.c_str()) != 0 && errno == EBUSY; ++i) ::usleep(20'000);
}

void MemoryLimit::exempt(pid_t process) const {
  if (process > 0) (void)write_to(above_ + "/cgroup.procs", std::to_string(process));
}

}  // namespace cffs::bench
