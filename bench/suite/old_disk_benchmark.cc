// What moves many bytes on a disk: a tree that is brought in, small files that find their places, a sweep of all of it, and large
// files at random. Made for disks that are old and nearly full (--aged), where it shows how free space is found and put together.
#include <fmt/format.h>

#include <random>

#include "bench/suite/cold_reads.h"

namespace cffs::bench {
namespace {

constexpr std::uint64_t kSmallest = 512, kSmallSpread = 6;  // small files: 512 bytes to 32 KiB
constexpr std::uint64_t kLeastLarge = 1u << 20, kMostLarge = 16u << 20;

std::string bytes_for(std::uint64_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string bytes;
  bytes.reserve(size + 8);
  while (bytes.size() < size) {
    const std::uint64_t word = random();
    bytes.append(reinterpret_cast<const char*>(&word), sizeof word);
  }
  bytes.resize(size);
  return bytes;
}

// Files of a directory of their own, made, and on the disk where they will stay; "settled" is the second part of the time.
Status make_files(Session& session, Rig& rig, const std::string& what, const std::vector<SourceFile>& files) {
  Phase phase(session, rig, what + ", made and settled");
  Lane& lane = phase.lane();
  double bytes = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string content = bytes_for(files[i].size, session.seed() + i);
    CFFS_TRY_VOID(must(lane.time("make", [&] { return make_file(rig.target(), files[i].path, content); }),
                       files[i].path));
    bytes += static_cast<double>(files[i].size);
  }
  Status settled;
  lane.time("settle", [&] {
    settled = rig.settle();
    return std::int64_t{0};
  });
  CFFS_TRY_VOID(settled);
  phase.note("content_bytes", bytes);
  phase.finish(files.size());
  return {};
}

Status bring_in(Session& session, Rig& rig, const std::string& tree, std::size_t files) {
  Phase phase(session, rig, "a tree brought in, to be durable");
  CFFS_TRY_VOID(rig.import(tree));
  CFFS_TRY_VOID(rig.sync());
  phase.finish(files);
  return {};
}

Status run_old_disk(Session& session, Rig& rig) {
  CFFS_TRY(const std::string tree, source_directory(session));
  CFFS_TRY(const std::vector<SourceFile> files, source_files(tree));
  CFFS_TRY_VOID(bring_in(session, rig, tree, files.size()));
  // A device forgets what was read and written when nobody has it open, files do not.
  CFFS_TRY_VOID(rig.cool());

  std::mt19937_64 random(session.seed());
  std::vector<SourceFile> small, large;
  constexpr std::uint64_t kDirectory = 100;  // files in each
  for (std::uint64_t i = 0; i < session.number("small"); ++i) {
    if (i % kDirectory == 0) {
      const std::string directory = fmt::format("small{}", i / kDirectory);
      CFFS_TRY_VOID(must(rig.target().mkdir(directory, 0755), directory));
    }
    const std::uint64_t most = kSmallest << (random() % (kSmallSpread + 1));
    small.push_back({fmt::format("small{}/{}", i / kDirectory, i), kSmallest + random() % most});
  }
  CFFS_TRY_VOID(make_files(session, rig, "small files", small));
  CFFS_TRY_VOID(must(rig.target().mkdir("large", 0755), "large"));
  for (std::uint64_t i = 0; i < session.number("large"); ++i)
    large.push_back({fmt::format("large/{}", i), kLeastLarge + random() % (kMostLarge - kLeastLarge)});
  CFFS_TRY_VOID(make_files(session, rig, "large files", large));

  CFFS_TRY_VOID(sweep_as_listed(session, rig, files.size() + small.size() + large.size()));
  CFFS_TRY_VOID(read_pieces(session, rig, "small files at random", 1, small,
                            at_random(small.size(), 0.1, session.seed())));
  return read_pieces(session, rig, "large files at random", 1, large,
                     at_random(large.size(), 1, session.seed()));
}

}  // namespace

std::vector<Benchmark> old_disk_benchmarks() {
  Benchmark old;
  old.name = "old-disk";
  old.title =
      "a tree brought in, small files that find their places, a cold sweep, large files at random; with "
      "--aged";
  old.source = "everyday work";
  old.parameters = {source_tree_parameter(),
                    {"small", "files of 512 bytes to 32 KiB", "200", "10000", "100000"},
                    {"large", "files of 1 to 16 MiB", "3", "16", "200"}};
  old.targets = {"ext4", "xfs", "directory", "directory@region"};
  old.run = run_old_disk;
  return {old};
}

}  // namespace cffs::bench
