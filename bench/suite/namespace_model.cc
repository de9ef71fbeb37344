#include "bench/suite/namespace_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

namespace cffs::bench {

NamespaceModel NamespaceModel::flat(std::uint64_t files) {
  NamespaceModel model;
  model.directories.emplace_back("d");
  model.numbered = files;
  return model;
}

std::string NamespaceModel::file(std::uint64_t index) const {
  return index < numbered ? fmt::format("d/f{:08}", index) : files[index - numbered];
}

NamespaceModel NamespaceModel::grid(std::uint64_t directories, std::uint64_t files) {
  NamespaceModel model;
  for (std::uint64_t d = 0; d < directories; ++d) {
    model.directories.push_back(fmt::format("d{:05}", d));
    for (std::uint64_t f = 0; f < files; ++f) model.files.push_back(fmt::format("d{:05}/f{:05}", d, f));
  }
  return model;
}

NamespaceModel NamespaceModel::desktop(std::uint64_t files, std::uint64_t seed) {
  constexpr double kFilesEach = 1'000'000.0 / 172'252.0;
  constexpr std::size_t kMeanDepth = 8;
  NamespaceModel model;
  std::mt19937_64 random(seed);
  std::geometric_distribution<unsigned> files_here(1 / (1 + kFilesEach));
  std::vector<std::string> stack;  // the directory at hand and those above it
  for (std::uint64_t d = 0; model.files.size() < files; ++d) {
    const double up = stack.size() > kMeanDepth ? 0.65 : 0.35;
    std::uniform_real_distribution<double> chance;
    while (!stack.empty() && chance(random) < up) stack.pop_back();
    stack.push_back((stack.empty() ? "" : stack.back() + "/") + fmt::format("dir{:06}", d));
    model.directories.push_back(stack.back());
    const std::uint64_t here = std::min<std::uint64_t>(files_here(random), files - model.files.size());
    for (std::uint64_t f = 0; f < here; ++f)
      model.files.push_back(stack.back() + fmt::format("/file{:03}.txt", f));
  }
  return model;
}

}  // namespace cffs::bench
