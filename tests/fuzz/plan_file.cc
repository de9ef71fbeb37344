// A plan file: SQLite's format, of which somebody else's file is read.
#include "core/plan/plan_database.h"
#include "grouping/plan_groups.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/scratch_file.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cffs;
  static fuzz::ScratchFile file;
  const auto plan = read_plan(file.with(fuzz::text_of(data, size)));
  if (!plan) {
    CFFS_INVARIANT(!plan.error().message().empty());
    return 0;
  }
  const grouping::PlanGroups groups(*plan);
  CFFS_INVARIANT(groups.size() <= plan->groups.size());
  return 0;
}
