#include "core/repair/lost_entries.h"

#include <algorithm>

#include "core/blob/blob_store.h"
#include "core/composite/composite_store.h"
#include "core/fs/blob_sums.h"
#include "core/fs/recovery.h"
#include "core/repair/first_of.h"
#include "core/repair/inline_data.h"
#include "core/repair/new_rows.h"
#include "core/repair/whole_member.h"
#include "core/table/pending_removal.h"

namespace cffs {
namespace {

std::string catalogued_text(InodeId ino, const EntryName& at) {
  return "inode " + std::to_string(ino.value) + " '" + at.name + "' of directory " +
         std::to_string(at.parent.value);
}

}  // namespace

Result<LostEntries::Report> LostEntries::run() {
  CFFS_TRY_VOID(look_at_rows());
  CFFS_TRY_VOID(look_at_blobs());
  CFFS_TRY_VOID(catalogue_.visit([this](const std::optional<EntryName>& at, const Inode& inode) -> Status {
    if (!known_.contains(inode.ino)) return bring_back(at, inode);
    CFFS_TRY_VOID(replace_older(at, inode));
    return at ? Status() : bring_back_names(inode.ino);
  }));
  for (const auto& [ino, directory] : catalogue_.directories()) {
    const auto there = rows_.find(ino.value);
    if (there != rows_.end()) CFFS_TRY_VOID(replace_attributes(there->second, directory.inode));
  }
  if (beyond_ > 0) {
    lost_.push_back("the table lost which numbers it gave out: " + std::to_string(beyond_) +
                    " files of the catalogue have no row, and cffs salvage brings them back to a new store");
  }
  return Report{first_of(std::move(back_), "are back"), first_of(std::move(lost_), "are lost")};
}

Status LostEntries::look_at_rows() {
  NamespaceVisitor visitor;
  visitor.entries = [this](Key key, const Row& row) {
    for (const Entry& entry : row.entries) {
      if (!entry.inode) {
        names_[entry.ino.value].push_back({InodeId{key.upper}, entry.name});
        continue;
      }
      known_.note(*entry.inode);
      if (entry.inode->is_regular() || entry.inode->is_directory())
        rows_[entry.ino.value] = {key, entry.name, entry.inode->version, entry.inode->ctime_ns};
      if (entry.name.empty()) counted_[entry.ino.value] = entry.inode->nlink;
    }
    return true;
  };
  visitor.composite = [this](CompositeId id, const CompositeRow&) {
    known_.all.insert(id.value);
    return true;
  };
  visitor.damaged = [](Key, const Error&) { return true; };  // the check names it
  CFFS_TRY_VOID(fs_.table().scan_namespace(visitor));
  return fs_.table().scan_tag(KeyTag::pending_removal, [this](Key key, std::string_view) {
    const auto removal = decode_pending_removal(key);
    if (removal && !removal->is_object()) known_.all.insert(removal->number);
    return true;
  });
}

// The store puts aside what no row names when it is opened for a repair.
Status LostEntries::look_at_blobs() {
  for (const std::string& before : {std::string(), std::string(Recovery::kLostAndFound) + "/"}) {
    CFFS_TRY(const auto objects, fs_.objects().list(before + "blobs"));
    for (const std::string& object : objects) {
      const auto ino = BlobStore::inode_of(object.substr(before.size()));
      if (ino && !known_.contains(*ino)) blobs_.try_emplace(*ino, object);
    }
  }
  return {};
}

Status LostEntries::bring_back(const std::optional<EntryName>& at, Inode inode) {
  if (inode.ino == kRootInode || inode.left_in_row) return {};
  if (inode.ino >= fs_.next_inode()) {
    ++beyond_;
    return {};
  }
  CFFS_TRY(std::vector<EntryName> places, places_of(at, inode));
  if (places.empty()) return {};
  Batch batch;
  const char* const what = inode.home == Home::inline_ ? "its data was in the table"
                           : inode.home == Home::blob  ? "its blob is missing"
                                                       : "no record has its data";
  CFFS_TRY(const bool whole, take_content(batch, inode));
  if (!whole) {
    give_up(at, inode, what);
    return {};
  }
  inode.nlink = places.size();
  NewRows rows(fs_);
  CFFS_TRY_VOID(rows.put(inode, places, !at));
  rows.join(batch);
  CFFS_TRY_VOID(fs_.table().write(batch));
  known_.note(inode);
  back_.push_back(catalogued_text(inode.ino, places.front()) +
                  " had lost its row: it is back from the catalogue");
  return {};
}

// Where it was, but for names that are others' by now.
Result<std::vector<EntryName>> LostEntries::places_of(const std::optional<EntryName>& at,
                                                      const Inode& inode) {
  std::vector<EntryName> places;
  const auto there = names_.find(inode.ino.value);
  const bool leads = there != names_.end();  // a name that is there, and has had nothing to lead to
  if (!at && leads) places = there->second;
  CFFS_TRY_VOID(known_.add_free(fs_, at ? std::vector{*at} : catalogue_.names(inode.ino), places));
  if (places.empty() && blobs_.contains(inode.ino)) {
    CFFS_TRY(const InodeId kept, lost_and_found_());
    places.push_back({kept, "#" + std::to_string(inode.ino.value)});
  }
  return places;
}

Result<bool> LostEntries::take_content(Batch& batch, Inode& inode) {
  inode.sealed = false;
  if (!inode.is_regular()) return true;
  if (blobs_.contains(inode.ino)) return take_blob(batch, inode);
  if (inode.home == Home::inline_) return take_inline_data(batch, inode);
  if (inode.home == Home::composite) return has_member(inode);
  return inode.home == Home::none && inode.size == 0;
}

void LostEntries::give_up(const std::optional<EntryName>& at, const Inode& inode, const char* what) {
  const std::vector<EntryName>& names = catalogue_.names(inode.ino);
  const EntryName known = at ? *at : names.empty() ? EntryName() : names.front();
  lost_.push_back(catalogued_text(inode.ino, known) + ": " + what);
}

// Its place by the catalogue: who shares it is made true behind this.
Result<bool> LostEntries::has_member(const Inode& inode) const {
  if (inode.extent.composite.value >= fs_.next_inode().value || !is_possible(inode.extent)) return false;
  if (inode.extent.length != inode.size) return false;
  return has_whole_member(fs_.composites().open(inode.extent.composite), inode.extent);
}

// Records have told of what they know before. Of a large file both speak of one object, and its row of the size is as good.
Status LostEntries::replace_older(const std::optional<EntryName>& at, const Inode& known) {
  const auto there = rows_.find(known.ino.value);
  if (there == rows_.end() || !known.is_regular() || known.left_in_row) return {};
  if (there->second.version == known.version) return replace_attributes(there->second, known);
  if (there->second.version > known.version) return {};
  const Key key = there->second.key;
  const std::string& name = there->second.name;
  CFFS_TRY(Row row, fs_.table().get_row(key));
  Entry* const entry = row.find(name);
  if (entry == nullptr || !entry->inode || entry->inode->home == Home::blob) return {};
  Inode next = known;
  next.nlink = entry->inode->nlink;
  Batch batch;
  bool whole = false;
  if (known.home == Home::inline_) {
    CFFS_TRY(whole, take_newer_inline_data(batch, *entry->inode, known));
  } else {
    CFFS_TRY(whole, take_content(batch, next));
  }
  if (!whole) {
    give_up(at, known, "its row is older than the catalogue, and what was written between the two is lost");
    return {};
  }
  entry->inode = next;
  batch.put_row(key, row);
  CFFS_TRY_VOID(fs_.table().write(batch));
  back_.push_back(catalogued_text(known.ino, at ? *at : EntryName{InodeId{key.upper}, name}) +
                  " had an older row: it has what the catalogue knew of it again");
  return {};
}

// It may have become one since.
Result<bool> LostEntries::take_blob(Batch& batch, Inode& inode) {
  const std::string found = blobs_.at(inode.ino), name = BlobStore::object_name(inode.ino);
  if (found != name) {
    CFFS_TRY_VOID(fs_.objects().rename(found, name));
    CFFS_TRY_VOID(fs_.objects().sync_names());
    blobs_[inode.ino] = name;
  }
  CFFS_TRY(const auto object, fs_.objects().open(name));
  CFFS_TRY(const ObjectInfo info, object->info());
  if (inode.home == Home::blob && info.size != inode.size) {
    back_.push_back(name + " has " + std::to_string(info.size) + " bytes; the catalogue said " +
                    std::to_string(inode.size));
  }
  inode.home = Home::blob;
  inode.extent = {};
  inode.size = info.size;
  inode.allocated = 0;  // the next change tells
  CFFS_TRY_VOID(BlobSums(fs_.table()).erase(batch, inode.ino));
  return true;
}

// What the table has of it may be as old as the row, where it has as many bytes. Else it is what the catalogue knew, or newer.
Result<bool> LostEntries::take_newer_inline_data(Batch& batch, const Inode& older, const Inode& known) const {
  const bool was_inline = older.home == Home::inline_ && older.size >= known.size;
  CFFS_TRY(const bool may_be_older, was_inline ? has_inline_data(fs_.table(), older) : Result<bool>(false));
  CFFS_TRY(const bool there, has_inline_data(fs_.table(), known));
  if (there && !may_be_older) return true;
  const auto kept = catalogue_.inline_data(known.ino, known.size);
  if (!kept) return false;
  bool differs = false;
  CFFS_TRY_VOID(fs_.table().scan(
      Key::data(known.ino, 0), Key::data(known.ino, ~std::uint64_t{0}), [&](Key key, std::string_view bytes) {
        const std::uint64_t at = std::min<std::uint64_t>(key.lower, kept->size()) * kChunkBytes;
        const bool beyond = at >= kept->size();
        const bool same = !beyond && bytes == std::string_view(*kept).substr(at, kChunkBytes);
        differs = differs || (!bytes.empty() && !same);
        if (beyond) batch.erase(key, kChunkBytes);
        return true;
      }));
  if (differs) CFFS_TRY_VOID(keep_data_(known.ino));
  for (std::uint64_t at = 0; at < kept->size(); at += kChunkBytes)
    batch.put(Key::data(known.ino, at / kChunkBytes), std::string_view(*kept).substr(at, kChunkBytes));
  return true;
}

// The table's own chunks are at least as new; some of them are as none, since what is missing would read as zeros.
Result<bool> LostEntries::take_inline_data(Batch& batch, const Inode& inode) const {
  CFFS_TRY(const bool there, has_inline_data(fs_.table(), inode));
  if (there) return true;
  const auto kept = catalogue_.inline_data(inode.ino, inode.size);
  if (!kept) return false;
  for (std::uint64_t at = 0; at < kept->size(); at += kChunkBytes)
    batch.put(Key::data(inode.ino, at / kChunkBytes), std::string_view(*kept).substr(at, kChunkBytes));
  return true;
}

// Its row counts more names than lead to it: those are lost, not removed.
Status LostEntries::bring_back_names(InodeId ino) {
  const auto counted = counted_.find(ino.value);
  if (counted == counted_.end()) return {};
  std::vector<EntryName> names = names_[ino.value];
  const std::size_t there = names.size();
  CFFS_TRY_VOID(known_.add_free(fs_, catalogue_.names(ino), names));
  if (names.size() > counted->second) names.resize(std::max<std::size_t>(there, counted->second));
  if (names.size() == there) return {};
  CFFS_TRY(const Row own, fs_.table().get_row(Key::null_name(ino)));
  const Entry* const entry = own.find("");
  if (entry == nullptr || !entry->inode) return {};
  NewRows rows(fs_);
  CFFS_TRY_VOID(rows.put(*entry->inode, names, true));
  Batch batch;
  rows.join(batch);
  CFFS_TRY_VOID(fs_.table().write(batch));
  for (std::size_t i = there; i < names.size(); ++i)
    back_.push_back(catalogued_text(ino, names[i]) + " was one of its names: it is back from the catalogue");
  return {};
}

// An owner, a mode, times, attributes that were changed after that row was.
Status LostEntries::replace_attributes(const RowOf& there, const Inode& known) {
  if (there.ctime_ns >= known.ctime_ns || known.left_in_row) return {};
  CFFS_TRY(Row row, fs_.table().get_row(there.key));
  Entry* const entry = row.find(there.name);
  const bool is_it = entry != nullptr && entry->inode && entry->inode->ctime_ns == there.ctime_ns;
  if (!is_it || (entry->inode->mode & S_IFMT) != (known.mode & S_IFMT)) return {};
  const Inode now = *entry->inode;
  Inode& next = *entry->inode;
  next = known;
  next.ino = now.ino;
  next.nlink = now.nlink;
  next.home = now.home;
  next.size = now.size;
  next.extent = now.extent;
  next.version = now.version;
  next.sealed = now.sealed;
  next.allocated = now.allocated;
  Batch batch;
  batch.put_row(there.key, row);
  CFFS_TRY_VOID(fs_.table().write(batch));
  back_.push_back("inode " + std::to_string(known.ino.value) + " '" + there.name +
                  "' had an older row: it has the owner, mode and times of the catalogue");
  return {};
}

}  // namespace cffs
