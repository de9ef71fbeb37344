// TableFS, report §4.3 to §4.6 and the short paper's §III: create a tree, start cold, query files at random.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <random>

#include "bench/suite/namespace_model.h"
#include "bench/suite/session.h"

namespace cffs::bench {
namespace {

constexpr std::uint64_t kMegabyte = 1u << 20;

struct Shape {
  enum class Names { flat, desktop, grid };
  Names names = Names::flat;
  bool queries = true;
};

NamespaceModel names_of(const Session& session, const Shape& shape) {
  const std::uint64_t files = session.number("files");
  switch (shape.names) {
    case Shape::Names::flat:
      return NamespaceModel::flat(files);
    case Shape::Names::desktop:
      return NamespaceModel::desktop(files, session.seed());
    case Shape::Names::grid:
      break;
  }
  const std::uint64_t directories = std::max<std::uint64_t>(1, session.number("directories"));
  return NamespaceModel::grid(directories, std::max<std::uint64_t>(1, files / directories));
}

Status create_file(replay::Target& target, Lane& lane, const std::string& path, std::span<const char> data) {
  if (data.empty()) return must(lane.time("mknod", [&] { return target.mknod(path, S_IFREG | 0644); }), path);
  return must(lane.time("create", [&] { return make_file(target, path, data); }), path);
}

Status create_all(Session& session, Rig& rig, const NamespaceModel& names, const std::string& phase_name,
                  const std::string& prefix, double sleep_ms) {
  const std::string data(session.number("size"), 'x');  // all files have the same content
  for (const std::string& directory : names.directories)
    CFFS_TRY_VOID(must(rig.target().mkdir(prefix + directory, 0755), directory));
  const auto threads = static_cast<unsigned>(std::max<std::uint64_t>(1, session.number("threads")));
  Phase phase(session, rig, phase_name);
  for (unsigned t = 0; t < threads; ++t) (void)phase.lane(t);
  CFFS_TRY_VOID(in_parallel(threads, [&](unsigned t) -> Status {
    Lane& lane = phase.lane(t);
    for (std::size_t i = t; i < names.count(); i += threads) {
      CFFS_TRY_VOID(create_file(rig.target(), lane, prefix + names.file(i), data));
      constexpr std::size_t kStretch = 1000;
      if (sleep_ms > 0 && i % kStretch == kStretch - 1) {
        std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(sleep_ms));
      }
      if (i % 8192 == 0) session.progress({rig.name() + ": " + phase_name, i, names.count(), "files"});
    }
    return {};
  }));
  phase.finish();
  return {};
}

// One query: reads look at a file, writes change it. Zero-length files have their attributes looked at and changed.
Status query_file(replay::Target& target, Lane& lane, const std::string& path, bool reads, bool first_kind,
                  std::string& data) {
  if (data.empty()) {
    replay::FileFacts facts;
    if (reads) return must(lane.time("stat", [&] { return target.stat(path, true, facts); }), path);
    if (first_kind) return must(lane.time("chmod", [&] { return target.chmod(path, 0600); }), path);
    return must(lane.time("utime", [&] { return target.utimens(path); }), path);
  }
  return must(lane.time(reads ? "read" : "overwrite",
                        [&] {
                          const std::int64_t file = target.open(path, reads ? O_RDONLY : O_WRONLY, 0);
                          if (file < 0) return file;
                          const std::int64_t n =
                              reads ? target.read(file, 0, data) : target.write(file, 0, data);
                          const std::int64_t closed = target.close(file);
                          if (n < 0) return n;
                          return static_cast<std::size_t>(n) < data.size() ? -EIO : closed;
                        }),
              path);
}

Status query_all(Session& session, Rig& rig, const NamespaceModel& names, double read_percent) {
  CFFS_TRY_VOID(rig.cool());
  // Attributes are those of files and of directories, as published; data is files'.
  const std::uint64_t directories = session.number("size") == 0 ? names.directories.size() : 0;
  const std::uint64_t queries = session.number("queries");
  const auto threads = static_cast<unsigned>(std::max<std::uint64_t>(1, session.number("threads")));
  Phase phase(session, rig, fmt::format("query {:g} % reads", read_percent));
  for (unsigned t = 0; t < threads; ++t) (void)phase.lane(t);
  CFFS_TRY_VOID(in_parallel(threads, [&](unsigned t) -> Status {
    std::mt19937_64 random(session.seed() * 1000 + t);
    std::string data(session.number("size"), 'y');
    std::uniform_real_distribution<double> percent(0, 100);
    for (std::uint64_t i = t; i < queries; i += threads) {
      const std::uint64_t which = random() % (names.count() + directories);
      const bool is_file = which < names.count();
      const std::string path = is_file ? names.file(which) : names.directories[which - names.count()];
      const bool reads = percent(random) < read_percent;
      CFFS_TRY_VOID(query_file(rig.target(), phase.lane(t), path, reads, (random() & 1) != 0, data));
    }
    return {};
  }));
  phase.finish();
  return {};
}

Status run(Session& session, Rig& rig, const Shape& shape) {
  const NamespaceModel names = names_of(session, shape);
  CFFS_TRY_VOID(create_all(session, rig, names, "create", "", 0));
  // TABLEFS-Sleep: the library slowed down to the speed of FUSE, which tells compaction from cache effects (§4.3).
  if (const double sleep_ms = session.real("sleep-ms"); sleep_ms > 0 && rig.name().starts_with("library")) {
    CFFS_TRY_VOID(must(rig.target().mkdir("slow", 0755), "slow"));
    CFFS_TRY_VOID(create_all(session, rig, names, "create, slowed", "slow/", sleep_ms));
  }
  if (!shape.queries) return {};
  for (const double reads : session.reals("reads")) CFFS_TRY_VOID(query_all(session, rig, names, reads));
  return {};
}

Benchmark make(const std::string& name, const std::string& title, const std::string& source, Shape shape,
               std::vector<Parameter> parameters, std::vector<std::string> targets,
               std::vector<std::uint64_t> memory) {
  Benchmark b;
  b.name = name;
  b.title = title;
  b.source = source;
  b.parameters = std::move(parameters);
  b.parameters.push_back({"threads", "clients at a time", "1", "1", "1"});
  b.targets = std::move(targets);
  b.run = [shape](Session& session, Rig& rig) { return run(session, rig, shape); };
  b.paper_memory = std::move(memory);
  return b;
}

}  // namespace

