// A picture of a plan: its strongest groups and the links between their files, as SVG.
#pragma once

#include <string>

#include "grouping/plan.h"

namespace cffs::grouping {

// Draws at most `most_groups`. A file is a dot whose area follows its accesses; a line joins two files that sessions
// used together, the wider the larger the share of the more popular one's sessions. Lines inside a group are dark,
// those between groups pale.
std::string draw_plan(const Plan& plan, const Transactions& transactions, std::size_t most_groups = 12);

}  // namespace cffs::grouping
