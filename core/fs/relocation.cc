#include "core/fs/relocation.h"

#include <algorithm>
#include <map>

#include "core/base/bytes.h"
#include "core/fs/locking.h"
#include "grouping/packing.h"

namespace cffs {

// The file of this entry, if it is one that should move.
std::optional<Relocation::Member> Relocation::candidate(Key key, InodeId directory, const Entry& entry,
                                                        bool any_home) const {
  if (entry.name.empty() || (entry.type & S_IFMT) != S_IFREG) return {};
  Member member{key, directory, entry.name, {}, {}, 0};
  if (!entry.inode) member.row_key = Key::null_name(entry.ino);
  if (const NodePtr live = fs_.nodes_.find(entry.ino)) {
    const std::shared_lock guard(live->mutex);
    if (live->unlinked) return {};
    member.inode = live->inode;
  } else if (entry.inode) {
    member.inode = *entry.inode;
  } else if (auto inode = fs_.linked_inode(entry.ino)) {
    member.inode = std::move(*inode);
  } else {
    return {};
  }
  const bool composites = policy_->makes_composites();
  const std::uint64_t most = composites || any_home ? fs_.format_.composite_file_max : fs_.format_.inline_max;
  const bool movable =
      any_home || member.inode.home == Home::blob || (composites && member.inode.home == Home::inline_);
  if (!movable || member.inode.size > most) return {};
  return member;
}

Result<std::optional<Relocation::Member>> Relocation::locate(const StoreTree::Place& place,
                                                             std::uint64_t file) const {
  const Key key = fs_.entry_key(place.parent, place.name);
  CFFS_TRY(const Row row, fs_.table_->get_row(key));
  const Entry* entry = row.find(place.name);
  if (entry != nullptr && entry->ino.value == file) return candidate(key, place.parent, *entry, true);
  // Renamed since; while somebody uses it, its node knows.
  const NodePtr live = fs_.nodes_.find(InodeId{file});
  if (!live) return std::optional<Member>();
  StoreTree::Place now;
  {
    const std::shared_lock guard(live->mutex);
    if (!live->parent || live->unlinked) return std::optional<Member>();
    now = {live->parent->ino, live->name};
  }
  const Key new_key = fs_.entry_key(now.parent, now.name);
  CFFS_TRY(const Row new_row, fs_.table_->get_row(new_key));
  const Entry* moved = new_row.find(now.name);
  if (moved == nullptr || moved->ino.value != file) return std::optional<Member>();
  return candidate(new_key, now.parent, *moved, true);
}

Result<std::vector<Relocation::Member>> Relocation::candidates(InodeId directory,
                                                               std::int64_t quiet_before_ns,
                                                               bool& waiting) const {
  std::vector<Member> found;
  Status problem;
  const auto visit = [&](Key key, std::string_view value) {
    const auto row = decode_row(value);
    if (!row) {
      problem = fail(row.error());
      return false;
    }
    for (const Entry& entry : row->entries) {
      auto member = candidate(key, directory, entry, false);
      if (!member) continue;
      if (member->inode.ctime_ns > quiet_before_ns) {
        waiting = true;
      } else {
        found.push_back(std::move(*member));
      }
    }
    return true;
  };
  CFFS_TRY_VOID(fs_.table_->scan(Key::entry(directory, 0), Key::entry(directory, ~std::uint64_t{0}), visit));
  CFFS_TRY_VOID(problem);
  return found;
}

Status Relocation::consolidate(const std::vector<InodeId>& directories, std::int64_t quiet_before_ns,
                               std::vector<InodeId>& waiting) {
  policy_ = fs_.policy();
  std::vector<Member> members;
  std::uint64_t bytes = 0;
  const auto move = [&]() -> Status {
    bytes = 0;
    return move_all(std::exchange(members, {}), quiet_before_ns);
  };
  for (const InodeId directory : directories) {
    bool not_yet = false;
    CFFS_TRY(auto found, candidates(directory, quiet_before_ns, not_yet));
    if (not_yet) waiting.push_back(directory);
    for (Member& member : found) {
      bytes += member.inode.size;
      members.push_back(std::move(member));
      // A slice bounds the memory; it ends where a composite would anyway.
      if (bytes >= fs_.format_.composite_max) CFFS_TRY_VOID(move());
    }
  }
  if (!members.empty()) CFFS_TRY_VOID(move());
  if (std::exchange(tail_vanished_, false)) waiting = directories;  // some found no place this time
  return {};
}

Result<bool> Relocation::read_content(Member& member) const {
  if (const NodePtr live = fs_.nodes_.find(member.inode.ino)) {
    const std::shared_lock guard(live->mutex);
    if (live->unlinked || live->inode.home != member.inode.home) return false;
    member.inode = live->inode;
  }
  if (member.inode.home == Home::blob) {
    auto object = fs_.blobs_.open(member.inode.ino);
    if (!object && object.error().errno_value == ENOENT) return false;
    if (!object) return fail(object.error());
    member.content.resize(member.inode.size);
    CFFS_TRY(const std::size_t n, (*object)->read_at(0, as_writable_bytes(member.content)));
    return n == member.content.size();
  }
  auto content = fs_.load_small(member.inode, nullptr);
  if (!content && member.inode.home == Home::composite) {
    // All members may have gone while this one was looked at, and the composite with them; else it is damage.
    CFFS_TRY(const auto row, fs_.table_->get(Key::null_name(member.inode.extent.composite)));
    if (!row) return false;
  }
  if (!content) return fail(content.error());
  member.content = std::move(*content);
  return true;
}

Status Relocation::move_all(std::vector<Member> members, std::int64_t quiet_before_ns) {
  // Two names of one file are one member; empty files need no home, only to leave the one they have.
  std::set<InodeId> seen;
  std::vector<Member> ready;
  for (Member& member : members) {
    if (!seen.insert(member.inode.ino).second) continue;
    CFFS_TRY(const bool readable, read_content(member));
    if (readable) ready.push_back(std::move(member));
  }
  std::size_t moved = 0;
  std::vector<Member> homeless;
  if (policy_->makes_composites()) {
    const auto first_empty =
        std::stable_partition(ready.begin(), ready.end(), [](const Member& m) { return m.inode.size > 0; });
    std::move(first_empty, ready.end(), std::back_inserter(homeless));
    ready.erase(first_empty, ready.end());
  } else {
    homeless = std::exchange(ready, {});
  }
  for (std::size_t i = 0; i < homeless.size(); i += kSwitchRows) {
    const std::size_t n = std::min(kSwitchRows, homeless.size() - i);
    CFFS_TRY_VOID(switch_rows(nullptr, std::span(homeless).subspan(i, n), false, moved));
  }
  if (ready.empty()) return {};

  CFFS_TRY(std::vector<grouping::Group> chosen, affiliate(ready, quiet_before_ns));
  std::vector<grouping::Candidate> candidates;
  for (const Member& member : ready) candidates.push_back({member.parent.value, member.inode.size, {}, 0});
  const std::uint64_t most = fs_.format_.composite_max;
  std::vector<bool> taken(ready.size());
  for (const grouping::Group& group : chosen) {
    for (const std::size_t i : group) taken[i] = true;
  }
  for (grouping::Group& group : grouping::group_by_directory(candidates, taken, most)) {
    chosen.push_back(std::move(group));
  }
  const std::uint64_t room = tail_ && tail_->bytes < most ? most - tail_->bytes : 0;
  for (auto& pack : grouping::pack(std::move(chosen), candidates, most, room)) {
    if (pack.groups.empty()) {
      tail_.reset();  // nothing fits behind what is there
      continue;
    }
    std::vector<Group> groups;
    for (const grouping::Group& group : pack.groups) {
      groups.emplace_back();
      for (const std::size_t i : group) groups.back().push_back(std::move(ready[i]));
    }
    CFFS_TRY_VOID(write_composite(std::move(groups), moved));
  }
  return {};
}

Status Relocation::write_composite(std::vector<Group> groups, std::size_t& moved) {
  if (tail_ && tail_->bytes >= fs_.format_.composite_max) tail_.reset();
  std::shared_ptr<Object> into;  // held, so that the object cannot go between this look and the append
  if (tail_) {
    auto object = fs_.composites_.open(tail_->id);
    CFFS_TRY(const auto row, fs_.table_->get(Key::null_name(tail_->id)));
    if (!object && row) return fail(object.error());
    if (object && row) into = std::move(*object);
    if (!row) tail_.reset();  // its members all went, and it with them
  }
  const bool fresh = !tail_;
  if (fresh) {
    CFFS_TRY(const std::uint64_t number, fs_.counter_->next());
    tail_ = Tail{CompositeId{number}, 0, 0};
    Batch intent;
    intent.put(pending_key(tail_->id), {});
    CFFS_TRY_VOID(fs_.table_->write(intent));
  }
  CompositeBuilder builder(tail_->id, tail_->bytes, tail_->slots);
  std::vector<Member> members;
  std::vector<std::size_t> group_ends;
  for (Group& group : groups) {
    for (Member& member : group) {
      CFFS_TRY_VOID(fs_.space_.charge(member.content.size()));
      member.extent = builder.add(member.parent, member.name, member.inode, member.content);
      member.content = {};
      members.push_back(std::move(member));
    }
    builder.end_group();
    group_ends.push_back(members.size());
  }
  if (Status done = fs_.composites_.append(builder, /*sync=*/true, into); !done) {
    tail_.reset();
    return done;
  }
  tail_->bytes = builder.object_bytes();
  tail_->slots = builder.slots();
  bool must_exist = !fresh;
  for (std::size_t i = 0, next = 0; i < members.size();) {
    // Whole groups, as many as fit.
    std::size_t end = group_ends[next++];
    while (next < group_ends.size() && group_ends[next] - i <= kSwitchRows) end = group_ends[next++];
    const std::size_t n = end - i;
    const std::size_t first = std::exchange(i, end);
    const std::size_t before = moved;
    if (Status done = switch_rows(&builder, std::span(members).subspan(first, n), must_exist, moved); !done) {
      tail_.reset();
      return done;
    }
    if (moved == before) {
      tail_.reset();  // it may be gone, or about to go: nothing more is put there
      break;
    }
    must_exist = true;
  }
  return {};
}

// Gives up, moving nothing, where the composite must have a row and has none: all its members went meanwhile.
Status Relocation::switch_rows(const CompositeBuilder* builder, std::span<Member> members, bool must_exist,
                               std::size_t& moved) {
  std::vector<Key> keys;
  if (builder != nullptr) keys.push_back(Key::null_name(builder->id()));
  for (const Member& member : members) {
    keys.push_back(member.row_key);
    if (member.inode.home == Home::composite) keys.push_back(Key::null_name(member.inode.extent.composite));
  }
  const RowLocks::Guard guard(fs_.locks_, keys);
  std::vector<NodePtr> live;
  for (const Member& member : members) live.push_back(fs_.nodes_.find(member.inode.ino));
  const NodeLocks nodes(live);

  if (must_exist) {
    CFFS_TRY(const auto row, fs_.table_->get(Key::null_name(builder->id())));
    if (!row) {
      tail_vanished_ = true;
      return {};
    }
  }
  Batch batch;
  CompositeAccounts accounts(*fs_.table_);
  std::map<Key, Row> rows;
  std::vector<std::pair<NodePtr, Inode>> changed;
  std::vector<InodeId> blobs_left;
  std::set<InodeId> met;
  std::size_t switched = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Member& member = members[i];
    const bool null_name = member.row_key == Key::null_name(member.inode.ino);
    if (!rows.contains(member.row_key)) {
      CFFS_TRY(Row loaded, fs_.table_->get_row(member.row_key));
      rows.emplace(member.row_key, std::move(loaded));
    }
    Entry* const entry = rows[member.row_key].find(null_name ? std::string_view() : member.name);
    // Once is enough: nodes change after the batch, so a second time would look like the first.
    bool same =
        entry != nullptr && entry->inode && entry->ino == member.inode.ino && met.insert(entry->ino).second;
    Inode inode;
    if (same) {
      inode = live[i] ? live[i]->inode : *entry->inode;
      same = inode.version == member.inode.version && inode.home == member.inode.home &&
             inode.size == member.inode.size && inode.extent == member.inode.extent &&
             !(live[i] && live[i]->unlinked);
    }
    if (!same) {
      if (builder != nullptr) accounts.waste(builder->extents()[member.extent]);
      continue;
    }
    if (builder == nullptr && inode.size > fs_.format_.inline_max) {
      if (inode.home == Home::blob) continue;  // where it should be
      // The stripes stay locked while the blob is written: nobody may meet the file between two homes. One file at a
      // time is moved like this, and only when a store gives up its composites.
      Node out(inode, member.row_key, nullptr, member.name, false);
      CFFS_TRY_VOID(fs_.move_to_blob(out, batch, accounts, member.content));
      inode = out.inode;
      entry->inode = inode;
      changed.emplace_back(live[i], std::move(inode));
      ++switched;
      continue;
    }
    fs_.leave_home(batch, accounts, inode);
    if (inode.home == Home::blob) blobs_left.push_back(inode.ino);
    inode.allocated = 0;
    if (builder != nullptr) {
      inode.home = Home::composite;
      inode.extent = builder->extents()[member.extent];
      accounts.add(inode.extent, inode, static_cast<std::uint8_t>(policy_->id()));
    } else {
      inode.home = Home::none;
      inode.extent = {};
      CFFS_TRY_VOID(fs_.put_chunks(batch, inode, 0, member.content));
      inode.home = inode.size > 0 ? Home::inline_ : Home::none;
    }
    entry->inode = inode;
    changed.emplace_back(live[i], std::move(inode));
    ++switched;
  }
  for (const auto& [key, row] : rows) {
    if (!row.entries.empty()) batch.put_row(key, row);
  }
  if (builder != nullptr) {
    if (!must_exist) batch.erase(pending_key(builder->id()));
    accounts.grow(builder->id(), builder->object_bytes(), builder->slots());
  }
  CFFS_TRY_VOID(fs_.write_accounted(batch, accounts));
  for (auto& [node, inode] : changed) {
    if (!node) continue;
    node->inode = std::move(inode);
    node->row_stale = false;
    node->verified.store(0, std::memory_order_relaxed);
  }
  for (const InodeId ino : blobs_left) fs_.queue_removal(kPendingBlob, ino.value);
  moved += switched;
  return {};
}

