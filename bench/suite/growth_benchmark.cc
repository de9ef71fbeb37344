// A tree that grows: what making a file, knowing it, mounting and finding one cost when there are ten, a hundred, a thousand times
// as many.
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <memory>
#include <random>

#include "bench/suite/session.h"
#include "replay/results/counters.h"

namespace cffs::bench {
namespace {

// Nothing is held for each file: a hundred million names would be gigabytes of the process that is measured.
std::string directory_of(std::uint64_t file, std::uint64_t each) {
  return fmt::format("d{:06}", file / each);
}
std::string path_of(std::uint64_t file, std::uint64_t each) {
  return fmt::format("d{:06}/f{:06}", file / each, file % each);
}

// The process that holds the files: the daemon, or this one with the library.
pid_t holder(const Rig& rig) {
  if (rig.daemon() != 0) return rig.daemon();
  return rig.has_directory() ? 0 : ::getpid();
}

void note_state(Phase& phase, const Rig& rig, std::uint64_t files) {
  phase.note("files", static_cast<double>(files));
  if (const pid_t process = holder(rig); process != 0)
    phase.note("resident_bytes", static_cast<double>(replay::resident_bytes(process)));
}

Status make_one(replay::Target& target, Lane& lane, const std::string& path, std::span<const char> data) {
  if (data.empty()) return must(lane.time("mknod", [&] { return target.mknod(path, S_IFREG | 0644); }), path);
  return must(lane.time("create", [&] { return make_file(target, path, data); }), path);
}

Status grow(Session& session, Rig& rig, std::uint64_t from, std::uint64_t to) {
  const std::uint64_t each = std::max<std::uint64_t>(1, session.number("each"));
  const std::string data(session.number("size"), 'x');
  const auto threads = static_cast<unsigned>(std::max<std::uint64_t>(1, session.number("threads")));
  for (std::uint64_t file = (from + each - 1) / each * each; file < to; file += each)
    CFFS_TRY_VOID(must(rig.target().mkdir(directory_of(file, each), 0755), directory_of(file, each)));
  Phase phase(session, rig, fmt::format("create, to {}", to));
  for (unsigned t = 0; t < threads; ++t) (void)phase.lane(t);
  CFFS_TRY_VOID(in_parallel(threads, [&](unsigned t) -> Status {
    for (std::uint64_t file = from + t; file < to; file += threads) {
      CFFS_TRY_VOID(make_one(rig.target(), phase.lane(t), path_of(file, each), data));
      if (file % 8192 == 0) session.progress({rig.name() + ": create", file, to, "files"});
    }
    return {};
  }));
  note_state(phase, rig, to);
  phase.finish();
  return {};
}

// Files at random, of which nothing is in memory.
Status find_some(Session& session, Rig& rig, std::uint64_t files) {
  CFFS_TRY_VOID(rig.cool());
  const std::uint64_t each = std::max<std::uint64_t>(1, session.number("each"));
  std::mt19937_64 random(session.seed());
  Phase phase(session, rig, fmt::format("stat, of {}", files));
  if (rig.last_mount_s() > 0) phase.note("mount_s", rig.last_mount_s());
  for (std::uint64_t n = session.number("queries"); n > 0; --n) {
    const std::string path = path_of(random() % files, each);
    replay::FileFacts facts;
    CFFS_TRY_VOID(
        must(phase.lane().time("stat", [&] { return rig.target().stat(path, true, facts); }), path));
  }
  note_state(phase, rig, files);
  phase.finish();
  return {};
}

// One directory, and when a listing of it begins.
Status list_wide(Session& session, Rig& rig) {
  const std::uint64_t wide = session.number("wide");
  if (wide == 0 || !rig.has_directory()) return {};
  CFFS_TRY_VOID(must(rig.target().mkdir("wide", 0755), "wide"));
  {
    Phase phase(session, rig, fmt::format("create, {} in one directory", wide));
    for (std::uint64_t i = 0; i < wide; ++i) {
      CFFS_TRY_VOID(make_one(rig.target(), phase.lane(), fmt::format("wide/f{:08}", i), {}));
      if (i % 8192 == 0) session.progress({rig.name() + ": one directory", i, wide, "files"});
    }
    phase.finish();
  }
  CFFS_TRY_VOID(rig.cool());
  Phase phase(session, rig, fmt::format("list {} in one directory", wide));
  const std::string path = rig.directory() + "/wide";
  const std::int64_t start = Lane::now();
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(path.c_str()), &::closedir);
  if (!listing) return fail(errno, path);
  std::uint64_t entries = 0;
  for (errno = 0; ::readdir(listing.get()) != nullptr; ++entries) {
    if (entries == 0) phase.note("first_entry_s", static_cast<double>(Lane::now() - start) / 1e9);
  }
  if (errno != 0) return fail(errno, path);
  constexpr std::uint64_t kDots = 2;
  if (entries != wide + kDots)
    return fail(Error::usage(fmt::format("{}: {} entries listed, {} made", path, entries, wide + kDots)));
  note_state(phase, rig, wide);
  phase.finish(entries);
  return {};
}

Status run_growth(Session& session, Rig& rig) {
  const std::uint64_t files = session.number("files");
  std::uint64_t made = 0;
  for (const std::uint64_t share : {100u, 10u, 1u}) {
    const std::uint64_t to = std::max<std::uint64_t>(1, files / share);
    if (to == made) continue;
    CFFS_TRY_VOID(grow(session, rig, made, to));
    CFFS_TRY_VOID(find_some(session, rig, to));
    made = to;
  }
  return list_wide(session, rig);
}

// What the phases noted, a line each.
void print_growth(const Session& session) {
  fmt::print("\n{:<14} {:<30} {:>12} {:>10} {:>12} {:>14}\n", "target", "phase", "ops/s", "mount ms",
             "resident MB", "first entry ms");
  for (const replay::Run& run : session.runs()) {
    const auto shown = [&](const char* metric, double unit) {
      const auto it = run.metrics.find(metric);
      return it == run.metrics.end() ? std::string("-") : fmt::format("{:.1f}", it->second / unit);
    };
    fmt::print("{:<14} {:<30} {:>12.0f} {:>10} {:>12} {:>14}\n", run.target, run.phase, run.rate(),
               shown("mount_s", 1e-3), shown("resident_bytes", 1e6), shown("first_entry_s", 1e-3));
  }
}

}  // namespace

std::vector<Benchmark> growth_benchmarks() {
  Benchmark b;
  b.name = "growth";
  b.title =
      "a tree that grows a hundredfold: creates, memory, mount, cold stat at random; one wide directory";
  b.source = "everyday work";
  b.parameters = {{"files", "how many at the end", "1000", "200000", "10000000"},
                  {"each", "files in each directory", "50", "1000", "1000"},
                  {"size", "bytes of each file", "0", "0", "0"},
                  {"queries", "files looked at, each time", "100", "2000", "10000"},
                  {"wide", "files in one directory; 0: none", "500", "100000", "1000000"},
                  {"threads", "clients at a time", "1", "1", "1"}};
  b.targets = {"ext4", "directory"};
  b.run = run_growth;
  b.summary = print_growth;
  return {b};
}

}  // namespace cffs::bench
