// Processes as /proc shows them, for messages that say who. What cannot be seen from here (another user's, another pid
// namespace's) is not listed.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace cffs {

std::vector<pid_t> all_processes();
// "tail -f log"; a long one is cut. Control characters are shown as '?'.
std::string command_of(pid_t process);
// Something of its own below /proc: "ns/mnt", "fd".
std::string of_process(pid_t process, const std::string& what);
// Where a link of /proc leads to, empty where that cannot be read.
std::string target_of(const std::string& link);
std::vector<std::string> names_in(const std::string& directory);

}  // namespace cffs
