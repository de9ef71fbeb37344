// What a repair does about entries that lie below another key than their own: nobody finds them by it.
#include <algorithm>
#include <map>

#include "core/base/printable.h"
#include "core/fs/rehousing.h"
#include "core/repair/repair.h"
#include "core/table/key_text.h"
#include "core/table/table.h"

namespace cffs {

// One whose inode has another row stays: which of the two is true nobody knows, and the check names them.
Status Repair::mend_misplaced() {
  if (met_->misplaced.empty()) return {};
  std::map<std::uint64_t, std::size_t> rows_of;
  for (const RowSurvey::Misplaced& entry : met_->misplaced) rows_of.try_emplace(entry.ino.value);
  CFFS_TRY_VOID(fs_.table().scan_entries([&](Key, const Row& row) {
    for (const Entry& entry : row.entries) {
      const auto counted = rows_of.find(entry.ino.value);
      if (entry.inode && counted != rows_of.end()) ++counted->second;
    }
    return true;
  }));
  for (const RowSurvey::Misplaced& entry : met_->misplaced) {
    if (entry.has_inode && rows_of[entry.ino.value] > 1) continue;
    CFFS_TRY_VOID(put_in_place(entry));
  }
  return look();
}

// To its own key; where somebody has that name, to /lost+found.
Status Repair::put_in_place(const RowSurvey::Misplaced& misplaced) {
  CFFS_TRY(Row from, fs_.table().get_row(misplaced.row));
  const Entry* const there = from.find(misplaced.name);
  if (there == nullptr) return {};
  Entry entry = *there;
  const bool is_null_name = misplaced.name.empty();
  const EntryName own{InodeId{misplaced.row.upper}, misplaced.name};
  Key key = is_null_name ? Key::null_name(entry.ino) : fs_.rehousing().entry_key(own);
  CFFS_TRY(bool free, is_free(key, entry.name));
  std::string where = "key " + key_text(key);
  if (!free && !is_null_name) {
    CFFS_TRY(const InodeId kept, lost_and_found());
    entry.name = "#" + std::to_string(entry.ino.value);
    key = fs_.rehousing().entry_key({kept, entry.name});
    CFFS_TRY(free, is_free(key, entry.name));
    where = "/lost+found/" + entry.name;
  }
  if (!free || key == misplaced.row) return {};
  CFFS_TRY(Row to, fs_.table().get_row(key));
  from.erase(misplaced.name);
  to.insert(std::move(entry));
  Batch batch;
  batch.put_row(misplaced.row, from);
  batch.put_row(key, to);
  CFFS_TRY_VOID(fs_.table().write(batch));
  mended("row " + key_text(misplaced.row) + " had " +
         (is_null_name ? "inode " + std::to_string(misplaced.ino.value)
                       : "'" + printable(misplaced.name) + "'") +
         ", whose key is another: it is at " + where);
  return {};
}

// Not where there is what cannot be read, or another kind of row.
Result<bool> Repair::is_free(Key key, const std::string& name) const {
  CFFS_TRY(const auto value, fs_.table().get(key));
  if (!value) return true;
  const auto row = decode_row(*value);
  return row && row->find(name) == nullptr && !name.empty();
}

}  // namespace cffs
