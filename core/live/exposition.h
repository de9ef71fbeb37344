// Prometheus's text exposition format, version 0.0.4: families of samples, each with what it means.
//
// https://prometheus.io/docs/instrumenting/exposition_formats/. Names and units are the caller's to choose well; that each family is
// told of once, and label values are escaped, is done here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/live/latency_buckets.h"

namespace cffs {

class Exposition {
 public:
  using Labels = std::vector<std::pair<std::string_view, std::string_view>>;
  static constexpr const char* kContentType = "text/plain; version=0.0.4; charset=utf-8";

  // Begins a family: all its samples follow at once.
  void counter(std::string_view name, std::string_view help) { family(name, "counter", help); }
  void gauge(std::string_view name, std::string_view help) { family(name, "gauge", help); }
  void histogram(std::string_view name, std::string_view help) { family(name, "histogram", help); }

  void sample(double value, const Labels& labels = {});
  void sample(std::uint64_t value, const Labels& labels = {});
  // In seconds, by powers of two from two microseconds to two seconds.
  void sample(const LatencyCounts& latencies, const Labels& labels);

  const std::string& text() const { return text_; }

 private:
  void family(std::string_view name, std::string_view type, std::string_view help);
  void line(std::string_view suffix, const Labels& labels, std::string_view le, std::string_view value);

  std::string text_;
  std::string family_;
};

}  // namespace cffs
