#include "core/repair/lost_members.h"

#include <algorithm>
#include <charconv>

#include "core/composite/composite_store.h"
#include "core/composite/record.h"
#include "core/fs/recovery.h"
#include "core/fs/rehousing.h"
#include "core/fs/removals.h"
#include "core/repair/first_of.h"
#include "core/repair/new_rows.h"
#include "core/repair/whole_member.h"

namespace cffs {
namespace {

constexpr std::size_t kAlignmentOfRecords = 8;

std::string decimal(std::uint64_t n) { return std::to_string(n); }

// composites/0/17: 17; 0 where somebody else named it.
CompositeId composite_in(const std::string& object) {
  std::uint64_t id = 0;
  std::from_chars(object.data() + object.rfind('/') + 1, object.data() + object.size(), id);
  return CompositeId{id};
}

std::string file_text(InodeId ino, const EntryName& at) {
  return "inode " + decimal(ino.value) + " '" + at.name + "' of directory " + decimal(at.parent.value);
}

}  // namespace

Result<LostMembers::Report> LostMembers::run() {
  CFFS_TRY_VOID(look_at_rows());
  CFFS_TRY_VOID(look_at_objects());
  if (!found_.empty()) CFFS_TRY_VOID(look_at_catalogue());
  // Where the table forgot which numbers it gave out, what the store makes next would take those of what comes back.
  const InodeId next = fs_.next_inode();
  for (const auto& [ino, found] : found_) {
    const bool known = ino < next && std::all_of(found.begin(), found.end(), [next](const Found& each) {
                         return each.at.parent < next && each.inode.extent.composite.value < next.value;
                       });
    if (known) continue;
    lost_.emplace_back("the table lost which numbers it gave out: " + decimal(found_.size()) +
                       " files have records and no row, and cffs salvage brings them back to a new store");
    found_.clear();
    break;
  }
  for (auto& [ino, found] : found_) CFFS_TRY_VOID(bring_back(ino, found));
  CFFS_TRY_VOID(replace_older_rows());
  return Report{first_of(std::move(back_), "are back"), first_of(std::move(lost_), "are lost"), named_};
}

Status LostMembers::look_at_rows() {
  NamespaceVisitor visitor;
  visitor.entries = [this](Key key, const Row& row) {
    for (const Entry& entry : row.entries) {
      if (!entry.inode) {
        names_[entry.ino].push_back({InodeId{key.upper}, entry.name});
        continue;
      }
      known_.note(*entry.inode);
      if (rows_were_lost_ && entry.inode->is_regular()) {
        const Extent& at = entry.inode->extent;  // zeros of who has none
        rows_[entry.ino.value] = {entry.inode->version, at.composite, at.slot};
      }
      if (entry.inode->home != Home::composite) continue;
      const Extent& extent = entry.inode->extent;
      --missing_[extent.composite];
      used_.insert({extent.composite, extent.slot});
    }
    return true;
  };
  visitor.composite = [this](CompositeId id, const CompositeRow& row) {
    known_.all.insert(id.value);
    missing_[id] += static_cast<std::int64_t>(row.members);
    accounts_[id] = row;
    return true;
  };
  visitor.member_files = [this](CompositeId id, std::uint32_t slot, const MemberFiles& row) {
    files_[{id, slot}] = row;
    return true;
  };
  visitor.damaged = [](Key, const Error&) { return true; };  // the check names it
  CFFS_TRY_VOID(fs_.table().scan_namespace(visitor));
  return fs_.table().scan_tag(KeyTag::pending_removal, [this](Key key, std::string_view) {
    const auto removal = decode_pending_removal(key);
    if (removal && removal->is_object()) removed_.insert(object_name(*removal));
    if (removal && !removal->is_object()) known_.all.insert(removal->number);
    return true;
  });
}

Status LostMembers::look_at_objects() {
  for (const std::string folder : {"composites", "lost+found/composites"}) {
    if (folder != "composites" && !rows_were_lost_) continue;  // what an earlier accident left
    CFFS_TRY(const auto objects, fs_.objects().list(folder));
    for (const std::string& object : objects) {
      const CompositeId id = composite_in(object);
      const std::string name = CompositeStore::object_name(id);
      const bool is_one = object == name || object == std::string(Recovery::kLostAndFound) + "/" + name;
      // Whoever fills a composite notes its removal until the first row names it: where rows were lost that note proves nothing.
      const bool is_removed = removed_.contains(name) && !rows_were_lost_;
      if (!is_one || CompositeStore::is_copy(object) || is_removed) continue;
      const auto missing = missing_.find(id);
      const bool has_account = known_.all.contains(id.value);
      if (has_account ? missing->second > 0 || may_be_behind(id) : rows_were_lost_)
        CFFS_TRY_VOID(look_into(object, id));
    }
  }
  for (auto& [ino, found] : found_) {
    std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.age() > b.age(); });
  }
  return {};
}

