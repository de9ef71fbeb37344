#include "core/follow/state_changes.h"

#include <algorithm>
#include <map>

#include "core/table/table.h"

namespace cffs {
namespace {

Result<Row> entries_at(const Table& table, Key key) {
  CFFS_TRY(const auto value, table.get(key));
  if (!value || row_kind(key, *value) != RowKind::entries) return Row();
  return decode_row(*value);
}

class Comparison {
 public:
  explicit Comparison(StateChanges& changes) : changes_(changes) {}

  void compare(Key key, const Row& before, const Row& after) {
    const bool is_name = key.lower != 0;
    bool other_names = false;
    for (const Entry& old : before.entries) {
      const Entry* const now = after.find(old.name);
      const bool same = now != nullptr && now->ino == old.ino && now->type == old.type &&
                        now->inode.has_value() == old.inode.has_value();
      if (same && old.inode) compare(*old.inode, *now->inode);
      if (same) continue;
      other_names = other_names || now == nullptr || now->ino != old.ino;
      if (is_name) changes_.names.push_back({InodeId{key.upper}, old.name});
      if (old.inode) left_[old.ino] = *old.inode;
    }
    for (const Entry& now : after.entries) {
      const Entry* const old = before.find(now.name);
      if (is_name) changes_.places.emplace_back(now.ino, EntryName{InodeId{key.upper}, now.name});
      if (old == nullptr) {
        other_names = true;
        if (is_name) changes_.names.push_back({InodeId{key.upper}, now.name});
      }
      const bool same = old != nullptr && old->ino == now.ino && old->inode.has_value() == now.inode.has_value();
      if (!same && now.inode) arrived_[now.ino] = *now.inode;
    }
    if (other_names && is_name) changes_.listings.push_back(InodeId{key.upper});
  }

  // What left one row and is in another was moved.
  void end() {
    for (const auto& [ino, old] : left_) {
      const auto now = arrived_.find(ino);
      if (now == arrived_.end()) {
        changes_.gone.push_back(ino);
      } else {
        compare(old, now->second);
      }
    }
    auto& listings = changes_.listings;
    std::sort(listings.begin(), listings.end());
    listings.erase(std::unique(listings.begin(), listings.end()), listings.end());
  }

 private:
  void compare(const Inode& old, const Inode& now) {
    if (old.is_regular() && !has_same_content(old, now)) {
      changes_.contents.push_back(old.ino);
    } else if (!has_same_attributes(old, now)) {
      changes_.attributes.push_back(old.ino);
    }
  }

  StateChanges& changes_;
  std::map<InodeId, Inode> left_, arrived_;
};

}  // namespace

bool has_same_content(const Inode& a, const Inode& b) { return a.version == b.version && a.size == b.size; }

bool has_same_attributes(const Inode& a, const Inode& b) {
  return a.mode == b.mode && a.uid == b.uid && a.gid == b.gid && a.nlink == b.nlink && a.size == b.size &&
         a.atime_ns == b.atime_ns && a.mtime_ns == b.mtime_ns && a.ctime_ns == b.ctime_ns && a.rdev == b.rdev &&
         a.xattrs == b.xattrs;
}

Result<StateChanges> compare_states(const Table& before, const Table& after, const std::set<Key>& keys) {
  StateChanges changes;
  Comparison comparison(changes);
  for (const Key key : keys) {
    if (key.tag() != KeyTag::namespace_) continue;
    CFFS_TRY(const Row old, entries_at(before, key));
    CFFS_TRY(const Row now, entries_at(after, key));
    comparison.compare(key, old, now);
  }
  comparison.end();
  return changes;
}

}  // namespace cffs
