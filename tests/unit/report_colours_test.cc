// Colours of figures, as those see them who lack one of the three kinds of cones (Machado, Oliveira and Fernandes 2009, severity 1).
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <set>

#include "bench/report/comparison.h"

using cffs::bench::colour_of;

namespace {

using Triple = std::array<double, 3>;
using Sight = std::array<Triple, 3>;

constexpr std::array<Sight, 4> kSights{
    {{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
     {{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}},
     {{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}},
     {{{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}}}};

double dot(const Triple& a, const Triple& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

// CIE L*a*b* of "#rrggbb".
Triple lab(const std::string& colour, const Sight& sight) {
  Triple linear{}, seen{};
  for (std::size_t i = 0; i < 3; ++i) {
    const double c = static_cast<double>(std::stoul(colour.substr(1 + 2 * i, 2), nullptr, 16)) / 255;
    linear[i] = c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  }
  for (std::size_t i = 0; i < 3; ++i) seen[i] = std::clamp(dot(sight[i], linear), 0.0, 1.0);
  const auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
  const double x = f(dot({0.4124, 0.3576, 0.1805}, seen) / 0.95047);
  const double y = f(dot({0.2126, 0.7152, 0.0722}, seen));
  const double z = f(dot({0.0193, 0.1192, 0.9505}, seen) / 1.08883);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

double apart(const std::string& a, const std::string& b, const Sight& sight) {
  const Triple x = lab(a, sight), y = lab(b, sight);
  return std::hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]);
}

const std::vector<std::string> kTargets{"ext4", "passthrough", "none",  "directory", "reference", "frequency",
                                        "ext2", "ext3",        "btrfs", "xfs",       "library",   "predict"};
constexpr std::size_t kComparedMost = 6;  // the first of them

}  // namespace

TEST_CASE("colours of targets are told apart by everybody, and show on white and on dark ground") {
  for (std::size_t a = 0; a < kTargets.size(); ++a) {
    const std::string colour = colour_of(kTargets[a], 0);
    INFO(kTargets[a]);
    CHECK(lab(colour, kSights[0])[0] > 35);
    CHECK(lab(colour, kSights[0])[0] < 80);
    for (std::size_t b = a + 1; b < kTargets.size(); ++b) {
      INFO(kTargets[b]);
      for (const Sight& sight : kSights)
        CHECK(apart(colour, colour_of(kTargets[b], 0), sight) > (b < kComparedMost ? 30 : 15));
    }
  }
}

TEST_CASE("variants of a target and targets without a name of their own have other colours") {
  std::set<std::string> colours;
  for (const std::string& target : kTargets) colours.insert(colour_of(target, 0));
  for (const char* const variant : {"directory+zstd", "directory+lz4", "directory@xfs", "directory@region"})
    CHECK(colours.insert(colour_of(variant, 0)).second);
  for (std::size_t i = 0; i < 6; ++i) CHECK(colours.insert(colour_of("dir:/mnt", i)).second);
  CHECK(colour_of("directory+zstd", 3) == colour_of("directory+zstd", 7));  // the same in each figure
}
