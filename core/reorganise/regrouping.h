// Regrouping: re-forms the composites of a whole store by a policy, while it is in use or not.
//
// One walk in tree order collects every small file; the policy groups them; groups that already lie together stay, the
// others are written to new composites, each switched in one batch. So a regrouping can be stopped at any point and run
// again: what is done is then found in place. Users see nothing of it: inode numbers, times, open files stay, readers wait
// at most for the switch of one batch (rehousing.h). A file that changes meanwhile keeps its home and is grouped when
// quiet.
//
// Memory: about 200 bytes for each small file of the store.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "core/base/work_step.h"
#include "core/reorganise/reorganiser.h"

namespace cffs {

struct RegroupOptions {
  bool dry_run = false;
  std::uint64_t bytes_per_second = 0;       // 0: as fast as it goes
  WorkTeller on_progress;                   // from the calling thread; may be null
  const std::atomic<bool>* stop = nullptr;  // ends early, cleanly
  // The store's composites are compressed like this from now on, those that are there, too.
  std::optional<Compression> compression;
  // Files share what is the same of them from now on, those that are there, too; or no more come to it.
  std::optional<bool> dedupe;
};

struct RegroupReport {
  std::string policy;
  bool dry_run = false;
  bool stopped = false;
  std::uint64_t files = 0;   // small files looked at
  std::uint64_t groups = 0;  // of two and more files
  std::uint64_t groups_in_place = 0;
  std::uint64_t files_to_move = 0, bytes_to_move = 0;
  std::uint64_t files_moved = 0;
  // How many places on the medium hold the groups of two and more files: reads for fetching each once.
  std::uint64_t reads_before = 0, reads_after = 0;
  std::uint64_t composites_before = 0, composites_after = 0;
  std::uint64_t files_shared = 0, bytes_shared = 0;  // that have from now on what other files have
  std::uint64_t packed_anew = 0;  // composites whose objects were replaced by others with the same bytes
};

// Whether a group of `members` files that all lie at one place of `at_place` files stays there: a quarter of strangers is no
// reason to copy.
constexpr bool lies_in_place(std::size_t members, std::size_t at_place) {
  return at_place * 3 <= members * 4;
}

// Consolidation goes on between its steps. Under the policy reference what documents embed is looked at anew, and
// remembered.
// The store's policy stays as it is (core/reorganise/policy_adoption.h). A dry run changes nothing.
Result<RegroupReport> regroup(Reorganiser& reorganiser, const grouping::Policy& policy,
                              const RegroupOptions& options);
// Files stay where they are; only options.compression and options.dedupe are followed.
Result<RegroupReport> change_storage(Reorganiser& reorganiser, const RegroupOptions& options);
std::string regroup_json(const RegroupReport& report);

}  // namespace cffs
