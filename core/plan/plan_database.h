// Plans as SQLite files, to be looked into with plain sqlite3. The tables are described in docs/GROUPING.md.
//
// Writing goes to a new file that then takes the name, so a plan is there whole or not at all. The same plan gives the
// same bytes. A reader refuses a file that is no plan, or one of a newer version, by name.
#pragma once

#include <string>

#include "core/base/error.h"
#include "grouping/plan.h"

namespace cffs {

inline constexpr int kPlanVersion = 1;

Status write_plan(const std::string& path, const grouping::Plan& plan);
// Parameters, files and groups: what placing files needs. Itemsets stay in the file.
Result<grouping::Plan> read_plan(const std::string& path);
// Whether the file says of itself that it is a plan; what cannot be read is none, and pipes are left alone.
bool is_plan_file(const std::string& path);

}  // namespace cffs
