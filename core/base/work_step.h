// How far a long job is, for whoever watches it: what it does just now, and how much of that is done.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace cffs {

struct WorkStep {
  static constexpr const char* kBytes = "bytes";

  std::string what;          // "moving"; another one is other work, with a pace of its own
  std::uint64_t done = 0;    // of its units
  std::uint64_t in_all = 0;  // 0: nobody knows yet
  std::string unit = {};     // "files", kBytes; empty: a step that is not counted
  std::string aside = {};    // what else there is to say: "3 damaged"
  // Where units differ (files of all sizes): what the time left goes by, in a unit of its own. 0: it goes by `done`.
  std::uint64_t effort = 0, effort_in_all = 0;
};

// Called now and then, mostly often: whoever shows it chooses.
using WorkTeller = std::function<void(const WorkStep&)>;
// For those who know the names of their steps alone. Null where `tell` is.
std::function<void(const std::string&)> tell_names(const WorkTeller& tell);

// From one process to another: a JSON object. What is none is a step without anything.
std::string step_json(const WorkStep& step);
WorkStep step_of_json(const std::string& json);

}  // namespace cffs
