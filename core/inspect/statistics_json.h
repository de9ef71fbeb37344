// Statistics as programs read them (`cffs stat --json`).
#pragma once

#include "core/inspect/statistics.h"

namespace cffs {

std::string statistics_json(const Statistics& statistics);

}  // namespace cffs
