// Names and lines of strangers, for sentences.
#pragma once

#include <string>
#include <string_view>

namespace cffs {

// Well-formed UTF-8 as it is; control characters, what turns the direction of writing or cannot be seen, other bytes and
// backslashes as \xNN.
std::string printable(std::string_view name);

}  // namespace cffs