std::vector<Benchmark> table_benchmarks() {
  const std::vector<std::string> all{"ext4", "xfs",       "btrfs",   "passthrough",
                                     "none", "directory", "library", "predict"};
  const Parameter sizes{"size", "bytes of each file", "0", "0", "0"};
  std::vector<Benchmark> list;
  list.push_back(
      make("create", "zero-length files in one directory, by FUSE, library and predict",
           "TableFS report, Fig. 6-8 (700 MB memory)", {Shape::Names::flat, false},
           {{"files", "how many", "300", "100000", "1000000"},
            sizes,
            {"sleep-ms", "library, once more with this sleep every 1000 files; 0: not", "1", "40", "150"}},
           {"none", "library", "predict"}, {700 * kMegabyte}));
  list.push_back(make(
      "metadata", "zero-length files in one directory: create, then stat, chmod and utime at random, cold",
      "TableFS report, Fig. 9-12 (350, 700, 1500 MB memory)", {},
      {{"files", "how many", "300", "50000", "2000000"},
       sizes,
       {"queries", "how many", "200", "25000", "1000000"},
       {"reads", "percentages of queries that read", "50", "50", "50"}},
      all, {350 * kMegabyte, 700 * kMegabyte, 1500 * kMegabyte}));
  list.push_back(make("large-directory", "zero-length files in one directory: throughput over time",
                      "TableFS report, Fig. 13 (100 million files)", {Shape::Names::flat, false},
                      {{"files", "how many", "500", "200000", "100000000"}, sizes},
                      {"ext4", "xfs", "btrfs", "none", "library", "predict"}, {}));
  list.push_back(make("small-files",
                      "files of 512 bytes in one directory: create, then read and overwrite at random, cold",
                      "TableFS report, Fig. 14-15 (700 MB memory)", {},
                      {{"files", "how many", "300", "20000", "1000000"},
                       {"size", "bytes of each", "512", "512", "512"},
                       {"queries", "how many, for each percentage", "200", "10000", "1000000"},
                       {"reads", "percentages of queries that read", "10,50,90", "10,50,90", "10,50,90"}},
                      all, {700 * kMegabyte}));
  list.push_back(make("desktop-metadata",
                      "a desktop's tree of zero-length files: create, then stat, chmod and utime, cold",
                      "TableFS short paper, Fig. 4-6 (512 MB memory)", {Shape::Names::desktop, true},
                      {{"files", "how many", "300", "25000", "1000000"},
                       sizes,
                       {"queries", "how many, for each percentage", "200", "15000", "2000000"},
                       {"reads", "percentages of queries that read", "100,50,0", "100,50,0", "100,50,0"}},
                      all, {512 * kMegabyte}));
  list.push_back(make("grid-small-files",
                      "files of 1 KB in many directories: create, then read and overwrite, cold",
                      "TableFS short paper, Fig. 7 (512 MB memory)", {Shape::Names::grid, true},
                      {{"files", "how many", "300", "20000", "1000000"},
                       {"directories", "how many", "10", "100", "1000"},
                       {"size", "bytes of each", "1024", "1024", "1024"},
                       {"queries", "how many", "200", "20000", "1000000"},
                       {"reads", "percentages of queries that read", "50", "50", "50"}},
                      all, {512 * kMegabyte}));
  return list;
}

}  // namespace cffs::bench
