#include "cli/benchmark_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iterator>

#include "bench/suite/supervised.h"
#include "cli/commands.h"

namespace cffs::cli {
namespace {

// A directory of its own for images and mounts, so that taking them down touches nobody else's. `given` empty: in TMPDIR.
Result<std::string> directory_below(const std::string& given) {
  std::error_code error;
  if (!given.empty()) std::filesystem::create_directories(given, error);
  const std::filesystem::path above =
      given.empty() ? std::filesystem::temp_directory_path() : std::filesystem::canonical(given, error);
  if (error) return fail(error.value(), "--work=" + given);
  std::string made = (above / "cffs-bench.XXXXXX").string();
  if (::mkdtemp(made.data()) == nullptr) return fail(errno, made);
  return made;
}

}  // namespace

Result<int> run_benchmark(const bench::Benchmark& benchmark, bench::SessionOptions options) {
  if (::geteuid() != 0) {
    return fail(Error::usage("benchmarks make file systems and drop caches, which needs root"));
  }
  for (auto it = options.parameters.begin(); it != options.parameters.end();)
    it = it->second.empty() ? options.parameters.erase(it) : std::next(it);
  if (!options.results.empty()) options.results = std::filesystem::absolute(options.results).string();
  CFFS_TRY(options.work, directory_below(options.work));
  fmt::print("{}: {}\n  repeats: {}\n", benchmark.name, benchmark.title, benchmark.source);
  for (const bench::Parameter& p : benchmark.parameters) {
    const auto given = options.parameters.find(p.name);
    const std::string value = given != options.parameters.end()    ? given->second
                              : options.size == bench::Size::tiny  ? p.tiny
                              : options.size == bench::Size::paper ? p.paper
                                                                   : p.small;
    if (!value.empty()) fmt::print("  {} = {} ({})\n", p.name, value, p.help);
  }
  fmt::print("\n");
  std::fflush(stdout);
  return bench::run_supervised(options.work, [&] {
    bench::Session session(benchmark, options);
    const Status done = session.run();
    return done ? 0 : complain(done.error());
  });
}

}  // namespace cffs::cli
