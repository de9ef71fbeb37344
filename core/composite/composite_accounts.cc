#include "core/composite/composite_accounts.h"

#include <algorithm>

namespace cffs {

void CompositeAccounts::free(const Extent& extent, InodeId ino) {
  changes_[extent.composite].members -= 1;
  if (table_.sharing() != Sharing::never) return shared_.leave(extent, ino);
  forget(extent);
  if (extent.moved) changes_[extent.composite].moved_slots_gone.push_back(extent.slot);
}

void CompositeAccounts::forget(const Extent& extent) {
  Change& change = changes_[extent.composite];
  const auto length = static_cast<std::int64_t>(extent.length);
  change.live -= length;
  change.freed += length;
}

Result<bool> CompositeAccounts::share(const Extent& seen, const Inode& inode, const EntryName& at) {
  CFFS_TRY(const bool joined, shared_.join(seen, {inode.ino, at}));
  if (!joined) return false;
  Change& change = changes_[seen.composite];
  change.members += 1;
  change.mode |= inode.mode;
  return true;
}

void CompositeAccounts::move(const Extent& extent, InodeId ino, EntryName to) {
  if (table_.sharing() != Sharing::never) return shared_.move(extent, {ino, std::move(to)});
  moved_.insert_or_assign(Key::member_files(extent.composite, extent.slot), std::move(to));
}

void CompositeAccounts::add(const Extent& extent, const Inode& inode, std::uint8_t policy) {
  Change& change = changes_[extent.composite];
  change.live += static_cast<std::int64_t>(extent.length);
  change.members += 1;
  if (table_.sharing() != Sharing::never) shared_.own(extent, inode.ino);
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

// The records that are nobody's now are freed by it.
Status CompositeAccounts::write_shares(Batch& batch) {
  for (const auto& [key, at] : moved_) batch.put(key, encode_member_files({{{{}, at}}}));
  CFFS_TRY(const auto freed, shared_.write(batch));
  for (const Extent& extent : freed) forget(extent);
  return {};
}

Result<CompositeAccounts::Outcome> CompositeAccounts::write(Batch& batch) {
  CFFS_TRY_VOID(write_shares(batch));
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
    for (const std::uint32_t slot : change.moved_slots_gone) batch.erase(Key::member_files(id, slot));
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
