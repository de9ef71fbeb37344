#include "core/fs/home_switch.h"

#include "core/fs/long_parts.h"

namespace cffs {

Status HomeSwitch::add(std::size_t i, const FileToMove& file, std::uint8_t policy) {
  CFFS_TRY(Entry* const entry, unchanged(i, file));
  if (entry == nullptr) {
    if (builder_ != nullptr && !file.shares_extent) accounts_.waste(builder_->extents()[file.extent_number]);
    return {};
  }
  Inode inode = current(i, *entry);
  if (builder_ != nullptr && file.shares_extent) {
    CFFS_TRY(const bool shared, share(inode, builder_->extents()[file.extent_number], file.at));
    if (!shared) {
      refused_.push_back(i);
      return {};
    }
  } else if (builder_ != nullptr) {
    CFFS_TRY_VOID(to_composite(inode, builder_->extents()[file.extent_number], policy));
  } else if (inode.size <= parts_.format.inline_max) {
    CFFS_TRY_VOID(to_table(inode, file.content));
  } else if (inode.home == Home::blob) {
    return {};  // where it should be
  } else {
    // The stripes stay locked while the blob is written: nobody may meet the file between two homes. One file at a time
    // is moved like this, and only when a store gives up its composites.
    CFFS_TRY(const auto blob, parts_.homes.make_blob(inode, file.content));
    blobs_made_.push_back(inode.ino);
    CFFS_TRY_VOID(parts_.homes.take_blob(inode, batch_, accounts_, blob, true));
  }
  settle(i, *entry, std::move(inode));
  return {};
}

Status HomeSwitch::add_to_twin(std::size_t i, const FileToMove& file) {
  CFFS_TRY(Entry* const entry, unchanged(i, file));
  if (entry == nullptr) return {};
  Inode inode = current(i, *entry);
  CFFS_TRY(const bool shared, share(inode, *file.twin, file.at));
  if (shared) {
    settle(i, *entry, std::move(inode));
  } else {
    refused_.push_back(i);
  }
  return {};
}

Status HomeSwitch::offer(std::size_t i, const FileToMove& file) {
  CFFS_TRY(Entry* const entry, unchanged(i, file));
  if (entry == nullptr) return {};
  const Inode inode = current(i, *entry);
  if (inode.home == Home::composite) CFFS_TRY_VOID(accounts_.offer(inode.extent, inode.ino));
  return {};
}

Status HomeSwitch::seal(std::size_t i, const FileToMove& file) {
  CFFS_TRY(Entry* const entry, unchanged(i, file));
  if (entry == nullptr) return {};
  Inode inode = current(i, *entry);
  inode.sealed = true;
  settle(i, *entry, std::move(inode));
  return {};
}

Status HomeSwitch::write(bool first) {
  for (const auto& [key, row] : rows_) {
    if (!row.entries.empty()) batch_.put_row(key, row);
  }
  if (builder_ != nullptr) {
    if (first) batch_.erase(PendingRemoval::of(builder_->id()).key());
    accounts_.grow(builder_->id(), builder_->object_bytes(), builder_->slots());
  }
  CFFS_TRY_VOID(parts_.rows.write(batch_, accounts_));
  for (auto& [node, inode] : changed_) {
    if (!node) continue;
    node->mutex.assert_held();
    node->inode = std::move(inode);
    node->row_stale = false;
    node->verified.store(0, std::memory_order_relaxed);
  }
  for (const InodeId ino : blobs_left_) parts_.removals.queue_blob(ino);
  return {};
}

void HomeSwitch::give_up() {
  for (const InodeId ino : blobs_made_) parts_.homes.drop_blob(ino);
}

std::vector<Key> HomeSwitch::keys_of(const CompositeBuilder* builder, std::span<const FileToMove> files) {
  std::vector<Key> keys;
  if (builder != nullptr) keys.push_back(Key::null_name(builder->id()));
  for (const FileToMove& file : files) {
    keys.push_back(file.row_key);
    if (file.inode.home == Home::composite) keys.push_back(Key::null_name(file.inode.extent.composite));
    if (file.twin) keys.push_back(Key::null_name(file.twin->composite));
  }
  return keys;
}

std::vector<NodePtr> HomeSwitch::nodes_of(NodeTable& table, std::span<const FileToMove> files) {
  std::vector<NodePtr> nodes;
  for (const FileToMove& file : files) nodes.push_back(table.find(file.inode.ino));
  return nodes;
}

void HomeSwitch::settle(std::size_t i, Entry& entry, Inode inode) {
  Inode whole = inode;
  take_long_parts(whole, *entry.inode);
  entry.inode = std::move(whole);
  leave_long_parts(inode);
  changed_.emplace_back(live_[i], std::move(inode));
}

Inode HomeSwitch::current(std::size_t i, const Entry& entry) const {
  const NodePtr& node = live_[i];
  if (!node) return *entry.inode;
  node->mutex.assert_held();
  return node->inode;
}

Result<Entry*> HomeSwitch::unchanged(std::size_t i, const FileToMove& file) {
  const auto known = rows_.find(file.row_key);
  if (known == rows_.end()) {
    CFFS_TRY(Row loaded, parts_.table.get_row(file.row_key));
    rows_.emplace(file.row_key, std::move(loaded));
  }
  const bool null_name = file.row_key == Key::null_name(file.inode.ino);
  Entry* const entry = rows_[file.row_key].find(null_name ? std::string_view() : file.at.name);
  if (entry == nullptr || !entry->inode || entry->ino != file.inode.ino) return nullptr;
  // Once is enough: nodes change after the batch, so a second time would look like the first.
  if (!met_.insert(entry->ino).second) return nullptr;
  if (const NodePtr& node = live_[i]) {
    node->mutex.assert_held();
    return same_content(node->inode, file.inode) && !node->unlinked ? entry : nullptr;
  }
  return same_content(*entry->inode, file.inode) ? entry : nullptr;
}

Status HomeSwitch::leave(Inode& inode) {
  CFFS_TRY_VOID(parts_.homes.leave(batch_, accounts_, inode));
  if (inode.home == Home::blob) blobs_left_.push_back(inode.ino);
  inode.allocated = 0;
  inode.sealed = false;
  return {};
}

Status HomeSwitch::to_composite(Inode& inode, const Extent& extent, std::uint8_t policy) {
  CFFS_TRY_VOID(leave(inode));
  inode.home = Home::composite;
  inode.extent = extent;
  accounts_.add(inode.extent, inode, policy);
  return {};
}

Result<bool> HomeSwitch::share(Inode& inode, const Extent& extent, const EntryName& at) {
  CFFS_TRY(const bool shared, accounts_.share(extent, inode, at));
  if (!shared) return false;
  CFFS_TRY_VOID(leave(inode));
  inode.home = Home::composite;
  inode.extent = extent;
  return true;
}

Status HomeSwitch::to_table(Inode& inode, std::string_view content) {
  CFFS_TRY_VOID(leave(inode));
  inode.home = Home::none;
  inode.extent = {};
  batch_.keep_data_in_rows();
  CFFS_TRY_VOID(parts_.homes.put_chunks(batch_, inode, 0, content));
  inode.home = inode.size > 0 ? Home::inline_ : Home::none;
  return {};
}

}  // namespace cffs
