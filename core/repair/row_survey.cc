#include "core/repair/row_survey.h"

#include "core/blob/blob_store.h"
#include "core/composite/composite_store.h"
#include "core/fs/rehousing.h"
#include "core/fs/removals.h"
#include "core/table/table.h"

namespace cffs {

Status RowSurvey::run() {
  NamespaceVisitor visitor;
  visitor.entries = [&](Key key, const Row& row) {
    for (const Entry& entry : row.entries) note(key, entry);
    return true;
  };
  visitor.member_files = [&](CompositeId id, std::uint32_t slot, const MemberFiles& row) {
    sharing.note(id, slot, row);
    return true;
  };
  visitor.composite = [&](CompositeId id, const CompositeRow& row) {
    composites[id] = row;
    wanted.insert(CompositeStore::object_name(id));
    return true;
  };
  Status noted;
  visitor.damaged = [&](Key key, const Error&) {  // what its row was is not known: its object stays
    noted = sharing.note_damaged(key);
    wanted.insert(CompositeStore::object_name(CompositeId{key.upper}));
    return true;
  };
  CFFS_TRY_VOID(fs_.table().scan_tag(KeyTag::pending_removal, [&](Key key, std::string_view) {
    const auto removal = decode_pending_removal(key);
    if (removal && !removal->is_object()) nameless.insert(removal->number);
    return true;
  }));
  CFFS_TRY_VOID(fs_.table().scan_namespace(visitor));
  CFFS_TRY_VOID(noted);
  CFFS_TRY(const auto live, sharing.live_bytes());
  for (const auto& [id, bytes] : live) accounts[id].live_bytes = bytes;
  return fs_.table().scan_tag(KeyTag::pending_removal, [&](Key key, std::string_view) {
    const auto removal = decode_pending_removal(key);
    if (removal && removal->is_object() && !wanted.insert(object_name(*removal)).second)
      not_to_be_removed.push_back(*removal);
    return true;
  });
}

void RowSurvey::note(Key key, const Entry& entry) {
  const std::uint64_t ino = entry.ino.value;
  sharing.note(key, entry);
  numbers.note(entry);
  const Key own = entry.name.empty() ? Key::null_name(entry.ino)
                                     : fs_.rehousing().entry_key(InodeId{key.upper}, entry.name);
  if (key != own) misplaced.push_back({key, entry.name, entry.ino, entry.inode.has_value()});
  if (nameless.erase(ino) > 0) not_to_be_removed.push_back(PendingRemoval::of_nameless(entry.ino));
  if (!entry.name.empty()) parents.insert(key.upper);
  if (!entry.inode) {
    linked[ino].names.push_back({key, {InodeId{key.upper}, entry.name}});
    return;
  }
  const Inode& inode = *entry.inode;
  ++files;
  if (entry.name.empty() && entry.ino != kRootInode) {
    linked[ino].has_row = true;
    linked[ino].counted = inode.nlink;
  }
  if (inode.is_directory()) {
    Directory& directory = directories[ino];
    directory.has_row = true;
    directory.row = key;
    directory.name = entry.name;
    directory.counted = inode.nlink;
    if (!entry.name.empty()) ++directories[key.upper].subdirectories;
  }
  if (!inode.is_directory() && !entry.name.empty() && inode.nlink != 1) {
    miscounted.push_back({key, entry.ino, entry.name});
  }
  if (inode.is_regular()) regular.insert(ino);
  if (inode.home == Home::inline_) inline_sizes[ino] = inode.size;
  if (inode.home == Home::blob) wanted.insert(BlobStore::object_name(entry.ino));
  if (inode.sealed) sealed[entry.ino] = {key, entry.name, inode.size};
  if (inode.home == Home::composite) {
    Account& account = accounts[inode.extent.composite];
    ++account.members;
    account.widest.mode |= inode.mode & 07777;
    account.widest.uid = inode.uid;
    account.widest.gid = inode.gid;
    wanted.insert(CompositeStore::object_name(inode.extent.composite));
  }
}

}  // namespace cffs
