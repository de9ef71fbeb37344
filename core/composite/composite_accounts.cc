#include "core/composite/composite_accounts.h"

#include <algorithm>

namespace cffs {

void CompositeAccounts::free(const Extent& extent) {
  Change& change = changes_[extent.composite];
  const auto length = static_cast<std::int64_t>(extent.length);
  change.live -= length;
  change.freed += length;
  change.members -= 1;
  if (extent.moved) change.moved_slots_gone.push_back(extent.slot);
}

void CompositeAccounts::add(const Extent& extent, const Inode& inode, std::uint8_t policy) {
  Change& change = changes_[extent.composite];
  change.live += static_cast<std::int64_t>(extent.length);
  change.members += 1;
  change.mode |= inode.mode;
  if (!change.has_owner) {
    change.uid = inode.uid;
    change.gid = inode.gid;
    change.has_owner = true;
  }
  change.policy = policy;
}

void CompositeAccounts::waste(const Extent& extent) {
  changes_[extent.composite].freed += static_cast<std::int64_t>(extent.length);
}

void CompositeAccounts::grow(CompositeId id, std::uint64_t object_bytes, std::uint64_t slots) {
  Change& change = changes_[id];
  change.size = object_bytes;
  change.slots = slots;
}

Result<CompositeAccounts::Outcome> CompositeAccounts::write(Batch& batch) {
  Outcome outcome;
  for (const auto& [id, change] : changes_) {
    CFFS_TRY(const auto value, table_.get(Key::null_name(id)));
    CompositeRow row;
    if (value) {
      CFFS_TRY(row, decode_composite_row(*value));
    }
    if (!value && change.has_owner) {
      row.uid = change.uid;
      row.gid = change.gid;
      row.policy = change.policy;
    }
    row.mode |= change.mode;
    const auto shift = [](std::uint64_t& field, std::int64_t by) {
      const auto now = static_cast<std::int64_t>(field) + by;
      field = now < 0 ? 0 : static_cast<std::uint64_t>(now);
    };
    shift(row.live_bytes, change.live);
    shift(row.freed_bytes, change.freed);
    shift(row.members, change.members);
    row.size = std::max(row.size, change.size);
    row.slots = std::max(row.slots, change.slots);
    for (const std::uint32_t slot : change.moved_slots_gone) batch.erase(Key::moved_member(id, slot));
    if (row.members == 0) {
      batch.erase(Key::null_name(id));
      batch.put(PendingRemoval::of(id).key(), {});
      outcome.emptied.push_back(id);
      continue;
    }
    batch.put(Key::null_name(id), encode_composite_row(row));
    if (change.freed > 0) outcome.freed.emplace_back(id, static_cast<std::uint64_t>(change.freed));
    if (row.is_wasteful()) outcome.wasteful.push_back(id);
  }
  return outcome;
}

}  // namespace cffs
