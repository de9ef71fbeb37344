// Mounts whose daemon is gone: the kernel answers everything with ENOTCONN, which tells nobody what to do.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace cffs::cli {

// What to say where one of the words of a command line (or the value of one of its options) leads into such a mount: what happened, and
// the two commands that help. nullopt: none does.
std::optional<std::string> dead_mount_among(const std::vector<std::string>& words);

}  // namespace cffs::cli
