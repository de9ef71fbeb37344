// Means and ratios with confidence intervals.
#pragma once

#include <vector>

namespace cffs::replay {

inline constexpr double kConfidence = 0.90;  // as in the composite-file paper

struct Estimate {
  double value = 0;
  double low = 0, high = 0;  // equal to value where one sample is all there is
  std::size_t samples = 0;
};

// The mean, with Student's t.
Estimate mean_of(const std::vector<double>& samples, double confidence = kConfidence);
double deviation_of(const std::vector<double>& samples);  // standard deviation of a sample; 0 of a single one
double median_of(std::vector<double> samples);
// What `a` is of `b`: ratio of geometric means, by Welch's test on the logarithms. Samples must be positive; others are
// left out, and without one on either side the ratio is 0.
Estimate ratio_of(const std::vector<double>& a, const std::vector<double>& b,
                  double confidence = kConfidence);

}  // namespace cffs::replay
