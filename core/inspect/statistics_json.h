// Statistics as programs read them (`cffs stat --json`).
#pragma once

#include <string>

#include "core/inspect/statistics.h"

namespace cffs {

// `transport`: how requests come to the mount that serves the store; empty: there is no mount, and none is named.
std::string statistics_json(const Statistics& statistics, const std::string& transport = {});

}  // namespace cffs