// Rows are lost with what they did to an account, so the two may agree and both be of an earlier moment. Then the composite has records that
// the account counts neither among its members nor as freed.
bool LostMembers::may_be_behind(CompositeId id) const {
  const auto account = accounts_.find(id);
  return rows_were_lost_ && account != accounts_.end() && account->second.slots > account->second.members;
}

bool LostMembers::is_behind(CompositeId id, std::uint64_t bytes_of_records) const {
  const auto account = accounts_.find(id);
  return account == accounts_.end() ||
         bytes_of_records > account->second.live_bytes + account->second.freed_bytes;
}

// Behind damage the next record that its own checksum proves is looked for.
Status LostMembers::look_into(const std::string& object, CompositeId id) {
  auto opened = fs_.objects().open(object);
  auto plain = opened ? CompositeStore::plain(std::move(*opened), object)
                      : Result<std::shared_ptr<Object>>(fail(opened.error()));
  const auto bytes =
      plain ? CompositeStore::read_what_can_be(**plain) : Result<std::string>(fail(plain.error()));
  if (!bytes && bytes.error().is_shortage()) return fail(bytes.error());  // it may all be there
  if (!bytes) {
    lost_.push_back(object + ": " + bytes.error().message());
    return {};
  }
  const std::string_view all(*bytes);
  std::vector<Found> met;
  std::uint64_t bytes_of_records = 0;
  for (std::uint64_t at = kCompositeHeaderBytes; at < all.size();) {
    const auto record = parse_record(all.substr(at));
    auto inode = record && *record ? record_inode(all.substr(at)) : Result<Inode>(fail(EIO));
    if (!inode || !inode->is_regular()) {
      at += kAlignmentOfRecords;
      continue;
    }
    const RecordMeta& meta = **record;
    inode->home = Home::composite;
    inode->size = meta.data_length;
    inode->nlink = 1;
    inode->sealed = false;
    inode->allocated = 0;
    Extent extent;
    extent.composite = id;
    extent.slot = meta.slot;
    extent.offset = extent.group_offset = at + meta.meta_bytes;
    extent.length = extent.group_length = meta.data_length;
    extent.capacity = meta.record_bytes() - meta.meta_bytes;
    extent.checksum = meta.data_checksum;
    inode->extent = extent;
    at += meta.record_bytes();
    bytes_of_records += meta.data_length;
    const EntryName own{meta.parent, meta.name};
    const auto files = files_.find({id, meta.slot});
    if (files == files_.end()) {
      // One that others share is told by a row; without it the record is its one user's.
      if (!used_.contains({id, meta.slot})) met.push_back({object, own, *inode, own, false});
      continue;
    }
    for (const MemberFile& file : files->second.files) {
      Inode its = *inode;
      if (file.ino.value != 0) its.ino = file.ino;
      its.extent.moved = !file.at.name.empty();
      met.push_back(
          {object, its.extent.moved ? file.at : own, its, own, its.extent.moved, file.ino.value != 0});
    }
  }
  const auto missing = missing_.find(id);
  const bool some_are = missing != missing_.end() && missing->second > 0;
  if (!some_are && !is_behind(id, bytes_of_records)) return {};
  for (Found& found : met) note(std::move(found));
  return {};
}

void LostMembers::note(Found found) {
  const Inode& inode = found.inode;
  if (inode.ino == kRootInode || !is_possible(inode.extent)) return;
  if (known_.contains(inode.ino)) return note_newer(std::move(found));
  found_[inode.ino].push_back(std::move(found));
}

// A file that had a record before a whole catalogue was written, and was not in that, had been removed.
Status LostMembers::look_at_catalogue() {
  const LostNames& catalogue = catalogue_();
  CFFS_TRY_VOID(catalogue.looked());
  if (!catalogue.present()) return {};
  std::unordered_set<std::uint64_t> there;
  CFFS_TRY_VOID(catalogue.visit([&](const std::optional<EntryName>& at, const Inode& inode) -> Status {
    if (!found_.contains(inode.ino)) return {};
    there.insert(inode.ino.value);
    if (at) catalogued_[inode.ino] = {*at, {inode.ctime_ns, inode.version}};
    if (inode.home == Home::composite && !inode.left_in_row) guests_[inode.ino] = inode;
    return {};
  }));
  if (!catalogue.whole()) return {};
  std::erase_if(found_, [&](const auto& file) {
    return file.first.value < catalogue.moment().next_inode && !there.contains(file.first.value);
  });
  return {};
}

Status LostMembers::bring_back(InodeId ino, std::vector<Found>& found) {
  for (Found& each : found) {
    CFFS_TRY(const bool whole, is_whole(each));
    if (!whole) continue;
    if (each.object.starts_with(Recovery::kLostAndFound)) CFFS_TRY_VOID(take_back_object(each));
    --missing_[each.inode.extent.composite];
    known_.all.insert(ino.value);
    return put_row(each);
  }
  tell_lost(found);
  return {};
}