// Where the subfile of this record is now, if it still is in this composite. A record names the place where
// the file was when it was written; since then it may have been renamed (a moved_member row) or hard-linked
// (a null-name row).
Result<std::optional<Relocation::Member>> Relocation::living(const RecordMeta& record, CompositeId id) const {
  const auto matches = [&](const Entry* entry) {
    return entry != nullptr && entry->inode && entry->ino == record.ino &&
           entry->inode->home == Home::composite && entry->inode->extent.composite == id &&
           entry->inode->extent.slot == record.slot;
  };
  const auto at = [&](InodeId parent, const std::string& name) -> Result<std::optional<Member>> {
    const Key key = fs_.entry_key(parent, name);
    CFFS_TRY(const Row row, fs_.table_->get_row(key));
    const Entry* entry = row.find(name);
    if (!matches(entry)) return std::optional<Member>();
    return std::optional<Member>(Member{key, parent, name, *entry->inode, {}, 0});
  };
  CFFS_TRY(auto same_place, at(record.parent, record.name));
  if (same_place) return same_place;
  CFFS_TRY(const auto moved, fs_.table_->get(Key::moved_member(id, record.slot)));
  if (moved) {
    ByteReader r(*moved);
    const InodeId parent{r.varint()};
    const std::string name(r.string());
    CFFS_TRY(auto there, at(parent, name));
    if (there) return there;
  }
  const Key null_key = Key::null_name(record.ino);
  CFFS_TRY(const Row row, fs_.table_->get_row(null_key));
  const Entry* entry = row.find("");
  if (!matches(entry)) return std::optional<Member>();
  return std::optional<Member>(Member{null_key, record.parent, record.name, *entry->inode, {}, 0});
}

