// One benchmark from the command line: in a process of its own, in a directory of its own.
#pragma once

#include "bench/suite/session.h"

namespace cffs::cli {

// Says what it is, runs it, takes down whatever is left. `options.work`: where its directory is made; empty: in TMPDIR. Returns the exit
// status.
Result<int> run_benchmark(const bench::Benchmark& benchmark, bench::SessionOptions options);

}  // namespace cffs::cli
