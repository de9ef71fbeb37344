// What came of an import, counted by all its threads.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "core/base/failures.h"
#include "core/base/mutex.h"

namespace cffs {

struct ImportReport : Failures {
  std::uint64_t files = 0, directories = 0, symlinks = 0, specials = 0, links = 0, bytes = 0;
  std::uint64_t under_way = 0;  // bytes of large files that are not whole yet, in none of these
  std::uint64_t same = 0, updated = 0, removed = 0;  // were there already; replaced others; were in no source
  std::uint64_t same_bytes = 0;                      // of those that were there already
  std::uint64_t left_over = 0;                       // temporaries of killed transfers, which went
  std::uint64_t archive_bytes = 0;                   // of archives, as they lie: read up to there
  std::uint64_t times_changed =
      0;                     // before 1677 or after 2262: the nearest that can be held is there instead
  bool out_of_room = false;  // it ended there
  bool interrupted = false;  // the rule `stop` ended it
};

class ImportTally {
 public:
  // `on_progress` is called at each change, from any thread, by one at a time; null: nobody is.
  explicit ImportTally(std::function<void(const ImportReport&)> on_progress)
      : on_progress_(std::move(on_progress)) {}

  template <typename Change>
  void count(Change change) {
    const MutexLock guard(mutex_);
    change(report_);
    if (on_progress_) on_progress_(report_);
  }
  ImportReport so_far() const {
    const MutexLock guard(mutex_);
    return report_;
  }

 private:
  const std::function<void(const ImportReport&)> on_progress_;
  mutable Mutex mutex_;  // held while on_progress is called
  ImportReport report_ CFFS_GUARDED_BY(mutex_);
};

}  // namespace cffs
