// Records what a command and all its children do to a tree, by running it under strace.
#pragma once

#include <string>
#include <vector>

#include "core/base/error.h"
#include "replay/import/load_trace.h"

namespace cffs::replay {

struct RecordedCommand {
  Trace trace;
  LoadReport report;
  int exit_code = 0;  // of the command; 128 + signal where one ended it
};

// `below`: the tree, an existing directory; it is listed before the command starts. The command's own input and output
// are left alone, and so are the signals of its terminal: Ctrl-C ends the command, and the recording with it, which is kept.
// An error where the command could not be run: what was recorded earlier must not give way to nothing.
Result<RecordedCommand> record_command(const std::vector<std::string>& command, const std::string& below);

}  // namespace cffs::replay
