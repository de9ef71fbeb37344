// What a repair does about the store's own notes, by which the next user would destroy what is there.
#include <algorithm>

#include "core/fs/removals.h"
#include "core/repair/repair.h"
#include "core/table/inode_counter.h"
#include "core/table/system_rows.h"
#include "core/table/table.h"

namespace cffs {

// A run of numbers beyond all that is there: what was removed, and a backup still has, may have had larger ones.
Status Repair::mend_counter() {
  constexpr SystemField kField = SystemField::first_unreserved;
  CFFS_TRY_VOID(numbers_.note_keys(fs_.table()));
  numbers_.note_catalogue(fs_.objects());
  CFFS_TRY(const auto names, fs_.objects().list(""));
  for (const std::string& name : names) numbers_.note_object(name);
  CFFS_TRY(const auto row, fs_.table().get(system_key(kField)));
  const auto counted = row ? decode_system_number(kField, *row) : Result<std::uint64_t>(kFirstInode);
  if (counted && *counted >= numbers_.next() && *counted <= kInodeLimit) return {};
  const std::uint64_t first = std::min(numbers_.next() + InodeCounter::kRun, kInodeLimit);
  CFFS_TRY_VOID(fs_.skip_inodes(InodeId{first}));
  mended("numbers of new files began at " + (counted ? std::to_string(*counted) : "what is no number") +
         ", and " + std::to_string(numbers_.next() - 1) + " had been used: " + std::to_string(first));
  return {};
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
  for (const PendingRemoval& removal : not_to_be_removed_) {
    const std::string what =
        removal.is_object() ? "object " + object_name(removal) : "inode " + std::to_string(removal.number);
    batch.erase(removal.key());
    mended(what + " waited for its removal, and a row names it: it stays");
  }
  return fs_.table().write(batch);
}

}  // namespace cffs
