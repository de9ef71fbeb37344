// What can be read of a file that may vanish, or end, while it is read: a process's own in /proc, say.
#pragma once

#include <optional>
#include <string>

namespace cffs {

// The bytes up to where reading fails, or to the end; nothing where the file cannot be opened. Does not throw: a stream's
// iterators do, where the process whose file it is has ended.
std::optional<std::string> readable_text(const std::string& path);

}  // namespace cffs
