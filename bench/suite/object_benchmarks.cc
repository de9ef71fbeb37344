// OBFS (Wang, Brandt, Miller, Long 2004), §6: objects of a storage server written, read, rewritten and deleted, each write
// on the disk before it counts, on disks that are as full as said and have become so by creating and deleting. On the
// object-store interface where the target is a local file system, and on files.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>

#include "bench/suite/object_population.h"
#include "bench/suite/session.h"

namespace cffs::bench {
namespace {

// Runs `work` on each interface that is asked for and that the target has.
Status on_interfaces(Session& session, Rig& rig,
                     const std::function<Status(ObjectSurface&, const std::string& label)>& work) {
  const std::string wanted = session.text("interface");
  if (wanted != "both" && wanted != "objects" && wanted != "files")
    return fail(Error::command_line("--interface: '" + wanted + "' is not objects, files or both"));
  if (rig.is_objects() || (wanted != "files" && keeps_objects(rig))) {
    CFFS_TRY(const auto objects, objects_in_store(rig));
    CFFS_TRY_VOID(work(*objects, "objects"));
  }
  if (wanted == "objects" || rig.is_objects()) return {};
  CFFS_TRY(const auto files, objects_in_files(rig));
  return work(*files, "files");
}

// Shares of the disk, ascending: it ages from one to the next.
Result<std::vector<double>> utilizations(const Session& session) {
  auto shares = session.reals("utilization");
  for (const double share : shares) {
    if (!(share >= 0 && share <= 95))
      return fail(
          Error::command_line(fmt::format("--utilization: {:g} is not a percentage from 0 to 95", share)));
  }
  std::sort(shares.begin(), shares.end());
  return shares;
}

constexpr double kMega = 1e6;
constexpr double kSlack = 0.02;  // share of the disk

// Requests of one kind.
Status one_kind(Session& session, Rig& rig, Population& population, const std::string& name, double full,
                Status (Population::*request)(Lane*)) {
  CFFS_TRY_VOID(population.cool());
  Phase phase(session, rig, name);
  double bytes = 0, ns = 0;
  for (std::uint64_t i = 0; i < session.number("requests"); ++i) {
    const std::int64_t start = Lane::now();
    CFFS_TRY_VOID((population.*request)(&phase.lane()));
    const std::int64_t end = Lane::now();
    ns += static_cast<double>(end - start);
    bytes += static_cast<double>(population.last_bytes());
    if (full <= 0 || population.utilization() <= full / 100 + kSlack) continue;
    // What is written makes room for itself, at nobody's cost: the disk stays as full as it is said to be.
    while (population.utilization() > full / 100 && population.count() > Population::kFewest)
      CFFS_TRY_VOID(population.remove(nullptr));
    phase.leave_out(Lane::now() - end);
  }
  phase.note("mb_per_s", bytes / kMega / (ns / 1e9));
  phase.note("utilization_percent", full);
  phase.finish();
  return {};
}

Status run_micro(Session& session, Rig& rig) {
  CFFS_TRY(const auto shares, utilizations(session));
  return on_interfaces(session, rig, [&](ObjectSurface& objects, const std::string& label) -> Status {
    for (const std::string& kind : session.words("mix")) {
      CFFS_TRY(const Mix mix, mix_of(kind));
      Population population(rig, objects, mix, session.number("object"), session.seed());
      for (const double full : shares) {
        session.progress({fmt::format("{}: {} {}, aging at {:g} %", rig.name(), label, kind, full)});
        CFFS_TRY_VOID(population.age(full / 100, session.number("aging")));
        const std::size_t before = population.count();
        const auto named = [&](const char* what) {
          return fmt::format("{}: {} {} at {:g} %", label, kind, what, full);
        };
        CFFS_TRY_VOID(one_kind(session, rig, population, named("write"), full, &Population::create));
        // Of an empty disk, as published, only writes: what was written just now is all that there is.
        if (full > 0) {
          CFFS_TRY_VOID(one_kind(session, rig, population, named("read"), full, &Population::read));
          CFFS_TRY_VOID(one_kind(session, rig, population, named("rewrite"), full, &Population::rewrite));
        }
        while (population.count() > before) CFFS_TRY_VOID(population.remove(nullptr));
      }
      CFFS_TRY_VOID(population.remove_all());
    }
    return {};
  });
}

// Table 2's numbers of operations.
struct Counts {
  std::uint64_t reads, writes, rewrites, deletes;
};

struct Kind {
  const char* metric;  // MB/s of this kind, in the time that it took; null: it moves none
  Status (Population::*request)(Lane*);
  std::uint64_t left;
  double bytes = 0, ns = 0;
};

// All requests in a random order.
Status mixed_kinds(Population& population, std::array<Kind, 4> kinds, Phase& phase) {
  const auto left = [&] {
    return std::accumulate(kinds.begin(), kinds.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const Kind& kind) { return sum + kind.left; });
  };
  double bytes = 0, ns = 0;
  for (std::uint64_t sum = left(); sum > 0; sum = left()) {
    std::uint64_t at = population.chance() % sum;
    auto kind = kinds.begin();
    while (at >= kind->left) at -= (kind++)->left;
    --kind->left;
    // Nothing is left to delete: another one, of which nobody counts the time.
    if (kind->request == &Population::remove && population.count() < Population::kFewest)
      CFFS_TRY_VOID(population.create(nullptr));
    const std::int64_t start = Lane::now();
    CFFS_TRY_VOID((population.*kind->request)(&phase.lane()));
    const auto took = static_cast<double>(Lane::now() - start);
    const auto moved = static_cast<double>(population.last_bytes());
    kind->bytes += moved;
    kind->ns += took;
    bytes += moved;
    ns += took;
  }
  const auto rate = [](double moved, double took) { return took > 0 ? moved / kMega / (took / 1e9) : 0; };
  for (const Kind& kind : kinds) {
    if (kind.metric != nullptr) phase.note(kind.metric, rate(kind.bytes, kind.ns));
  }
  phase.note("mb_per_s", rate(bytes, ns));
  return {};
}

Status run_macro(Session& session, Rig& rig, const Counts& published) {
  CFFS_TRY(const auto shares, utilizations(session));
  const auto scaled = [scale = session.real("scale")](std::uint64_t n) {
    return static_cast<std::uint64_t>(static_cast<double>(n) * scale + 0.5);
  };
  return on_interfaces(session, rig, [&](ObjectSurface& objects, const std::string& label) -> Status {
    Population population(rig, objects, Mix::mixed, session.number("object"), session.seed());
    for (const double full : shares) {
      session.progress({fmt::format("{}: {}, aging at {:g} %", rig.name(), label, full)});
      CFFS_TRY_VOID(population.age(full / 100, session.number("aging")));
      while (population.count() < Population::kFewest) CFFS_TRY_VOID(population.create(nullptr));
      CFFS_TRY_VOID(population.cool());
      Phase phase(session, rig, fmt::format("{}: all at {:g} %", label, full));
      CFFS_TRY_VOID(mixed_kinds(population,
                                {{{"read_mb_per_s", &Population::read, scaled(published.reads)},
                                  {"write_mb_per_s", &Population::create, scaled(published.writes)},
                                  {"rewrite_mb_per_s", &Population::rewrite, scaled(published.rewrites)},
                                  {nullptr, &Population::remove, scaled(published.deletes)}}},
                                phase));
      phase.note("utilization_percent", full);
      phase.finish();
    }
    return population.remove_all();
  });
}

// MB/s over how full the disk is: a line for each target and kind of request, as the paper's figures have it.
void print_throughput_of(const std::vector<const replay::Run*>& runs) {
  std::map<std::pair<std::string, std::string>, std::map<double, std::vector<double>>> lines;
  std::set<double> shares;
  for (const replay::Run* run : runs) {
    const auto full = run->metrics.find("utilization_percent");
    if (full == run->metrics.end()) continue;
    shares.insert(full->second);
    const std::string phase = run->phase.substr(0, run->phase.rfind(" at "));
    for (const char* kind : {"", "read_", "write_", "rewrite_"}) {
      const auto value = run->metrics.find(std::string(kind) + "mb_per_s");
      if (value == run->metrics.end()) continue;
      std::string name = phase;
      if (*kind != 0) name += std::string(", ") + std::string(kind).substr(0, std::string(kind).size() - 1);
      lines[{name, run->target}][full->second].push_back(value->second);
    }
  }
  fmt::print("\n{:<28} {:<14}", "MB/s, median, disk full to", "target");
  for (const double share : shares) fmt::print(" {:>7.0f} %", share);
  fmt::print("\n");
  for (auto& [line, values] : lines) {
    fmt::print("{:<28} {:<14}", line.first, line.second);
    for (const double share : shares) {
      auto& found = values[share];
      std::sort(found.begin(), found.end());
      fmt::print(" {:>9}", found.empty() ? "-" : fmt::format("{:.1f}", found[found.size() / 2]));
    }
    fmt::print("\n");
  }
}

void print_throughput(const Session& session) {
  for (const auto& [workload, runs] : runs_by_workload(session.runs())) {
    fmt::print("\n{}", workload);
    print_throughput_of(runs);
  }
}

constexpr const char* kAging = "creates and deletes that the disk aged by at each utilization";
constexpr const char* kInterface = "objects, files or both";
constexpr const char* kUtilization = "percent of the disk that objects take";

Benchmark of_objects(std::string name, std::string title, std::string source) {
  Benchmark b;
  b.name = std::move(name);
  b.title = std::move(title);
  b.source = std::move(source);
  b.targets = {"ext2", "ext3", "ext4", "xfs", "btrfs", "passthrough", "directory"};
  b.image_bytes = {512ull << 20, 1ull << 30, 8ull << 30};
  b.paper_memory = {512ull << 20};
  b.summary = print_throughput;
  b.takes_objects = true;
  return b;
}

Benchmark macro(const std::string& name, const std::string& figure, Counts counts) {
  Benchmark b = of_objects(name,
                           fmt::format("objects: {} reads, {} writes, {} rewrites, {} deletes at full size",
                                       counts.reads, counts.writes, counts.rewrites, counts.deletes),
                           "OBFS, " + figure + " and Table 2");
  b.parameters = {{"scale", "share of Table 2's numbers", "0.002", "0.02", "1"},
                  {"object", "bytes of a large object", "64K", "512K", "512K"},
                  {"utilization", kUtilization, "3", "25,75", "10,25,50,75,90"},
                  {"aging", kAging, "20", "1000", "250000"},
                  {"interface", kInterface, "both", "files", "both"}};
  b.run = [counts](Session& session, Rig& rig) { return run_macro(session, rig, counts); };
  return b;
}

}  // namespace

std::vector<Benchmark> object_benchmarks() {
  Benchmark micro = of_objects(
      "obfs-micro", "objects of mixed, large and small size: write, read, rewrite, over how full the disk is",
      "OBFS, Fig. 4-6");
  micro.parameters = {{"requests", "of each kind", "5", "200", "10000"},
                      {"object", "bytes of a large object", "64K", "512K", "512K"},
                      {"utilization", kUtilization, "0,3", "25,75", "0,25,50,75,90"},
                      {"aging", kAging, "20", "1000", "250000"},
                      {"mix", "sizes: mixed, large, small", "mixed,small", "mixed", "mixed,large,small"},
                      {"interface", kInterface, "both", "files", "both"}};
  micro.run = run_micro;
  return {micro, macro("obfs-1", "Fig. 7 (Benchmark I)", {16854, 4577, 4214, 4356}),
          macro("obfs-2", "Fig. 8 (Benchmark II)", {4049, 8969, 8531, 8147})};
}

}  // namespace cffs::bench
