#include "core/fs/handle_index.h"

#include <algorithm>

#include "core/fs/file_system.h"
#include "core/object/blocking_section.h"

namespace cffs {

Status HandleIndex::scan(InodeId ino) {
  names_.clear();
  first_ = ino.value > kWindow ? ino.value - kWindow : 0;
  last_ = ino.value + kWindow;
  epoch_ = locks_.epoch();
  CFFS_TRY_VOID(table_.scan_entries([&](Key key, const Row& row) {
    for (const Entry& entry : row.entries) {
      const bool near = entry.ino.value >= first_ && entry.ino.value <= last_;
      if (near && !entry.name.empty()) names_.push_back({entry.ino, key});
    }
    return true;
  }));
  std::sort(names_.begin(), names_.end(), [](const Named& a, const Named& b) { return a.ino < b.ino; });
  return {};
}

Result<std::optional<Key>> HandleIndex::find(InodeId ino, bool anew, bool& current) {
  const std::lock_guard guard(mutex_);
  const bool covered = ino.value >= first_ && ino.value <= last_;
  const auto known = [&]() -> std::optional<Key> {
    const auto at = std::lower_bound(names_.begin(), names_.end(), ino,
                                     [](const Named& n, InodeId wanted) { return n.ino < wanted; });
    if (at == names_.end() || at->ino != ino) return {};
    return at->key;
  };
  std::optional<Key> key = covered ? known() : std::nullopt;
  if (!covered || ((anew || !key) && locks_.epoch() != epoch_)) {
    announce_blocking();
    CFFS_TRY_VOID(scan(ino));
    key = known();
  }
  current = locks_.epoch() == epoch_;
  return key;
}

// The node of an inode that may have been forgotten, found by its number, with a reference; ESTALE where it is gone.
Result<NodePtr> FileSystem::find_by_number(InodeId ino) {
  const auto referred = [&]() -> NodePtr {
    NodePtr live = nodes_.find(ino);
    return live ? nodes_.acquire(ino, [&] { return live; }) : nullptr;
  };
  if (NodePtr live = referred()) return live;
  bool anew = false;
  for (int attempt = 0; attempt < 3; ++attempt) {
    bool current = false;
    CFFS_TRY(const auto key, handles_->find(ino, anew, current));
    if (!key) return fail(ESTALE);
    CFFS_TRY(const Row row, table_->get_row(*key));
    const auto entry = std::find_if(row.entries.begin(), row.entries.end(),
                                    [ino](const Entry& e) { return e.ino == ino && !e.name.empty(); });
    if (entry == row.entries.end()) {
      if (current) return fail(ESTALE);
      anew = true;
      continue;
    }
    const InodeId parent{key->upper};
    CFFS_TRY_VOID(find_by_number(parent));
    const auto found = lookup(parent, entry->name);
    forget(parent, 1);
    if (found && found->ino == ino) return nodes_.find(ino);
    if (found) forget(found->ino, 1);
    anew = true;
  }
  return fail(ESTALE);
}

}  // namespace cffs
