// Makes a trace's initial tree on a target.
#pragma once

#include <functional>
#include <string>

#include "core/base/error.h"
#include "replay/play/target.h"
#include "replay/trace/trace.h"

namespace cffs::replay {

// What a symlink of the trace that holds `text` holds on the target: absolute targets below the recorded root become relative ones,
// which lead to the same place below the target's. Those that lead out of the tree by their names, also by "..", lead nowhere; where
// others, or renames, make one lead out, a target follows it in no change (target.h). `path`: the symlink's own.
std::string symlink_target(const std::string& text, const std::string& path, const std::string& root);

// Below the target's root, which should be empty. Contents are what replays expect (model/content.h).
Status make_tree(const Trace& trace, Target& target, const std::function<void(std::size_t)>& progress = {});

}  // namespace cffs::replay
