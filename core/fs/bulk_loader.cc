#include "core/fs/bulk_loader.h"

#include <map>

#include "core/base/checksum.h"

namespace cffs {

std::uint64_t BulkLoader::largest() const {
  return fs_.policy()->makes_composites() ? fs_.format_.composite_file_max : fs_.format_.inline_max;
}

Result<std::vector<std::string>> BulkLoader::load(std::vector<std::vector<NewFile>> groups) {
  constexpr std::size_t kBatchRows = 256;
  std::unique_ptr<CompositeBuilder> builder;
  if (fs_.policy()->makes_composites()) {
    CFFS_TRY(const std::uint64_t number, fs_.counter_->next());
    builder = std::make_unique<CompositeBuilder>(CompositeId{number}, 0, 0);
  }
  std::vector<std::string> taken;
  std::vector<NewFile*> files;
  for (auto& group : groups) {
    for (NewFile& file : group) {
      CFFS_TRY_VOID(fs_.space_.charge(file.content.size()));
      CFFS_TRY(file.inode.ino.value, fs_.counter_->next());
      file.inode.size = file.content.size();
      file.inode.home = Home::none;
      files.push_back(&file);
      if (!builder || file.content.empty()) continue;
      (void)builder->add(file.parent, file.name, file.inode, file.content);
    }
    if (builder) builder->end_group();
  }
  const bool has_composite = builder && !builder->extents().empty();
  if (has_composite) {
    Batch intent;
    intent.put(pending_key(builder->id()), {});
    CFFS_TRY_VOID(fs_.table_->write(intent));
    CFFS_TRY_VOID(fs_.composites_.append(*builder, /*sync=*/true));  // before any row names it
    std::size_t next = 0;
    for (NewFile* file : files) {
      if (file->content.empty()) continue;
      file->inode.home = Home::composite;
      file->inode.extent = builder->extents()[next++];
    }
  }
  for (std::size_t i = 0; i < files.size(); i += kBatchRows) {
    const std::size_t n = std::min(kBatchRows, files.size() - i);
    CFFS_TRY_VOID(insert(std::span(files).subspan(i, n), has_composite ? builder.get() : nullptr, taken));
  }
  return taken;
}

Status BulkLoader::insert(std::span<NewFile*> files, const CompositeBuilder* builder,
                          std::vector<std::string>& taken) {
  std::vector<Key> keys;
  if (builder != nullptr) keys.push_back(Key::null_name(builder->id()));
  for (const NewFile* file : files) keys.push_back(fs_.entry_key(file->parent, file->name));
  const RowLocks::Guard guard(fs_.locks_, keys);
  Batch batch;
  CompositeAccounts accounts(*fs_.table_);
  std::map<Key, Row> rows;
  std::uint64_t inserted = 0;
  for (NewFile* file : files) {
    const Key key = fs_.entry_key(file->parent, file->name);
    if (!rows.contains(key)) {
      CFFS_TRY(Row loaded, fs_.table_->get_row(key));
      for (const Entry& entry : loaded.entries) {
        const NodePtr neighbour = entry.inode ? fs_.nodes_.find(entry.ino) : nullptr;
        if (neighbour) neighbour->row_alone = false;
      }
      rows.emplace(key, std::move(loaded));
    }
    Row& row = rows[key];
    Inode& inode = file->inode;
    if (row.find(file->name) != nullptr) {
      taken.push_back(file->name);
      if (inode.home == Home::composite) accounts.waste(inode.extent);
      continue;
    }
    if (inode.home == Home::composite) {
      accounts.add(inode.extent, inode, static_cast<std::uint8_t>(fs_.policy()->id()));
    } else if (!file->content.empty()) {
      CFFS_TRY_VOID(fs_.put_chunks(batch, inode, 0, file->content));
      inode.home = Home::inline_;
    }
    row.insert(Entry{file->name, inode.ino, inode.mode & S_IFMT, inode});
    ++inserted;
  }
  for (const auto& [key, row] : rows) batch.put_row(key, row);
  if (builder != nullptr) {
    batch.erase(pending_key(builder->id()));
    accounts.grow(builder->id(), builder->object_bytes(), builder->slots());
  }
  CFFS_TRY_VOID(fs_.write_accounted(batch, accounts));
  fs_.file_count_->added(inserted);
  return {};
}

}  // namespace cffs
