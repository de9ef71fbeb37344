#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "cli/commands.h"
#include "core/object/file_descriptor.h"
#include "replay/replayer.h"

namespace cffs::cli {
namespace {

struct ReplayOptions {
  std::vector<std::string> logs;
  std::string target, library, hosts = "auto";
  unsigned threads = 4;
  unsigned min_files = 10'000;
  bool make_tree = false, cold = false, json = false;
};

Status drop_caches() {
  ::sync();
  const FileDescriptor fd(::open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC));
  if (!fd || ::write(fd.get(), "3", 1) != 1) {
    return fail(Error::usage("--cold needs root: the kernel's caches cannot be dropped without it"));
  }
  return {};
}

Result<unsigned> hosts_for(const ReplayOptions& o, std::size_t files) {
  if (o.hosts != "auto") {
    char* end = nullptr;
    const unsigned long n = std::strtoul(o.hosts.c_str(), &end, 10);
    if (*end != '\0' || n < 1 || n > 10'000)
      return fail(Error::usage("--hosts wants auto or a number, not '" + o.hosts + "'"));
    return static_cast<unsigned>(n);
  }
  if (files == 0) return 1u;
  return static_cast<unsigned>((o.min_files + files - 1) / files);
}

void print_report(const replay::ReplayReport& r) {
  const auto us = [&](double p) { return static_cast<double>(r.latency.percentile_ns(p)) / 1e3; };
  fmt::print("replayed {} requests, {} read, in {:.2f} s: {:.0f} requests/s\n", r.requests,
             human_bytes(r.bytes), r.seconds, static_cast<double>(r.requests) / r.seconds);
  fmt::print("latency in us: p50 {:.1f}  p90 {:.1f}  p99 {:.1f}  p99.9 {:.1f}  max {:.1f}\n", us(0.5),
             us(0.9), us(0.99), us(0.999), static_cast<double>(r.latency.max_ns()) / 1e3);
  if (r.failed > 0) fmt::print("{} requests failed; the first: {}\n", r.failed, r.first_problem);
  if (r.wrong_size > 0) fmt::print("{} requests read another size than the tree has\n", r.wrong_size);
}

Result<int> run_replay(const ReplayOptions& o) {
  replay::DocumentTree tree;
  for (const std::string& log : o.logs) CFFS_TRY_VOID(tree.read_log(log));
  tree.settle();
  if (tree.requests().empty()) {
    return fail(Error::usage(
        fmt::format("{}: {} lines, {} malformed, no successful GET among them; is it a Common or "
                    "Combined Log Format file?",
                    o.logs.front(), tree.lines(), tree.malformed())));
  }
  const std::size_t site = tree.files().size();
  CFFS_TRY(const unsigned hosts, hosts_for(o, site));
  tree.repeat(hosts);
  if (!o.json) {
    fmt::print("log: {} lines, {} malformed, {} other than successful GETs; {} clients, {} requests\n",
               tree.lines(), tree.malformed(), tree.skipped(), tree.clients(), tree.requests().size());
    for (const std::string& sample : tree.malformed_samples()) fmt::print("  malformed: {}\n", sample);
    fmt::print("tree: {} files, {}", tree.files().size(), human_bytes(tree.bytes()));
    if (hosts > 1)
      fmt::print(" ({} virtual hosts with the {} files of the site, each client on one)", hosts, site);
    fmt::print("\n");
    std::fflush(stdout);
  }
  if (o.make_tree) {
    if (o.target.empty()) return fail(Error::usage("--make-tree needs --target=DIR"));
    CFFS_TRY_VOID(replay::make_tree(tree.files(), o.target));
    if (!o.json) fmt::print("made the tree in {}\n", o.target);
    return 0;
  }
  if (o.target.empty() == o.library.empty()) {
    return fail(Error::usage("say where to replay: either --target=DIR or --library=STORE"));
  }
  if (o.cold) CFFS_TRY_VOID(drop_caches());
  OpenStore store;
  std::unique_ptr<replay::ReadTarget> target;
  if (o.library.empty()) {
    if (::access(o.target.c_str(), R_OK | X_OK) != 0) return fail(errno, "target " + o.target);
    target = std::make_unique<replay::DirectoryTarget>(o.target);
  } else {
    CFFS_TRY(store, open_store(o.library));
    target = std::make_unique<replay::LibraryTarget>(*store.fs);
  }
  const replay::ReplayReport report = replay::replay(tree, *target, o.threads);
  if (o.json) {
    const auto& l = report.latency;
    fmt::print("{}\n", nlohmann::ordered_json{{"requests", report.requests},
                                              {"bytes", report.bytes},
                                              {"seconds", report.seconds},
                                              {"requests_per_s",
                                               static_cast<double>(report.requests) / report.seconds},
                                              {"p50_ns", l.percentile_ns(0.5)},
                                              {"p90_ns", l.percentile_ns(0.9)},
                                              {"p99_ns", l.percentile_ns(0.99)},
                                              {"p999_ns", l.percentile_ns(0.999)},
                                              {"max_ns", l.max_ns()},
                                              {"failed", report.failed},
                                              {"wrong_size", report.wrong_size},
                                              {"threads", o.threads},
                                              {"files", tree.files().size()},
                                              {"virtual_hosts", hosts},
                                              {"malformed_lines", tree.malformed()}}
                           .dump(2));
    if (report.failed > 0) std::fprintf(stderr, "cffs: %s\n", report.first_problem.c_str());
  } else {
    print_report(report);
  }
  return report.failed == 0 && report.wrong_size == 0 ? 0 : 1;
}

}  // namespace

void add_replay(CLI::App& app, int& exit_code) {
  auto* command =
      app.add_subcommand("replay", "Replay a web log as file reads at zero think time, and time each");
  auto o = std::make_shared<ReplayOptions>();
  command->add_option("LOG", o->logs, "Common or Combined Log Format, plain, gz, xz or zst; - for stdin")
      ->required();
  command->add_option("--target", o->target, "Directory that holds the log's tree: native or any mount");
  command->add_option("--library", o->library, "Store to read through the library, without FUSE");
  command->add_flag("--make-tree", o->make_tree, "Make the tree that the log implies in --target, and stop");
  command
      ->add_option("--hosts", o->hosts, "Copies of the site as virtual hosts; auto: enough for --min-files")
      ->capture_default_str();
  command->add_option("--min-files", o->min_files, "Fewest files in the tree, with --hosts=auto")
      ->capture_default_str();
  command->add_option("--threads", o->threads, "Readers; each client's requests keep their order")
      ->check(CLI::Range(1u, 1024u))
      ->capture_default_str();
  command->add_flag("--cold", o->cold, "Drop the kernel's caches first");
  command->add_flag("--json", o->json, "For programs");
  command->callback([o, &exit_code] {
    const auto done = run_replay(*o);
    exit_code = done ? *done : complain(done.error());
  });
}

}  // namespace cffs::cli
