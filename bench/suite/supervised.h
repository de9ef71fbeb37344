// Runs a benchmark in a process of its own, and takes down whatever it leaves, also when it is killed.
#pragma once

#include <functional>
#include <string>

namespace cffs::bench {

// `work` runs in a child, whose exit status is returned (128 + signal where one ended it). Afterwards nothing is mounted
// below `directory` any more, processes that name it are ended, and it is gone: it must be the benchmark's alone. Ctrl-C ends
// the child; this process cleans up.
int run_supervised(const std::string& directory, const std::function<int()>& work);

}  // namespace cffs::bench
