// The rows of a file that has lost its own, as one batch: of one name, or a row by its number and names that lead there.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "core/fs/file_system.h"
#include "core/fs/rehousing.h"
#include "core/table/batch.h"
#include "core/table/row.h"
#include "core/table/table.h"

namespace cffs {

class NewRows {
 public:
  explicit NewRows(FileSystem& fs) : fs_(fs) {}

  // Names that are there and lead to the file stay; no other of these is there.
  Status put(const Inode& inode, const std::vector<EntryName>& names, bool is_linked) {
    const mode_t type = inode.mode & S_IFMT;
    if (is_linked) CFFS_TRY_VOID(insert(Key::null_name(inode.ino), Entry{"", inode.ino, type, inode}));
    for (const EntryName& at : names) {
      const std::optional<Inode> its = is_linked ? std::nullopt : std::optional(inode);
      CFFS_TRY_VOID(insert(fs_.rehousing().entry_key(at), Entry{at.name, inode.ino, type, its}));
    }
    return {};
  }
  void join(Batch& batch) const {
    for (const auto& [key, row] : rows_) batch.put_row(key, row);
  }

 private:
  Status insert(Key key, Entry entry) {
    const auto [at, is_new] = rows_.try_emplace(key);
    if (is_new) {
      CFFS_TRY(at->second, fs_.table().get_row(key));
    }
    if (at->second.find(entry.name) == nullptr) at->second.insert(std::move(entry));
    return {};
  }

  FileSystem& fs_;
  std::map<Key, Row> rows_;
};

}  // namespace cffs
