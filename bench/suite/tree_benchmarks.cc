// Trees of directories: TableFS §4.7 (readdir) and fdtree, as in Layton's article on four file systems.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <random>

#include "bench/suite/namespace_model.h"
#include "bench/suite/session.h"
#include "replay/results/statistics.h"

namespace cffs::bench {
namespace {

// --- readdir ---

Status read_directories(Session& session, Rig& rig, const NamespaceModel& names, bool with_stat) {
  CFFS_TRY_VOID(rig.cool());
  std::mt19937_64 random(session.seed());
  Phase phase(session, rig, with_stat ? "readdir and stat" : "readdir");
  Lane& lane = phase.lane();
  std::vector<std::string> entries;
  std::uint64_t seen = 0;
  for (std::uint64_t i = 0; i < session.number("queries"); ++i) {
    const std::string& path = names.directories[random() % names.directories.size()];
    entries.clear();
    CFFS_TRY_VOID(must(lane.time("readdir",
                                 [&] {
                                   const std::int64_t directory =
                                       rig.target().open(path, O_RDONLY | O_DIRECTORY, 0);
                                   if (directory < 0) return directory;
                                   const std::int64_t n = rig.target().list(directory, &entries);
                                   (void)rig.target().close(directory);
                                   return n;
                                 }),
                       path));
    seen += entries.size();
    if (!with_stat) continue;
    for (const std::string& entry : entries) {
      replay::FileFacts facts;
      const std::string whole = path + "/" + entry;
      CFFS_TRY_VOID(must(lane.time("stat", [&] { return rig.target().stat(whole, false, facts); }), whole));
    }
  }
  phase.note("entries", static_cast<double>(seen));
  phase.finish(session.number("queries"));
  return {};
}

Status run_readdir(Session& session, Rig& rig) {
  const NamespaceModel names = NamespaceModel::desktop(session.number("files"), session.seed());
  const std::string data(session.number("size"), 'x');
  {
    Phase phase(session, rig, "create");
    Lane& lane = phase.lane();
    std::size_t file = 0;
    for (const std::string& directory : names.directories) {
      CFFS_TRY_VOID(must(lane.time("mkdir", [&] { return rig.target().mkdir(directory, 0755); }), directory));
      // Depth first: a directory's files with it.
      for (; file < names.files.size(); ++file) {
        const std::string& path = names.files[file];
        if (path.compare(0, path.rfind('/'), directory) != 0) break;
        CFFS_TRY_VOID(must(lane.time("create", [&] { return make_file(rig.target(), path, data); }), path));
      }
    }
    phase.finish();
  }
  CFFS_TRY_VOID(rig.settle());
  CFFS_TRY_VOID(read_directories(session, rig, names, false));
  return read_directories(session, rig, names, true);
}

// --- fdtree ---

struct Combination {
  std::string name;
  std::uint64_t directories, files, blocks, levels;  // -d -f -s -l
};

// The article's four, and what is left of them at other sizes.
std::vector<Combination> combinations(const Session& session) {
  if (!session.text("d").empty() || !session.text("f").empty() || !session.text("s").empty() ||
      !session.text("l").empty()) {
    const auto value = [&](const char* name, std::uint64_t otherwise) {
      return session.text(name).empty() ? otherwise : session.number(name);
    };
    return {{"custom", value("d", 10), value("f", 10), value("s", 1), value("l", 2)}};
  }
  switch (session.options().size) {
    case Size::tiny:
      return {{"small shallow", 2, 2, 1, 2},
              {"small deep", 1, 2, 1, 4},
              {"medium shallow", 2, 1, 10, 1},
              {"medium deep", 1, 1, 10, 2}};
    case Size::small:
      return {{"small shallow", 8, 10, 1, 3},
              {"small deep", 3, 4, 1, 6},
              {"medium shallow", 4, 2, 1000, 2},
              {"medium deep", 2, 1, 1000, 4}};
    case Size::paper:
      break;
  }
  return {{"small shallow", 20, 40, 1, 3},
          {"small deep", 3, 4, 1, 10},
          {"medium shallow", 17, 10, 1000, 2},
          {"medium deep", 2, 2, 1000, 10}};
}

// Directories as fdtree makes them: so many in each, down to the last level. The first is the one all are in.
void list_directories(const std::string& base, std::uint64_t level, std::uint64_t each,
                      std::vector<std::string>& all) {
  all.push_back(base);
  if (level == 0) return;
  for (std::uint64_t d = 0; d < each; ++d)
    list_directories(fmt::format("{}/L{}D{}", base, level, d), level - 1, each, all);
}

Status run_combination(Session& session, Rig& rig, const Combination& c) {
  constexpr std::size_t kBlock = 4096;
  std::vector<std::string> directories;
  list_directories("LEVEL0", c.levels, c.directories, directories);
  const std::string block(kBlock, '\0');
  replay::Target& target = rig.target();
  const auto phase_of = [&](const char* what) {
    auto phase = std::make_unique<Phase>(session, rig, c.name + ": " + what);
    for (const auto& [name, value] :
         {std::pair{"d", c.directories}, {"f", c.files}, {"s", c.blocks}, {"l", c.levels}})
      phase->parameter(name, std::to_string(value));
    return phase;
  };
  const auto file_name = [](const std::string& directory, std::uint64_t f) {
    return fmt::format("{}/F{}", directory, f);
  };
  auto phase = phase_of("directory create");
  for (const std::string& directory : directories)
    CFFS_TRY_VOID(
        must(phase->lane().time("mkdir", [&] { return target.mkdir(directory, 0755); }), directory));
  phase->finish();
  phase = phase_of("file create");
  for (const std::string& directory : directories) {
    for (std::uint64_t f = 0; f < c.files; ++f) {
      const std::string path = file_name(directory, f);
      const std::int64_t made = phase->lane().time("create", [&] {
        const std::int64_t file = target.open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        if (file < 0) return file;
        for (std::uint64_t b = 0; b < c.blocks; ++b) {
          const std::int64_t n = whole(target.write(file, b * kBlock, block), block.size());
          if (n >= 0) continue;
          (void)target.close(file);
          return n;
        }
        return target.close(file);
      });
      CFFS_TRY_VOID(must(made, path));
    }
  }
  phase->note("created_bytes", static_cast<double>(directories.size() * c.files * c.blocks * kBlock));
  phase->finish();
  phase = phase_of("file remove");
  for (const std::string& directory : directories) {
    for (std::uint64_t f = 0; f < c.files; ++f) {
      const std::string path = file_name(directory, f);
      CFFS_TRY_VOID(must(phase->lane().time("unlink", [&] { return target.unlink(path); }), path));
    }
  }
  phase->finish();
  phase = phase_of("directory remove");
  for (auto it = directories.rbegin(); it != directories.rend(); ++it)
    CFFS_TRY_VOID(must(phase->lane().time("rmdir", [&] { return target.rmdir(*it); }), *it));
  phase->finish();
  return {};
}

Status run_fdtree(Session& session, Rig& rig) {
  for (const Combination& c : combinations(session)) CFFS_TRY_VOID(run_combination(session, rig, c));
  return {};
}

// The article's pairs of tables: seconds, then rates, each a mean with the standard deviation below it.
void print_tables_of(const std::vector<const replay::Run*>& of_workload) {
  constexpr std::array<const char*, 4> kPhases{"directory create", "file create", "file remove",
                                               "directory remove"};
  std::map<std::string, std::map<std::string, std::map<std::string, std::vector<const replay::Run*>>>> runs;
  std::vector<std::string> shapes, targets;
  const auto note = [](std::vector<std::string>& list, const std::string& word) {
    if (std::find(list.begin(), list.end(), word) == list.end()) list.push_back(word);
  };
  for (const replay::Run* run : of_workload) {
    const std::size_t colon = run->phase.find(": ");
    const std::string shape = run->phase.substr(0, colon);
    note(shapes, shape);
    note(targets, run->target);
    runs[shape][run->target][run->phase.substr(colon + 2)].push_back(run);
  }
  const auto row = [&](const std::string& name, const std::vector<std::vector<double>>& columns) {
    fmt::print("{:<16}", name);
    for (const std::vector<double>& c : columns) fmt::print(" {:>16.6f}", replay::mean_of(c).value);
    fmt::print("\n{:<16}", "");
    for (const std::vector<double>& c : columns) fmt::print(" {:>16.6f}", replay::deviation_of(c));
    fmt::print("\n");
  };
  for (const std::string& shape : shapes) {
    fmt::print("\n{}: times, seconds (standard deviation below)\n{:<16} {:>16} {:>16} {:>16} {:>16}\n", shape,
               "file system", "directory create", "file create", "file remove", "directory remove");
    for (const std::string& target : targets) {
      std::vector<std::vector<double>> seconds;
      for (const char* phase : kPhases) {
        std::vector<double>& column = seconds.emplace_back();
        for (const replay::Run* run : runs[shape][target][phase]) column.push_back(run->seconds);
      }
      row(target, seconds);
    }
    fmt::print("{}: performance\n{:<16} {:>16} {:>16} {:>16} {:>16} {:>16}\n", shape, "file system",
               "dirs/s created", "files/s created", "KiB/s created", "files/s removed", "dirs/s removed");
    for (const std::string& target : targets) {
      std::vector<std::vector<double>> rates;
      for (const char* phase : kPhases) {
        std::vector<double> column, kib;
        for (const replay::Run* run : runs[shape][target][phase]) {
          column.push_back(run->rate());
          const auto bytes = run->metrics.find("created_bytes");
          if (bytes != run->metrics.end()) kib.push_back(bytes->second / 1024 / run->seconds);
        }
        rates.push_back(std::move(column));
        if (!kib.empty()) rates.push_back(std::move(kib));
      }
      row(target, rates);
    }
  }
}

void print_article_tables(const Session& session) {
  for (const auto& [workload, runs] : runs_by_workload(session.runs())) {
    fmt::print("\n{}\n", workload);
    print_tables_of(runs);
  }
}

}  // namespace

std::vector<Benchmark> tree_benchmarks() {
  const std::vector<std::string> all{"ext4", "xfs", "btrfs", "passthrough", "none", "directory"};
  Benchmark readdir;
  readdir.name = "readdir";
  readdir.title =
      "a desktop's tree: readdir of random directories, without and with stat of each entry, cold";
  readdir.source = "TableFS report, Fig. 16-18 (700 MB memory)";
  readdir.parameters = {{"files", "how many", "300", "25000", "1000000"},
                        {"size", "bytes of each", "512", "512", "512"},
                        {"queries", "directories listed", "50", "2000", "10000"}};
  readdir.targets = all;
  readdir.targets.push_back("library");
  readdir.run = run_readdir;
  readdir.paper_memory = {700u << 20};
  Benchmark fdtree;
  fdtree.name = "fdtree";
  fdtree.title = "directories and files created and removed, in four shapes of tree";
  fdtree.source = "fdtree; Layton, Metadata Performance of Four Linux File Systems, tables 1-8";
  fdtree.parameters = {{"d", "directories in each directory (-d)", "", "", ""},
                       {"f", "files in each directory (-f)", "", "", ""},
                       {"s", "blocks of 4 KiB in each file (-s)", "", "", ""},
                       {"l", "levels (-l)", "", "", ""}};
  fdtree.targets = all;
  fdtree.run = run_fdtree;
  fdtree.summary = print_article_tables;
  return {readdir, fdtree};
}

}  // namespace cffs::bench
