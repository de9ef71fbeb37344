// A plan: a stored set of groups, with where it comes from. In memory; core/plan keeps it in an SQLite file.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "grouping/mining/group_selection.h"

namespace cffs::grouping {

struct PlanInput {
  std::string name, format;
  std::uint64_t hash = 0, lines = 0, malformed = 0, accesses = 0, errors = 0, others = 0;
  std::int64_t first_ms = 0, last_ms = 0;
};

struct PlanFile {
  std::string path;  // relative to the root of the store
  std::uint64_t bytes = 0, accesses = 0, sessions = 0;
};

struct Plan {
  std::vector<std::pair<std::string, std::string>> parameters;
  std::vector<std::pair<std::string, std::uint64_t>> summary;
  std::vector<PlanInput> inputs;
  std::vector<PlanFile> files;  // index: item
  std::vector<Itemset> itemsets;
  std::vector<SelectedGroup> groups;  // the most used first
  // Largest group of a directory's files that are in none of these; 0: each is alone. nullopt: the plan does not say.
  std::optional<std::uint64_t> rest_bytes;
  std::uint64_t table_bytes = 0;  // files of at most so many are in none of these: they stay in the table
};

}  // namespace cffs::grouping
