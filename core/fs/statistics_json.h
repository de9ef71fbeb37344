// Statistics as programs read them (`cffs stat --json`).
#pragma once

#include "core/fs/statistics.h"

namespace cffs {

std::string statistics_json(const Statistics& statistics);

}  // namespace cffs
