// What a sentence shows of a line that it is about.
#pragma once

#include <string>
#include <string_view>

#include "core/base/printable.h"

namespace cffs::replay {

// Its first 120 bytes, those that a terminal would obey or cannot show as \xNN: a log holds what strangers asked for.
inline std::string line_sample(std::string_view line) { return printable(line.substr(0, 120)); }

}  // namespace cffs::replay
