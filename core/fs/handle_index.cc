#include "core/fs/handle_index.h"

#include <algorithm>

#include "core/object/blocking_section.h"

namespace cffs {

Status HandleIndex::scan(InodeId ino) {
  // Taken over only when the scan is whole: after one that failed, what was known before is still what is known.
  std::vector<Named> names;
  const std::uint64_t first = ino.value > kWindow ? ino.value - kWindow : 0;
  const std::uint64_t last = ino.value + kWindow;
  const std::uint64_t epoch = locks_.epoch();
  CFFS_TRY_VOID(table_.scan_entries([&](Key key, const Row& row) {
    for (const Entry& entry : row.entries) {
      const bool near = entry.ino.value >= first && entry.ino.value <= last;
      if (near && !entry.name.empty()) names.push_back({entry.ino, key});
    }
    return true;
  }));
  std::sort(names.begin(), names.end(), [](const Named& a, const Named& b) { return a.ino < b.ino; });
  names_ = std::move(names);
  first_ = first;
  last_ = last;
  epoch_ = epoch;
  return {};
}

Result<std::optional<Key>> HandleIndex::find(InodeId ino, bool anew, bool& current) {
  const MutexLock guard(mutex_);
  const bool covered = ino.value >= first_ && ino.value <= last_;
  const auto known = [&]() CFFS_REQUIRES(mutex_) -> std::optional<Key> {
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

}  // namespace cffs
