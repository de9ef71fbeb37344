// What memory this process can have: the machine's, and what the control groups that it is in let it have (cgroups(7), version 1 and 2).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cffs {

// Bytes.
struct GroupMemory {
  std::uint64_t most = 0;
  std::uint64_t held = 0;  // by all who are in it, without page cache

  std::uint64_t left() const { return held < most ? most - held : 0; }
  friend bool operator==(const GroupMemory&, const GroupMemory&) = default;
};

// Of each group that has a limit, the process's own or one above it. `groups`: a text like /proc/self/cgroup; `root`: where the
// groups are mounted. Groups that cannot be seen from here, as in a container, are those at the root.
std::vector<GroupMemory> limited_memory(const std::string& groups,
                                        const std::string& root = "/sys/fs/cgroup");
// The same, of this process.
std::vector<GroupMemory> limited_memory();

// The most memory that this process can have: the machine's, or less where a group says so; 0: nobody can tell.
std::uint64_t most_memory();
// "MemAvailable" of a text like /proc/meminfo, in bytes; nullopt: it does not say.
std::optional<std::uint64_t> available_in(const std::string& meminfo);
// What is available just now of the machine's, or less where a group has less left; nullopt: nobody can tell.
std::optional<std::uint64_t> available_memory();

}  // namespace cffs
