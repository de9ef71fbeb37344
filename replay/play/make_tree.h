// Makes a trace's initial tree on a target.
#pragma once

#include <functional>
#include <string>

#include "core/base/error.h"
#include "replay/play/target.h"
#include "replay/trace/trace.h"

namespace cffs::replay {

// What a symlink of the trace that holds `text` holds on the target: absolute targets below the recorded root lead to the
// same place below the target's. Those that lead out of the tree, also by "..", lead nowhere, so that a replay touches
// nothing else. `path`: the symlink's own.
std::string symlink_target(const std::string& text, const std::string& path, const std::string& root,
                           const Target& target);

// Below the target's root, which should be empty. Contents are what replays expect (model/content.h).
Status make_tree(const Trace& trace, Target& target, const std::function<void(std::size_t)>& progress = {});

}  // namespace cffs::replay
