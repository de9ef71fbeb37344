// Groups by what they save (docs/adr/0032-groups-by-what-they-save.md): files and groups of files are merged, the pair that
// saves most first, as long as what is saved exceeds what is wasted.
//
// Two groups in one save a positioning for each session that uses both, and waste the bytes of the other for each session that
// uses one. A positioning counts as many bytes as the disk would have read meanwhile. What sessions did is all that is known: a
// cache in front of the disk is not part of it.
//
// Exact over the pairs that are looked at: of each file those kNeighbours that promise most. The same sessions give the same
// groups. Memory: the projection of the sessions, once more as a list of sessions for each file, and those pairs; time is
// bounded by kMostSteps: beyond, what has not been looked at is not merged.
#pragma once

#include "grouping/mining/group_selection.h"

namespace cffs::grouping {

struct BenefitOptions {
  double exchange_bytes = 0;  // a positioning's worth, above 0: exchange_bytes() of a disk has it
  // Sessions that must use two groups both before they are merged: one session is no habit.
  std::uint64_t min_together = 2;
  std::uint64_t max_bytes = SelectionOptions{}.max_bytes;
  std::size_t max_members = SelectionOptions{}.max_members;
};

// Groups of at least two files, a file in one at most; items of a group in the order in which they were merged, which
// order_groups() makes the most prevalent one. Of each group `support` is the sessions that use two of its files or more,
// `confidence` the share of its bytes that a session uses which touches it, on average of bytes; `last` is 0.
// `sizes`: bytes of each item; items beyond its end count as empty.
std::vector<SelectedGroup> benefit_groups(const Transactions& transactions,
                                          const std::vector<std::uint64_t>& sizes,
                                          const BenefitOptions& options);

}  // namespace cffs::grouping
