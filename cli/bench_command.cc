#include <fmt/format.h>

#include <regex>

#include "bench/disk/disk_profile.h"
#include "bench/disk/slow_disk.h"
#include "bench/floor/floor.h"
#include "bench/passthrough/passthrough.h"
#include "bench/suite/session.h"
#include "cli/benchmark_run.h"
#include "cli/commands.h"
#include "fusefs/mount_options.h"

namespace cffs::cli {
namespace {

struct BenchOptions {
  bench::SessionOptions session;
  std::vector<std::string> memory;
  std::string image_size;
  bool tiny = false, paper = false;
};

// "4", "0.5", "512K", "1,4".
bool is_numbers(const std::string& text) {
  static const std::regex kNumbers(R"([0-9]+(\.[0-9]+)?[KMGkmg]?(,[0-9]+(\.[0-9]+)?[KMGkmg]?)*)");
  return std::regex_match(text, kNumbers);
}

// What is a number by default is one.
std::string check_parameter(const bench::Parameter& parameter, const std::string& given) {
  if (!is_numbers(parameter.small) || is_numbers(given)) return {};
  return "'" + given + "' is no number, nor several with commas between them";
}

Result<int> run_as_given(const bench::Benchmark& benchmark, BenchOptions o) {
  if (o.tiny) o.session.size = bench::Size::tiny;
  if (o.paper) o.session.size = bench::Size::paper;
  for (const std::string& size : o.memory) {
    CFFS_TRY(const std::uint64_t bytes, parse_size(size, "--memory"));
    o.session.memory_bytes.push_back(bytes);
  }
  if (!o.image_size.empty()) {
    CFFS_TRY(o.session.image_bytes, parse_size(o.image_size, "--image-size"));
  }
  return run_benchmark(benchmark, std::move(o.session));
}

void add_benchmark(CLI::App& bench, const bench::Benchmark& benchmark, int& exit_code) {
  auto* command = bench.add_subcommand(benchmark.name, benchmark.title + " [" + benchmark.source + "]");
  auto o = std::make_shared<BenchOptions>();
  std::string targets;
  for (const std::string& t : benchmark.targets) targets += (targets.empty() ? "" : ",") + t;
  command
      ->add_option("--targets", o->session.targets,
                   "ext2, ext3, ext4, xfs, btrfs, passthrough, floor, floor-xattrs, none, directory, "
                   "reference, frequency, library, "
                   "predict, for reads squashfs:CODEC[:LEVEL], erofs:CODEC[:LEVEL], dir:PATH; "
                   "default " +
                       targets)
      ->delimiter(',');
  command->add_option("--disk", o->session.disk, "Below all targets: the machine's own, or a model")
      ->check(CLI::IsMember(bench::disk_names()))
      ->capture_default_str();
  command->add_option("--image-size", o->image_size, "Of each target's disk");
  command->add_option("--memory", o->memory, "Limits, one run of all targets for each: 350M,700M")
      ->delimiter(',');
  command
      ->add_option("--aged", o->session.aged,
                   "Share of the disk that was filled, and mostly freed again, before")
      ->check(between(0.0, 0.95));
  command->add_option("--rounds", o->session.rounds, "Each on targets made anew")
      ->check(CLI::Range(1u, 1000u))
      ->capture_default_str();
  command->add_flag("--sync", o->session.sync, "Each phase ends when all that it wrote is on the disk");
  command->add_flag(
      "--mount-sync", o->session.mount_sync,
      "File systems are mounted with -o sync, and benchmarks that sync each write leave it to that");
  command->add_option("--seed", o->session.seed, "Of everything random")->capture_default_str();
  command->add_option("--results", o->session.results, "Results file (SQLite) that the runs are added to");
  command
      ->add_flag("--resume", o->session.resume,
                 "What the results file has already of a target in a round is not run again")
      ->needs(command->get_option("--results"));
  command->add_option("--work", o->session.work,
                      "Directory below which images and mounts are put, and removed again");
  auto* tiny = command->add_flag("--tiny", o->tiny, "The smallest size that still does everything");
  command->add_flag("--paper", o->paper, "The published size and memory limits")->excludes(tiny);
  for (const bench::Parameter& p : benchmark.parameters) {
    command
        ->add_option((p.name.size() == 1 ? "-" : "--") + p.name, o->session.parameters[p.name],
                     fmt::format("{}; {}", p.help,
                                 p.small == p.paper ? "default " + (p.small.empty() ? "none" : p.small)
                                                    : "default " + p.small + ", published " + p.paper))
        ->check(CLI::Validator([p](const std::string& given) { return check_parameter(p, given); }, ""));
  }
  command->callback([o, &benchmark, &exit_code] {
    const auto done = run_as_given(benchmark, *o);
    exit_code = done ? *done : complain(done.error());
  });
}

void add_servers(CLI::App& bench, int& exit_code) {
  struct Served {
    std::string source, mount_point, data, profile = "hdd", transport = "auto";
    bool answers_xattrs = false;
  };
  auto o = std::make_shared<Served>();
  const auto add_transport = [&o](CLI::App& command) {
    command.add_option("--transport", o->transport, "As of cffs mount: auto, ring, device")
        ->check(CLI::IsMember({"auto", "ring", "device"}))
        ->capture_default_str();
  };
  const auto transport = [](const Served& served) {
    return transport_of(served.transport, "--transport").value_or(Transport::automatic);
  };
  auto* passthrough = bench.add_subcommand(
      "passthrough", "Serve a directory through a tuned FUSE pass-through, the baseline");
  passthrough->add_option("DIR", o->source)->required();
  passthrough->add_option("MNT", o->mount_point)->required();
  add_transport(*passthrough);
  passthrough->callback([o, transport, &exit_code] {
    if (const Status done = bench::serve_passthrough(o->source, o->mount_point, transport(*o)); !done)
      exit_code = complain(done.error());
  });
  auto* floor = bench.add_subcommand("floor", "Serve files in memory: what FUSE alone costs on this machine");
  floor->add_option("MNT", o->mount_point)->required();
  floor->add_option("--data", o->data, "A new file that their data lies in, one behind the other");
  floor->add_flag(
      "--xattrs", o->answers_xattrs,
      "Answer who asks for extended attributes that there are none, instead of having none to ask for");
  add_transport(*floor);
  floor->callback([o, transport, &exit_code] {
    if (const Status done = bench::serve_floor(o->mount_point, {o->data, o->answers_xattrs, transport(*o)});
        !done)
      exit_code = complain(done.error());
  });
  auto* disk = bench.add_subcommand("disk", "Serve an image as a modelled disk: MNT/disk, for a loop device");
  disk->add_option("--profile", o->profile, "The disk")
      ->check(CLI::IsMember({"cloud", "hdd"}))
      ->capture_default_str();
  disk->add_option("IMAGE", o->source, "A file of the disk's size")->required();
  disk->add_option("MNT", o->mount_point)->required();
  disk->callback([o, &exit_code] {
    if (const Status done = bench::serve_disk(o->profile, o->source, o->mount_point); !done)
      exit_code = complain(done.error());
  });
}

}  // namespace

void add_bench(CLI::App& app, int& exit_code) {
  auto* bench =
      app.add_subcommand("bench", "Benchmarks of the papers and of everyday work, on targets side by side");
  bench->require_subcommand(1);
  auto* list = bench->add_subcommand("list", "All benchmarks, with what they repeat");
  list->callback([] {
    for (const bench::Benchmark& b : bench::benchmarks())
      fmt::print("{:<17} {}\n{:<17}   {}\n", b.name, b.title, "", b.source);
  });
  for (const bench::Benchmark& benchmark : bench::benchmarks()) add_benchmark(*bench, benchmark, exit_code);
  add_paper(*bench, exit_code);
  add_servers(*bench, exit_code);
}

}  // namespace cffs::cli