Status Relocation::leave_composite(Member member, std::size_t& moved) {
  if (member.inode.home == Home::blob && member.inode.size > fs_.format_.inline_max) return {};
  CFFS_TRY(const bool readable, read_content(member));
  return readable ? switch_rows(nullptr, std::span(&member, 1), false, moved) : Status();
}

Status Relocation::compact(CompositeId id) {
  policy_ = fs_.policy();
  CFFS_TRY(const auto value, fs_.table_->get(Key::null_name(id)));
  if (!value) return {};  // gone meanwhile
  CFFS_TRY(const CompositeRow row, decode_composite_row(*value));
  if (row.freed_bytes * 2 < row.size) return {};
  if (tail_ && tail_->id == id) tail_.reset();

  std::vector<Member> members;
  Status problem;
  const Status scanned = fs_.composites_.scan(id, row.size, [&](const RecordMeta& record, std::uint64_t) {
    auto member = living(record, id);
    if (!member) {
      problem = fail(member.error());
    } else if (*member) {
      members.push_back(std::move(**member));
    }
  });
  if (!scanned) {
    CFFS_TRY(const auto still, fs_.table_->get(Key::null_name(id)));
    return still ? scanned : Status();  // its last members may have gone since that look
  }
  CFFS_TRY_VOID(problem);
  std::vector<Group> groups;
  std::uint64_t group_of_last = 0;
  for (Member& member : members) {
    const std::uint64_t group = member.inode.extent.group_offset;
    CFFS_TRY(const bool readable, read_content(member));
    if (!readable) continue;
    if (groups.empty() || group != group_of_last) groups.emplace_back();
    group_of_last = group;
    groups.back().push_back(std::move(member));
  }
  if (groups.empty()) return {};
  std::size_t moved = 0;
  return write_composite(std::move(groups), moved);
}

}  // namespace cffs
