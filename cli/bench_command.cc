#include <fmt/format.h>

#include "bench/disk/disk_profile.h"
#include "bench/disk/slow_disk.h"
#include "bench/rig/passthrough.h"
#include "cli/commands.h"

namespace cffs::cli {

void add_bench(CLI::App& app, int& exit_code) {
  auto* bench = app.add_subcommand("bench", "Benchmarks of the papers and of everyday work, on targets side by side");
  bench->require_subcommand(1);
  struct Options {
    std::string source, mount_point, profile = "hdd";
  };
  auto o = std::make_shared<Options>();
  auto* passthrough = bench->add_subcommand("passthrough", "Serve a directory through a tuned FUSE pass-through, the baseline");
  passthrough->add_option("DIR", o->source)->required();
  passthrough->add_option("MNT", o->mount_point)->required();
  passthrough->callback([o, &exit_code] {
    if (const Status done = bench::serve_passthrough(o->source, o->mount_point); !done)
      exit_code = complain(done.error());
  });
  auto* disk = bench->add_subcommand("disk", "Serve an image as a modelled disk: MNT/disk, for a loop device");
  disk->add_option("--profile", o->profile, "The disk")->check(CLI::IsMember({"cloud", "hdd"}))->capture_default_str();
  disk->add_option("IMAGE", o->source, "A file of the disk's size")->required();
  disk->add_option("MNT", o->mount_point)->required();
  disk->callback([o, &exit_code] {
    if (const Status done = bench::serve_disk(o->profile, o->source, o->mount_point); !done)
      exit_code = complain(done.error());
  });
}

}  // namespace cffs::cli
