// Runs a benchmark in a process of its own, and takes down whatever it leaves, also when it is killed.
#pragma once

#include <functional>
#include <string>

namespace cffs::bench {

// `work` runs in a child, whose exit status is returned (128 + signal where one ended it). Afterwards nothing is mounted
// below `directory` any more, and it is gone where this call made it. Ctrl-C ends the child; this process cleans up.
int run_supervised(const std::string& directory, bool remove_directory, const std::function<int()>& work);

}  // namespace cffs::bench
