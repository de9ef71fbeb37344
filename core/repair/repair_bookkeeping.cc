// What a repair does about the store's own notes, by which the next user would destroy what is there.
#include <algorithm>

#include "core/fs/file_count.h"
#include "core/fs/removals.h"
#include "core/repair/repair.h"
#include "core/table/inode_counter.h"
#include "core/table/system_rows.h"
#include "core/table/table.h"

namespace cffs {

// A run of numbers beyond all that is there: what was removed, and a backup still has, may have had larger ones.
Status Repair::mend_counter() {
  UsedNumbers& numbers = met_->numbers;
  CFFS_TRY(const UsedNumbers::Counter counter, numbers.judge_counter(fs_.table(), fs_.objects()));
  if (counter.is_good()) return {};
  const std::uint64_t first = std::min(numbers.next() + InodeCounter::kRun, kInodeLimit);
  CFFS_TRY_VOID(fs_.skip_inodes(InodeId{first}));
  mended("numbers of new files began at " +
         (counter.gives ? std::to_string(*counter.gives) : "what is no number") + ", and " +
         std::to_string(numbers.next() - 1) + " had been used: " + std::to_string(first));
  return {};
}

// Whoever mends leaves no other: what he writes besides is counted by nobody.
Status Repair::mend_file_count() {
  CFFS_TRY(const auto row, fs_.table().get(system_key(SystemField::file_count)));
  const auto counted = fs_.file_count();
  if (counted ? *counted == met_->files : !row) return {};
  mended("the store counted " + (counted ? std::to_string(*counted) : "no number of") + " files, and has " +
         std::to_string(met_->files) + ": its next mount counts anew");
  Batch batch;
  FileCount::erase(batch);
  return fs_.table().write(batch);
}

// The table has counted for itself when it was opened.
Status Repair::mend_values() {
  CFFS_TRY(const auto miscounted, fs_.table().find_miscounted_values());
  if (miscounted.empty()) return {};
  for (const std::string& sentence : miscounted) mended(sentence);
  Batch batch;
  fs_.table().save_values(batch);
  return fs_.table().write(batch);
}

// What a row names is not removed, whatever else the table says.
Status Repair::mend_removals() {
  Batch batch;
  for (const PendingRemoval& removal : met_->not_to_be_removed) {
    const std::string what =
        removal.is_object() ? "object " + object_name(removal) : "inode " + std::to_string(removal.number);
    batch.erase(removal.key());
    mended(what + " waited for its removal, and a row names it: it stays");
  }
  return fs_.table().write(batch);
}

}  // namespace cffs
