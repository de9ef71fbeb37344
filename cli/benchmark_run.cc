#include "cli/benchmark_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
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

// Each target in each round is a turn; what those took that are done says what the others will, about.
class BenchmarkProgress {
 public:
  void show(const bench::SessionProgress& at) {
    const std::int64_t now_ms = SystemClock().steady_ms();
    if (at.step.what.empty()) return line_.clear();
    if (first_ == 0) {
      first_ = at.turn;
      began_ms_ = now_ms;
    }
    if (at.turn != turn_) turn_began_ms_ = now_ms;
    turn_ = at.turn;
    WorkStep step = at.step;
    if (at.turns > 1) {
      step.what = fmt::format("{} of {}, {}", at.turn, at.turns, step.what);
      if (at.turn > first_) step.aside = left(at, now_ms);
    }
    line_.show(step);
  }

 private:
  std::string left(const bench::SessionProgress& at, std::int64_t now_ms) const {
    const std::int64_t each = (turn_began_ms_ - began_ms_) / static_cast<std::int64_t>(at.turn - first_);
    const std::int64_t due = turn_began_ms_ + each * static_cast<std::int64_t>(at.turns - at.turn + 1);
    if (now_ms >= due) return {};
    return clock_time(static_cast<std::uint64_t>((due - now_ms + 999) / 1000)) + " left in all";
  }

  ProgressLine line_;
  std::int64_t began_ms_ = 0, turn_began_ms_ = 0;
  std::size_t turn_ = 0, first_ = 0;  // those before were run earlier
};

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
  const int code = bench::run_supervised(options.work, [&] {
    BenchmarkProgress progress;
    options.on_progress = [&](const bench::SessionProgress& at) { progress.show(at); };
    bench::Session session(benchmark, options);
    const Status done = session.run();
    return done ? 0 : complain(done.error());
  });
  if (code == 128 + SIGINT || code == 128 + SIGTERM) {
    const std::string kept =
        options.results.empty()
            ? "nothing is kept without --results"
            : fmt::format("{} has the targets that were done; the same command with --resume goes on",
                          options.results);
    if (::isatty(STDERR_FILENO) == 1) std::fprintf(stderr, "\r\033[K");  // the line of progress
    say(fmt::format("interrupted; its images and mounts are gone, {}", kept));
  }
  return code;
}

}  // namespace cffs::cli
