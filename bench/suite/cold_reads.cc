#include "bench/suite/cold_reads.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>

namespace cffs::bench {
namespace {

// open, read to the end, close: bytes, or -errno.
std::int64_t read_file(replay::Target& target, const std::string& path) {
  thread_local std::vector<char> buffer(1u << 20);
  const std::int64_t file = target.open(path, O_RDONLY, 0);
  if (file < 0) return file;
  std::int64_t bytes = 0, n = 0;
  while ((n = target.read(file, static_cast<std::uint64_t>(bytes), buffer)) > 0) bytes += n;
  (void)target.close(file);
  return n < 0 ? n : bytes;
}

}  // namespace

std::vector<Piece> at_random(std::size_t files, double share, std::uint64_t seed) {
  Piece all(files);
  std::iota(all.begin(), all.end(), 0);
  std::mt19937_64 random(seed);
  std::shuffle(all.begin(), all.end(), random);
  all.resize(std::max<std::size_t>(1, static_cast<std::size_t>(share * static_cast<double>(files))));
  std::vector<Piece> pieces;
  for (const std::uint32_t f : all) pieces.push_back({f});
  return pieces;
}

Status read_pieces(Session& session, Rig& rig, const std::string& what, unsigned threads,
                   const std::vector<SourceFile>& files, const std::vector<Piece>& pieces,
                   const Notes& notes) {
  CFFS_TRY_VOID(rig.cool());
  Phase phase(session, rig, fmt::format("{}, {} thread{}", what, threads, threads == 1 ? "" : "s"));
  for (unsigned t = 0; t < threads; ++t) (void)phase.lane(t);
  std::atomic<std::size_t> next{0};
  std::atomic<std::uint64_t> bytes{0};
  CFFS_TRY_VOID(in_parallel(threads, [&](unsigned thread) -> Status {
    Lane& lane = phase.lane(thread);
    for (std::size_t p = next++; p < pieces.size(); p = next++) {
      for (const std::uint32_t f : pieces[p]) {
        const std::int64_t n = lane.time("read", [&] { return read_file(rig.target(), files[f].path); });
        CFFS_TRY_VOID(must(n, files[f].path));
        if (static_cast<std::uint64_t>(n) != files[f].size)
          return fail(Error::usage(
              fmt::format("{}: {} has {} bytes, {} were read", rig.name(), files[f].path, files[f].size, n)));
        bytes += static_cast<std::uint64_t>(n);
      }
    }
    return {};
  }));
  for (const auto& [metric, value] : notes) phase.note(metric, value);
  phase.note("content_bytes", static_cast<double>(bytes.load()));
  phase.finish();
  return {};
}

Status sweep_as_listed(Session& session, Rig& rig, std::uint64_t files, const Notes& notes) {
  CFFS_TRY_VOID(rig.cool());
  Phase phase(session, rig, "sweep as listed");
  Lane& lane = phase.lane();
  std::vector<std::string> directories{""};
  std::uint64_t bytes = 0, found = 0;
  while (!directories.empty()) {
    const std::string directory = std::move(directories.back());
    directories.pop_back();
    std::vector<std::string> names;
    const std::int64_t handle = rig.target().open(directory, O_RDONLY | O_DIRECTORY, 0);
    CFFS_TRY_VOID(must(handle, directory));
    CFFS_TRY_VOID(must(rig.target().list(handle, &names), directory));
    (void)rig.target().close(handle);
    std::vector<std::string> below;
    for (const std::string& name : names) {
      const std::string path = directory.empty() ? name : directory + "/" + name;
      replay::FileFacts facts;
      CFFS_TRY_VOID(must(rig.target().stat(path, false, facts), path));
      if (S_ISDIR(facts.mode)) below.push_back(path);
      if (!S_ISREG(facts.mode)) continue;
      const std::int64_t n = lane.time("read", [&] { return read_file(rig.target(), path); });
      CFFS_TRY_VOID(must(n, path));
      if (static_cast<std::uint64_t>(n) != facts.size)
        return fail(
            Error::usage(fmt::format("{}: {} has {} bytes, {} were read", rig.name(), path, facts.size, n)));
      ++found;
      bytes += static_cast<std::uint64_t>(n);
    }
    directories.insert(directories.end(), std::make_move_iterator(below.rbegin()),
                       std::make_move_iterator(below.rend()));
  }
  for (const auto& [metric, value] : notes) phase.note(metric, value);
  if (found != files)
    return fail(
        Error::usage(fmt::format("{}: {} files were brought in, {} are listed", rig.name(), files, found)));
  phase.note("content_bytes", static_cast<double>(bytes));
  phase.finish();
  return {};
}

}  // namespace cffs::bench
