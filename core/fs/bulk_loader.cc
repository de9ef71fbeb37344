#include "core/fs/bulk_loader.h"

#include <map>
#include <utility>

#include "core/fs/check_name.h"
#include "core/fs/limits.h"

namespace cffs {
namespace {

}  // namespace

Result<std::vector<std::string>> BulkLoader::load(std::vector<std::vector<NewFile>> groups,
                                                  const grouping::Policy& policy, std::uint64_t table_bytes) {
  std::vector<std::vector<NewFile*>> files;
  for (auto& group : groups) {
    files.emplace_back();
    for (NewFile& file : group) {
      CFFS_TRY_VOID(check_new_name(file.name));
      if (!file.inode.is_regular() || !is_file_mode(file.inode.mode)) return fail(EINVAL, file.name);
      file.inode.ino = {};  // whoever brings it has none to say
      files.back().push_back(&file);
    }
  }
  Left left;
  CFFS_TRY_VOID(load(files, policy, table_bytes, true, left));
  while (!left.unplaced.empty() || !left.awaiting.empty()) {
    const bool with_others = left.unplaced.empty();
    if (with_others) claims_.wait_for(std::exchange(left.awaited, {}));
    files.assign(1, std::exchange(with_others ? left.awaiting : left.unplaced, {}));
    CFFS_TRY_VOID(load(files, policy, table_bytes, with_others, left));
  }
  return std::move(left.taken);
}

Status BulkLoader::load(const std::vector<std::vector<NewFile*>>& groups, const grouping::Policy& policy,
                        std::uint64_t table_bytes, bool with_others, Left& left) {
  std::unique_ptr<CompositeBuilder> builder;
  if (policy.makes_composites()) {
    CFFS_TRY(const std::uint64_t number, counter_.next());
    builder = std::make_unique<CompositeBuilder>(CompositeId{number}, 0, 0);
    if (table_.sharing() == Sharing::on) builder->share_contents();
  }
  Files files;
  std::uint64_t bytes = 0;  // for the composite
  std::size_t members = 0;
  for (const auto& group : groups) {
    for (const NewFile* const file : group) {
      if (file->content.size() <= table_bytes) continue;
      bytes += file->content.size();
      ++members;
    }
  }
  if (builder) builder->expect(members, bytes);
  ContentClaims::Held claims(claims_);  // until the rows are written, by which others find what was written
  for (const auto& group : groups) {
    for (NewFile* const file : group) {
      if (file->inode.ino.value == 0) {
        CFFS_TRY(file->inode.ino.value, counter_.next());
      }
      file->inode.size = file->content.size();
      file->inode.home = Home::none;
      file->inode.extent = {};
      if (builder && file->content.size() > table_bytes) {
        CFFS_TRY_VOID(place(*file, *builder, with_others, claims, files, left));
      } else {
        CFFS_TRY_VOID(space_.charge(file->content.size()));
        files.push_back({file, 0, {}, Placed::Content::table});
      }
    }
    if (builder) builder->end_group();
  }
  Made made;
  std::optional<CompositesAtWork::Mark> being_named;
  if (builder && !builder->extents().empty()) {
    made.builder = builder.get();
    being_named = composites_.being_named().begin(builder->id());
  }
  const auto write = [&]() -> Status {
    if (made.builder != nullptr) CFFS_TRY_VOID(make(*made.builder, files));
    for (std::size_t i = 0; i < files.size(); i += kRowsAtOnce) {
      const std::size_t n = std::min(kRowsAtOnce, files.size() - i);
      CFFS_TRY_VOID(insert(std::span(files).subspan(i, n), made, policy.id(), left));
    }
    return {};
  };
  Status done = write();
  if (made.builder != nullptr && !made.named) removals_.queue_composite(made.builder->id());
  return done;
}

// Where its content will be. Those that could not share what was there before are placed again without it.
Status BulkLoader::place(NewFile& file, CompositeBuilder& builder, bool with_others,
                         ContentClaims::Held& claims, Files& files, Left& left) {
  using Content = Placed::Content;
  using Answer = ContentClaims::Held::Answer;
  if (const auto same = builder.same_as(file.content)) {
    files.push_back({&file, *same, {}, Content::same});
    return {};
  }
  if (const auto content = with_others ? twins_.key_of(file.content) : std::nullopt) {
    const Answer answer = claims.claim(*content);
    if (answer == Answer::anothers) {
      left.awaiting.push_back(&file);
      left.awaited.push_back(*content);
      return {};
    }
    const auto twin = answer == Answer::taken ? twins_.find(*content, file.content) : std::nullopt;
    if (twin) {
      claims.give_up(*content);
      files.push_back({&file, 0, twin, Content::twin});
      return {};
    }
  }
  CFFS_TRY_VOID(space_.charge(file.content.size()));
  files.push_back({&file, builder.add(file.parent, file.name, file.inode, file.content), {}, Content::own});
  return {};
}

// Durable, before any row names it.
Status BulkLoader::make(const CompositeBuilder& composite, Files& files) {
  Batch intent;
  intent.put(PendingRemoval::of(composite.id()).key(), {});
  CFFS_TRY_VOID(table_.write(intent));
  CFFS_TRY_VOID(composites_.append(composite, /*sync=*/true, nullptr, CompositeStore::Content::all));
  for (Placed& placed : files) {
    if (placed.content == Placed::Content::same) placed.twin = composite.extents()[placed.extent_number];
    if (placed.content != Placed::Content::own) continue;
    placed.file->inode.home = Home::composite;
    placed.file->inode.extent = composite.extents()[placed.extent_number];
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
void BulkLoader::stop_counting(std::span<const Placed> files) const {
  InodeId last{0};
  for (const Placed& placed : files) {
    if (placed.file->parent == last) continue;
    last = placed.file->parent;
    if (const NodePtr directory = nodes_.find(last)) directory->entry_count.stop();
  }
}

// False: what it was to share is not there any more.
Result<bool> BulkLoader::join(CompositeAccounts& accounts, const Placed& placed) const {
  NewFile& file = *placed.file;
  CFFS_TRY(const bool joined, accounts.share(*placed.twin, file.inode, {file.parent, file.name}));
  if (!joined) return false;
  file.inode.home = Home::composite;
  file.inode.extent = *placed.twin;
  return true;
}

// A composite is named by the first batch that has a member of it; one that was named, and has no row, lost them all again, and its object
// with them.
Status BulkLoader::insert(std::span<const Placed> files, Made& made, grouping::PolicyId policy, Left& left) {
  std::vector<Key> keys;
  if (made.builder != nullptr) keys.push_back(Key::null_name(made.builder->id()));
  for (const Placed& placed : files) {
    keys.push_back(rows_.entry_key(placed.file->parent, placed.file->name));
    if (placed.twin) keys.push_back(Key::null_name(placed.twin->composite));
  }
  const RowLocks::Guard guard(locks_, keys);
  stop_counting(files);
  bool gone = false;
  if (made.named) {
    CFFS_TRY(const auto row, table_.get(Key::null_name(made.builder->id())));
    gone = !row;
  }
  Batch batch;
  batch.keep_data_in_rows();  // what the policy does not group stays there
  CompositeAccounts accounts(table_);
  std::map<Key, Row> rows;
  std::uint64_t inserted = 0;
  bool has_members = false;
  for (const Placed& placed : files) {
    NewFile* const file = placed.file;
    const bool own = placed.content == Placed::Content::own;
    CFFS_TRY(Row* const row, row_of(rows_.entry_key(file->parent, file->name), rows));
    Inode& inode = file->inode;
    if (row->find(file->name) != nullptr) {
      left.taken.push_back(file->name);
      if (own) made.wasted.push_back(inode.extent);
      continue;
    }
    bool has_place = !own || !gone;
    if (placed.twin) {
      CFFS_TRY(has_place, join(accounts, placed));
    }
    if (!has_place) {
      left.unplaced.push_back(file);
      continue;
    }
    if (own) {
      accounts.add(inode.extent, inode, static_cast<std::uint8_t>(policy));
      has_members = true;
    } else if (placed.content == Placed::Content::table && !file->content.empty()) {
      CFFS_TRY_VOID(homes_.put_chunks(batch, inode, 0, file->content));
      inode.home = Home::inline_;
    }
    if (!check_room(*row, file->name, &inode)) return fail(ENOSPC, file->name);
    row->insert(Entry{file->name, inode.ino, inode.mode & S_IFMT, inode});
    ++inserted;
  }
  for (const auto& [key, row] : rows) batch.put_row(key, row);
  if (has_members || (made.named && !gone)) {
    for (const Extent& extent : std::exchange(made.wasted, {})) accounts.waste(extent);
    batch.erase(PendingRemoval::of(made.builder->id()).key());
    accounts.grow(made.builder->id(), made.builder->object_bytes(), made.builder->slots());
  }
  CFFS_TRY_VOID(rows_.write(batch, accounts));
  stop_counting(files);  // of a node that came in between, too
  made.named = made.named || has_members;
  count_.added(inserted);
  return {};
}

}  // namespace cffs