// Where all that the account counts is back, a record without data is one of a file that was removed.
void LostMembers::tell_lost(const std::vector<Found>& found) {
  const CompositeId id = found.front().inode.extent.composite;
  if (known_.all.contains(id.value) && missing_[id] <= 0) return;
  if (known_.all.contains(id.value)) --missing_[id];
  lost_.push_back(file_text(found.front().inode.ino, found.front().at) + ": no record of it has its data");
}

Result<bool> LostMembers::is_whole(const Found& found) const {
  auto opened = fs_.objects().open(found.object);
  const auto plain = opened ? CompositeStore::plain(std::move(*opened), found.object)
                            : Result<std::shared_ptr<Object>>(fail(opened.error()));
  return has_whole_member(plain, found.inode.extent);
}

// The store put it aside when no row named it; all files of it are told by this one's name from now on.
Status LostMembers::take_back_object(Found& found) {
  const std::string kept = found.object;
  const std::string name = CompositeStore::object_name(found.inode.extent.composite);
  CFFS_TRY_VOID(fs_.objects().rename(kept, name));
  CFFS_TRY_VOID(fs_.objects().sync_names());
  back_.push_back(kept + " has files that are back: it is " + name + " again");
  for (auto* const all : {&found_, &newer_}) {
    for (auto& [ino, others] : *all) {
      for (Found& other : others) {
        if (other.object == kept) other.object = name;
      }
    }
  }
  return {};
}

// A row's word on a rename is the present; then the catalogue, where the record is not newer; then the record.
Result<EntryName> LostMembers::place_of(const Found& found) {
  const auto known = catalogued_.find(found.inode.ino);
  const bool believed = known != catalogued_.end() && !found.is_renamed &&
                        known->second.age >= std::pair(found.inode.ctime_ns, found.inode.version);
  if (believed) {
    CFFS_TRY(const bool free, known_.is_free(fs_, known->second.at));
    if (free) {
      if (known->second.at != found.at) ++named_;
      return known->second.at;
    }
  }
  CFFS_TRY(const bool free, known_.is_free(fs_, found.at));
  if (free) return found.at;
  CFFS_TRY(const InodeId kept, lost_and_found_());
  return EntryName{kept, "#" + decimal(found.inode.ino.value)};
}

// Whoever moves the record's data must find the file. Rows of those who share are made true behind this.
void LostMembers::tell_place(Batch& batch, const Found& found, const EntryName& at, Inode& inode) {
  Extent& extent = inode.extent;
  const auto files = files_.find({extent.composite, extent.slot});
  const bool shares = files != files_.end() && files->second.is_shared();
  if (shares || at == found.own) return;
  extent.moved = true;
  batch.put(Key::member_files(extent.composite, extent.slot),
            encode_member_files({{MemberFile{InodeId{0}, at}}}));
}

// Of a file that had several: those that lead to it still, and those that the catalogue knows and nobody else has.
Result<std::vector<EntryName>> LostMembers::names_of(InodeId ino) {
  std::vector<EntryName> names;
  if (const auto there = names_.find(ino); there != names_.end()) names = there->second;
  CFFS_TRY_VOID(known_.add_free(fs_, catalogue_().names(ino), names));
  return names;
}

// The record of another file has the other's attributes; the catalogue has its own, where it was a guest of this record then.
Inode LostMembers::inode_of(const Found& found) const {
  const auto known = guests_.find(found.inode.ino);
  if (!found.is_guest || known == guests_.end()) return found.inode;
  const Extent& at = known->second.extent;
  if (at.composite != found.inode.extent.composite || at.slot != found.inode.extent.slot) return found.inode;
  Inode inode = known->second;
  inode.home = Home::composite;
  inode.size = found.inode.size;
  inode.extent = found.inode.extent;
  return inode;
}

Status LostMembers::put_row(const Found& found) {
  Inode inode = inode_of(found);
  CFFS_TRY(std::vector<EntryName> names, names_of(inode.ino));
  const bool is_linked = !names.empty();
  if (!is_linked) {
    CFFS_TRY(EntryName at, place_of(found));
    names.push_back(std::move(at));
  }
  inode.nlink = names.size();
  Batch batch;
  if (!is_linked) tell_place(batch, found, names.front(), inode);
  NewRows rows(fs_);
  CFFS_TRY_VOID(rows.put(inode, names, is_linked));
  rows.join(batch);
  CFFS_TRY_VOID(fs_.table().write(batch));
  back_.push_back(file_text(inode.ino, names.front()) + " had lost its row: it is back from its record");
  return {};
}

}  // namespace cffs
