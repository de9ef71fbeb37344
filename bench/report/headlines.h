// The headlines of publications beside what was measured here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/suite/publications.h"
#include "replay/results/run.h"

namespace cffs::bench {

struct Measured {
  const Headline* headline = nullptr;
  std::optional<double> ratio;  // nullopt: there are no runs of it
  double seconds = 0, rival_seconds = 0;
};

// Of a publication's headlines, from runs of its steps with that size: medians of all such runs, phases added up.
std::vector<Measured> measured(const Publication& publication, Size size,
                               const std::vector<replay::Run>& runs);
// Whether all targets of a step were run, each so many rounds.
bool is_complete(const Step& step, Size size, unsigned rounds, const std::vector<replay::Run>& runs);

// "1.5 to 10", "3 and more", "below 1".
std::string published(const Headline& headline);
// "as published", "more", "less", "not measured".
std::string verdict(const Measured& measured);
// A table for a terminal, and for a page in Markdown.
std::string headline_table(const Publication& publication, const std::vector<Measured>& rows);
std::string headline_markdown(const Publication& publication, const std::vector<Measured>& rows);

}  // namespace cffs::bench
