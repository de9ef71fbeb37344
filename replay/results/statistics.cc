#include "replay/results/statistics.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace cffs::replay {
namespace {

struct Moments {
  double mean = 0, variance = 0;  // of a sample
  double n = 0;
};

Moments moments_of(const std::vector<double>& samples) {
  Moments m;
  m.n = static_cast<double>(samples.size());
  for (const double s : samples) m.mean += s / m.n;
  for (const double s : samples) m.variance += (s - m.mean) * (s - m.mean);
  m.variance = m.n > 1 ? m.variance / (m.n - 1) : 0;
  return m;
}

double students_t(double degrees, double confidence) {
  return boost::math::quantile(boost::math::students_t(degrees), 0.5 + confidence / 2);
}

}  // namespace

Estimate mean_of(const std::vector<double>& samples, double confidence) {
  if (samples.empty()) return {};
  const Moments m = moments_of(samples);
  const double half = m.n > 1 ? students_t(m.n - 1, confidence) * std::sqrt(m.variance / m.n) : 0;
  return {m.mean, m.mean - half, m.mean + half, samples.size()};
}

double deviation_of(const std::vector<double>& samples) {
  return samples.empty() ? 0 : std::sqrt(moments_of(samples).variance);
}

double median_of(std::vector<double> samples) {
  if (samples.empty()) return 0;
  std::sort(samples.begin(), samples.end());
  const std::size_t middle = samples.size() / 2;
  return samples.size() % 2 == 1 ? samples[middle] : (samples[middle - 1] + samples[middle]) / 2;
}

Estimate ratio_of(const std::vector<double>& a, const std::vector<double>& b, double confidence) {
  const auto logarithms = [](const std::vector<double>& samples) {
    std::vector<double> logs;
    for (const double s : samples) {
      if (s > 0) logs.push_back(std::log(s));
    }
    return logs;
  };
  const std::vector<double> log_a = logarithms(a), log_b = logarithms(b);
  if (log_a.empty() || log_b.empty()) return {};
  const Moments x = moments_of(log_a), y = moments_of(log_b);
  const double difference = x.mean - y.mean;
  double half = 0;
  if (x.n > 1 && y.n > 1) {
    const double vx = x.variance / x.n, vy = y.variance / y.n;
    if (vx + vy > 0) {
      const double degrees = (vx + vy) * (vx + vy) / (vx * vx / (x.n - 1) + vy * vy / (y.n - 1));
      half = students_t(degrees, confidence) * std::sqrt(vx + vy);
    }
  }
  return {std::exp(difference), std::exp(difference - half), std::exp(difference + half),
          std::min(log_a.size(), log_b.size())};
}

}  // namespace cffs::replay
