// A memory cgroup around this process and what it starts from now on; page cache counts as memory there.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/error.h"

namespace cffs::bench {

class MemoryLimit {
 public:
  // 0: no limit. Needs root and a memory controller (cgroup v1 or v2).
  static Result<std::unique_ptr<MemoryLimit>> set(std::uint64_t bytes);
  ~MemoryLimit();
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;
  // Takes another process out of it.
  void exempt(pid_t process) const;

 private:
  MemoryLimit(std::string above, std::string group) : above_(std::move(above)), group_(std::move(group)) {}
  const std::string above_, group_;
};

}  // namespace cffs::bench
