// Reading a tree that is there, cold, in the orders in which people do it: all of it as the file system lists it, all of it by
// name, some of it at random, documents with what they embed.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>

#include "bench/suite/documents.h"

namespace cffs::bench {
namespace {

// Files that are read one after the other by whoever takes the piece.
using Piece = std::vector<std::uint32_t>;

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

// Reads pieces with several threads, each taking the next that nobody has.
Status read_pieces(Session& session, Rig& rig, const std::string& what, unsigned threads,
                   const std::vector<SourceFile>& files, const std::vector<Piece>& pieces) {
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
  phase.note("content_bytes", static_cast<double>(bytes.load()));
  phase.finish();
  return {};
}

// As tar, cp and grep -r go through a tree: a directory is listed, then each entry looked at, and read where it is a file.
Status sweep_as_listed(Session& session, Rig& rig) {
  CFFS_TRY_VOID(rig.cool());
  Phase phase(session, rig, "sweep as listed");
  Lane& lane = phase.lane();
  std::vector<std::string> directories{""};
  std::uint64_t bytes = 0;
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
      bytes += static_cast<std::uint64_t>(n);
    }
    directories.insert(directories.end(), std::make_move_iterator(below.rbegin()),
                       std::make_move_iterator(below.rend()));
  }
  phase.note("content_bytes", static_cast<double>(bytes));
  phase.finish();
  return {};
}

std::vector<Piece> blocks_by_name(std::size_t files, std::size_t block) {
  std::vector<Piece> pieces;
  for (std::size_t first = 0; first < files; first += block) {
    Piece& piece = pieces.emplace_back(std::min(block, files - first));
    std::iota(piece.begin(), piece.end(), static_cast<std::uint32_t>(first));
  }
  return pieces;
}

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

// Documents at random, each with what it embeds behind it, as a browser or a compiler asks for them.
std::vector<Piece> visits(const std::string& directory, const std::vector<SourceFile>& files,
                          std::uint64_t most, std::uint64_t seed) {
  std::vector<Piece> pieces = visits_of(directory, files, /*alone=*/false);
  std::mt19937_64 random(seed);
  std::shuffle(pieces.begin(), pieces.end(), random);
  if (pieces.size() > most) pieces.resize(most);
  return pieces;
}

Status run_reads(Session& session, Rig& rig) {
  CFFS_TRY(const std::string tree, source_directory(session));
  CFFS_TRY(const std::vector<SourceFile> files, source_files(tree));
  CFFS_TRY_VOID(rig.import(tree));
  CFFS_TRY_VOID(rig.settle());
  const std::string wanted = session.text("only");
  const auto wants = [&](const char* name) {
    return wanted.empty() || ("," + wanted + ",").find("," + std::string(name) + ",") != std::string::npos;
  };
  struct Work {
    std::string name;
    std::vector<Piece> pieces;
  };
  std::vector<Work> all;
  if (wants("name")) all.push_back({"sweep by name", blocks_by_name(files.size(), session.number("block"))});
  if (wants("random"))
    all.push_back({"at random", at_random(files.size(), session.real("share"), session.seed())});
  if (wants("visits")) {
    Work work{"documents with what they embed",
              visits(tree, files, session.number("visits"), session.seed())};
    if (!work.pieces.empty()) all.push_back(std::move(work));
  }
  if (wants("listed")) CFFS_TRY_VOID(sweep_as_listed(session, rig));
  for (const Work& work : all) {
    for (const double threads : session.reals("threads")) {
      CFFS_TRY_VOID(read_pieces(session, rig, work.name, static_cast<unsigned>(threads), files, work.pieces));
    }
  }
  return {};
}

}  // namespace

std::vector<Benchmark> read_benchmarks() {
  Benchmark reads;
  reads.name = "reads";
  reads.title = "cold reads of a tree: as listed, by name, at random, documents with what they embed";
  reads.source = "everyday work";
  reads.parameters = {
      source_tree_parameter(),
      {"only", "some of: listed, name, random, visits", "", "", ""},
      {"block", "neighbours by name that one thread reads", "50", "500", "500"},
      {"share", "of the files that are read at random", "0.1", "0.1", "0.1"},
      {"visits", "documents that are read with what they embed, at most", "20", "1000", "1000"},
      {"threads", "readers, one run for each", "1,4", "1,4", "1,4"}};
  reads.targets = {"ext4", "passthrough", "none", "directory"};
  reads.run = run_reads;
  return {reads};
}

}  // namespace cffs::bench
