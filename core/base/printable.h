// Names and lines of strangers, for sentences.
#pragma once

#include <string>
#include <string_view>

namespace cffs {

// Control characters, bytes beyond ASCII and backslashes as \xNN.
std::string printable(std::string_view name);

}  // namespace cffs
