// What `cffs replay` prints: for people, or as JSON.
#pragma once

#include "cli/replay_flags.h"
#include "replay/import/load_trace.h"
#include "replay/play/replay.h"
#include "replay/trace/trace.h"

namespace cffs::cli {

// Says which directories a list of the tree before left out; nothing where it left out none.
void print_unlisted(const replay::LoadReport& report);
void print_input(const replay::Trace& trace, const replay::LoadReport& report);
void print_result(const replay::ReplayResult& result, const ReplayFlags& flags);
// On stdout; the first problem of the last round goes to stderr.
void print_json(const replay::ReplayResult& result, const ReplayFlags& flags, const replay::Trace& trace,
                const replay::LoadReport& report);

}  // namespace cffs::cli
