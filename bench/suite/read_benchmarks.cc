// Reading a tree that is there, cold, in the orders in which people do it: all of it as the file system lists it, all of it by
// name, some of it at random, documents with what they embed.
#include <algorithm>
#include <numeric>
#include <random>

#include "bench/suite/cold_reads.h"
#include "bench/suite/documents.h"
#include "bench/suite/reads_summary.h"

namespace cffs::bench {
namespace {

std::vector<Piece> blocks_by_name(std::size_t files, std::size_t block) {
  std::vector<Piece> pieces;
  for (std::size_t first = 0; first < files; first += block) {
    Piece& piece = pieces.emplace_back(std::min(block, files - first));
    std::iota(piece.begin(), piece.end(), static_cast<std::uint32_t>(first));
  }
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
  const std::int64_t start = Lane::now();
  CFFS_TRY_VOID(rig.in_a_hurry([&]() -> Status {
    CFFS_TRY_VOID(rig.import(tree));
    return rig.settle();
  }));
  Notes notes{{"import_s", static_cast<double>(Lane::now() - start) / 1e9},
              {"held_bytes", rig.held_bytes()},
              {"tree_bytes", 0}};
  for (const SourceFile& file : files) notes["tree_bytes"] += static_cast<double>(file.size);
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
  if (wants("listed")) CFFS_TRY_VOID(sweep_as_listed(session, rig, files.size(), notes));
  for (const Work& work : all) {
    for (const double threads : session.reals("threads")) {
      CFFS_TRY_VOID(
          read_pieces(session, rig, work.name, static_cast<unsigned>(threads), files, work.pieces, notes));
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
  reads.only_reads = true;
  reads.summary = print_reads_summary;
  return {reads};
}

}  // namespace cffs::bench
