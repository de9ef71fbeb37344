// What `cffs replay` is told.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "replay/import/load_trace.h"
#include "replay/play/replay.h"

namespace cffs::cli {

struct ReplayFlags {
  std::vector<std::string> inputs;
  replay::LoadOptions load;
  replay::ReplayOptions replay;
  std::string target, library, hosts = "auto", think = "zero", cache = "as-is", check = "content", before,
                               results, name;
  double longest_idle_s = 1;
  double max_surprises = 0.01;  // share of the operations from which on a replay is no success
  bool predict = false, make_tree = false, cold = false, json = false;
  bool foreign_owner = false;  // of the library's store
};

void add_replay_flags(CLI::App& command, ReplayFlags& flags);
// Turns words into what a replay takes; a usage error where one has no meaning, or where two exclude each other.
Status settle(ReplayFlags& flags);

}  // namespace cffs::cli
