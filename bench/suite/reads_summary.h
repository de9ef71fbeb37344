// Cold reads of a tree, targets side by side: what each takes on its disk, and how fast it is beside ext4 of the same run.
#pragma once

#include "bench/suite/session.h"

namespace cffs::bench {

// Medians of the rounds. Without ext4 among the targets the last column is empty.
void print_reads_summary(const Session& session);

}  // namespace cffs::bench
