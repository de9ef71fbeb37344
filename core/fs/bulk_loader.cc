#include "core/fs/bulk_loader.h"

#include <map>

#include "core/fs/check_name.h"
#include "core/fs/limits.h"

namespace cffs {

Result<std::vector<std::string>> BulkLoader::load(std::vector<std::vector<NewFile>> groups,
                                                  const grouping::Policy& policy, std::uint64_t table_bytes) {
  for (const auto& group : groups) {
    for (const NewFile& file : group) CFFS_TRY_VOID(check_new_name(file.name));
  }
  std::unique_ptr<CompositeBuilder> builder;
  if (policy.makes_composites()) {
    CFFS_TRY(const std::uint64_t number, counter_.next());
    builder = std::make_unique<CompositeBuilder>(CompositeId{number}, 0, 0);
  }
  Files files, members;
  for (auto& group : groups) {
    for (NewFile& file : group) {
      CFFS_TRY_VOID(space_.charge(file.content.size()));
      CFFS_TRY(file.inode.ino.value, counter_.next());
      file.inode.size = file.content.size();
      file.inode.home = Home::none;
      files.push_back(&file);
      if (!builder || file.content.size() <= table_bytes) continue;
      (void)builder->add(file.parent, file.name, file.inode, file.content);
      members.push_back(&file);
    }
    if (builder) builder->end_group();
  }
  const CompositeBuilder* const composite = members.empty() ? nullptr : builder.get();
  std::vector<std::string> taken;
  bool named = false;  // a row says that there is such a composite
  const auto write = [&]() -> Status {
    if (composite != nullptr) CFFS_TRY_VOID(make(*composite, members));
    for (std::size_t i = 0; i < files.size(); i += kRowsAtOnce) {
      const std::size_t n = std::min(kRowsAtOnce, files.size() - i);
      CFFS_TRY_VOID(insert(std::span(files).subspan(i, n), composite, policy.id(), taken));
      named = true;
    }
    return {};
  };
  Status done = write();
  if (!done && composite != nullptr && !named) removals_.queue_composite(composite->id());
  if (!done) return fail(std::move(done).error());
  return taken;
}

// Durable, before any row names it.
Status BulkLoader::make(const CompositeBuilder& composite, const Files& members) {
  Batch intent;
  intent.put(PendingRemoval::of(composite.id()).key(), {});
  CFFS_TRY_VOID(table_.write(intent));
  CFFS_TRY_VOID(composites_.append(composite, /*sync=*/true, nullptr, CompositeStore::Content::all));
  for (std::size_t i = 0; i < members.size(); ++i) {
    members[i]->inode.home = Home::composite;
    members[i]->inode.extent = composite.extents()[i];
  }
  return {};
}

// The row to add an entry to. Nodes that shared it with nobody until now learn that they do.
Result<Row*> BulkLoader::row_of(Key key, std::map<Key, Row>& rows) const {
  const auto known = rows.find(key);
  if (known != rows.end()) return &known->second;
  CFFS_TRY(Row loaded, table_.get_row(key));
  for (const Entry& entry : loaded.entries) {
    const NodePtr neighbour = entry.inode ? nodes_.find(entry.ino) : nullptr;
    if (neighbour) neighbour->row_alone = false;
  }
  return &rows.emplace(key, std::move(loaded)).first->second;
}

// Entries come to directories that nobody has locked, and may be there already.
void BulkLoader::stop_counting(std::span<NewFile* const> files) const {
  InodeId last{0};
  for (const NewFile* file : files) {
    if (file->parent == last) continue;
    last = file->parent;
    if (const NodePtr directory = nodes_.find(last)) directory->entries_at_most = Node::kUncounted;
  }
}

Status BulkLoader::insert(std::span<NewFile*> files, const CompositeBuilder* builder,
                          grouping::PolicyId policy, std::vector<std::string>& taken) {
  std::vector<Key> keys;
  if (builder != nullptr) keys.push_back(Key::null_name(builder->id()));
  for (const NewFile* file : files) keys.push_back(rows_.entry_key(file->parent, file->name));
  const RowLocks::Guard guard(locks_, keys);
  stop_counting(files);
  Batch batch;
  batch.keep_data_in_rows();  // what the policy does not group stays there
  CompositeAccounts accounts(table_);
  std::map<Key, Row> rows;
  std::uint64_t inserted = 0;
  for (NewFile* file : files) {
    CFFS_TRY(Row* const row, row_of(rows_.entry_key(file->parent, file->name), rows));
    Inode& inode = file->inode;
    if (row->find(file->name) != nullptr) {
      taken.push_back(file->name);
      if (inode.home == Home::composite) accounts.waste(inode.extent);
      continue;
    }
    if (inode.home == Home::composite) {
      accounts.add(inode.extent, inode, static_cast<std::uint8_t>(policy));
    } else if (!file->content.empty()) {
      CFFS_TRY_VOID(homes_.put_chunks(batch, inode, 0, file->content));
      inode.home = Home::inline_;
    }
    if (!check_room(*row, file->name, &inode)) return fail(ENOSPC, file->name);
    row->insert(Entry{file->name, inode.ino, inode.mode & S_IFMT, inode});
    ++inserted;
  }
  for (const auto& [key, row] : rows) batch.put_row(key, row);
  if (builder != nullptr) {
    batch.erase(PendingRemoval::of(builder->id()).key());
    accounts.grow(builder->id(), builder->object_bytes(), builder->slots());
  }
  CFFS_TRY_VOID(rows_.write(batch, accounts));
  count_.added(inserted);
  return {};
}

}  // namespace cffs
