// What cffs advise found, and how it is shown: as text, as JSON, as a page.
#pragma once

#include <optional>
#include <string>

#include "core/advise/recommendation.h"

namespace cffs::cli {

struct Advice {
  std::string directory;  // as it was named
  TreeSurvey survey;
  ContentSample sample;
  Duplicates duplicates;
  Prediction prediction;
  std::string judged_disk;            // in the prediction
  bool tried_imports = false;         // import times are of this machine as it is
  std::optional<std::string> remark;  // on how the disk was chosen
  std::optional<LogFindings> log;
  Recommendation recommendation;

  const DiskPrediction& on() const { return *prediction.disk(judged_disk); }
  // To make the store: lines of a shell.
  std::string commands() const;
};

// "empty", "to 1 KiB", ..., "above 64 MiB"; "to a day", ..., "above a year".
std::string size_class(std::size_t i);
std::string age_class(std::size_t i);
std::string seconds_text(double seconds);
// A word for a shell, in quotes where it needs them.
std::string shell_word(const std::string& word);

std::string advice_text(const Advice& advice);
std::string advice_json(const Advice& advice);
std::string advice_page(const Advice& advice);

}  // namespace cffs::cli
