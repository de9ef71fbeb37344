#include "core/repair/repair.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "core/blob/blob_store.h"
#include "core/composite/composite_store.h"
#include "core/fs/blob_sums.h"
#include "core/fs/recovery.h"
#include "core/fs/rehousing.h"
#include "core/fs/removals.h"
#include "core/repair/lost_entries.h"
#include "core/repair/lost_members.h"
#include "core/table/catalogue.h"
#include "core/table/system_rows.h"
#include "core/table/table.h"

namespace cffs {
namespace {

constexpr const char* kName = "lost+found";  // in the root of the tree, as of ext4

std::string number(std::uint64_t n) { return std::to_string(n); }

struct LostPiece {
  std::string name;
  std::uint64_t offset = 0;
  bool goes_on = false;
};

// A piece that no small file can have, or that others before it are missing of, is a file of its own: nobody wrote zeros before it. `next`:
// the chunk that goes on where the last one ended.
LostPiece place_of_piece(Key key, std::size_t bytes, std::uint64_t& next) {
  constexpr std::uint64_t kChunks = kSmallFileMax / kChunkBytes;
  const bool goes_on = key.lower == next && next < kChunks && bytes <= kChunkBytes;
  if (goes_on && bytes == kChunkBytes) ++next;
  std::string name = "#" + number(key.number());
  if (!goes_on) name += "-" + number(key.lower);
  return {std::move(name), goes_on ? key.lower * kChunkBytes : 0, goes_on};
}

}  // namespace

Result<std::vector<std::string>> Repair::run() {
  CFFS_TRY_VOID(mend_values());
  CFFS_TRY_VOID(look());
  CFFS_TRY_VOID(mend_file_count());
  CFFS_TRY_VOID(mend_removals());
  CFFS_TRY_VOID(mend_counter());  // before anything is made
  CFFS_TRY_VOID(mend_misplaced());
  CFFS_TRY_VOID(bring_back_members());
  CFFS_TRY_VOID(bring_back_entries());
  tell_missing_members();
  CFFS_TRY_VOID(mend_directories());
  CFFS_TRY_VOID(mend_links());
  CFFS_TRY_VOID(mend_compression());
  CFFS_TRY_VOID(mend_rooms());
  CFFS_TRY_VOID(mend_sharing());
  CFFS_TRY_VOID(mend_accounts());
  CFFS_TRY_VOID(mend_data());
  CFFS_TRY_VOID(mend_seals());
  CFFS_TRY_VOID(fs_.sync());
  CFFS_TRY_VOID(look());  // what was made in between has names and objects, too
  CFFS_TRY_VOID(move_out_of_broken());
  CFFS_TRY_VOID(mend_compression());  // composites without rows have them only now
  CFFS_TRY_VOID(mend_link_counts());
  CFFS_TRY_VOID(drop_damaged_catalogue());
  CFFS_TRY_VOID(keep_lost_objects());
  CFFS_TRY_VOID(fs_.table().sync());
  return std::move(mended_);
}

// Before any account is lowered: what it counts besides would be free for the next compaction. What a power cut tore off the end of a log was
// not durable: what has no row then was removed, as far as anybody was told, and a mount brings none of it back.
Status Repair::bring_back_members() {
  CFFS_TRY(auto report, LostMembers(
                            fs_, what_ == Lost::rows, [this]() -> const LostNames& { return catalogue(); },
                            [this] { return lost_and_found(); })
                            .run());
  lost_ = std::move(report.lost);
  named_ += report.named;
  if (report.back.empty()) return {};
  for (std::string& sentence : report.back) mended(std::move(sentence));
  CFFS_TRY_VOID(look());
  return mend_removals();  // of what had no name until now
}

// Where no durable row is lost, what the catalogue has and the table has not was removed.
Status Repair::bring_back_entries() {
  if (what_ != Lost::rows) return {};
  CFFS_TRY_VOID(catalogue().looked());
  if (!catalogue().present()) return {};
  CFFS_TRY(auto report, LostEntries(
                            fs_, catalogue(), [this] { return lost_and_found(); },
                            [this](InodeId ino) { return keep_data(ino); })
                            .run());
  std::set<std::string> told;  // files that their records told of
  for (const std::string& sentence : lost_) told.insert(sentence.substr(0, sentence.find(" '")));
  std::copy_if(
      report.lost.begin(), report.lost.end(), std::back_inserter(lost_),
      [&](const std::string& sentence) { return !told.contains(sentence.substr(0, sentence.find(" '"))); });
  if (report.back.empty()) return {};
  for (std::string& sentence : report.back) mended(std::move(sentence));
  CFFS_TRY_VOID(look());
  return mend_removals();
}

// Before their accounts are lowered.
void Repair::tell_missing_members() {
  if (what_ == Lost::nothing) return;
  for (const auto& [id, row] : met_->composites) {
    const auto found = met_->accounts.find(id);
    const std::uint64_t there = found == met_->accounts.end() ? 0 : found->second.members;
    if (row.members <= there) continue;
    lost_.push_back(CompositeStore::object_name(id) + ": " + number(row.members - there) +
                    " members that it counted have no row, and no record that is whole");
  }
}

Status Repair::look() {
  met_.emplace(fs_);
  return met_->run();
}

// Referred to as long as the store is open.
Result<InodeId> Repair::lost_and_found() {
  auto there = fs_.lookup(kRootInode, kName);
  if (!there && there.error().errno_value == ENOENT) {
    there = fs_.mkdir(kRootInode, kName, 0700, Caller::privileged(0, 0));
  }
  if (!there) return fail(there.error());
  if ((there->mode & S_IFMT) != S_IFDIR) return fail(ENOTDIR, "/lost+found");
  return there->ino;
}

const LostNames& Repair::catalogue() {
  if (!catalogue_) catalogue_.emplace(fs_.objects());
  return *catalogue_;
}

// The rows of directories that the engine knows were written just before.
Status Repair::mend_link_counts() {
  for (const auto& [ino, directory] : met_->directories) {
    if (!directory.has_row) continue;
    const std::uint64_t links = 2 + directory.subdirectories;
    if (directory.counted == links) continue;
    CFFS_TRY_VOID(set_links(directory.row, directory.name, links));
    mended("directory " + number(ino) + " had " + number(directory.counted) + " links: " + number(links));
  }
  return {};
}

Status Repair::mend_links() {
  for (const auto& [key, ino, name] : met_->miscounted) {
    CFFS_TRY_VOID(set_links(key, name, 1));
    mended("inode " + number(ino.value) + ", which has one name, counted others: 1");
  }
  for (auto& [ino, linked] : met_->linked) {
    if (!linked.has_row) {
      for (const auto& [key, at] : linked.names) {
        CFFS_TRY(Row row, fs_.table().get_row(key));
        if (row.find(at.name) == nullptr) continue;
        row.erase(at.name);
        Batch batch;
        batch.put_row(key, row);
        CFFS_TRY_VOID(fs_.table().write(batch));
        mended("the name '" + at.name + "' in directory " + number(at.parent.value) + " led to inode " +
               number(ino) + ", which is gone: removed");
      }
    } else if (linked.counted != linked.names.size() && !linked.names.empty()) {
      CFFS_TRY_VOID(set_links(Key::null_name(InodeId{ino}), "", linked.names.size()));
      mended("inode " + number(ino) + " counted " + number(linked.counted) +
             " links: " + number(linked.names.size()));
    }
  }
  return {};
}

Status Repair::set_links(Key key, const std::string& name, std::uint64_t links) {
  CFFS_TRY(Row row, fs_.table().get_row(key));
  Entry* entry = row.find(name);
  if (entry == nullptr || !entry->inode) return {};
  entry->inode->nlink = static_cast<decltype(entry->inode->nlink)>(links);
  Batch batch;
  batch.put_row(key, row);
  return fs_.table().write(batch);
}

// Without that row nobody looks whether a composite is packed.
Status Repair::mend_compression() {
  CFFS_TRY(const auto row, fs_.table().get(system_key(SystemField::compression)));
  if (row && decode_compression(*row)) return {};
  for (const auto& [id, account] : met_->composites) {
    const auto object = fs_.composites().open(id);
    if (!object && object.error().is_shortage()) return fail(object.error());
    const Compression how = object ? CompositeStore::compression_of(**object) : Compression{};
    if (how == Compression{}) continue;
    mended("how composites are compressed was lost: " + compression_text(how) + ", as " +
           CompositeStore::object_name(id) + " is");
    return fs_.compress(how);
  }
  if (!row) return {};
  mended("how composites are compressed was malformed: none is");
  return fs_.compress(Compression{});
}

Status Repair::mend_sharing() {
  CFFS_TRY(const auto sentences, met_->sharing.run());
  for (const std::string& sentence : sentences) mended(sentence);
  return {};
}

// Chunks of a file whose row is gone become a file in /lost+found; chunks beyond a file's end go. Where rows were lost the row may be an
// older one, which shows again, and they are what is left of the file as it was.
Status Repair::mend_data() {
  std::set<std::uint64_t> lost, cut;
  Batch beyond;
  CFFS_TRY_VOID(fs_.table().scan_tag(KeyTag::file_data, [&](Key key, std::string_view value) {
    const auto file = met_->inline_sizes.find(key.number());
    if (file == met_->inline_sizes.end() && met_->nameless.contains(key.number()))
      return true;  // goes with its row
    if (file == met_->inline_sizes.end()) {
      lost.insert(key.number());
      return true;
    }
    const std::uint64_t at = std::min(key.lower, kFileMax / kChunkBytes) * kChunkBytes;
    if (at + value.size() <= file->second) return true;
    mended("data of inode " + number(key.number()) + " reached beyond its end: cut");
    cut.insert(key.number());
    if (at >= file->second) {
      beyond.erase(key, kChunkBytes);
    } else {
      beyond.put(key, value.substr(0, file->second - at));
    }
    return true;
  }));
  if (what_ == Lost::rows) {
    for (const std::uint64_t ino : cut) CFFS_TRY_VOID(keep_data(InodeId{ino}));
  }
  CFFS_TRY_VOID(fs_.table().write(beyond));
  for (const std::uint64_t ino : lost) CFFS_TRY_VOID(find_place_for(InodeId{ino}));
  return {};
}

// What the table has of the file stays where it is, and is a file in /lost+found, too.
Status Repair::keep_data(InodeId ino) {
  std::set<std::string> names;
  std::uint64_t next = 0;
  Status done;
  CFFS_TRY_VOID(fs_.table().scan(Key::data(ino, 0), Key::data(ino, ~std::uint64_t{0}),
                                 [&](Key key, std::string_view bytes) {
                                   const LostPiece piece = place_of_piece(key, bytes.size(), next);
                                   done = append_lost(piece.name, piece.offset, bytes);
                                   names.insert(piece.name);
                                   return done.has_value();
                                 }));
  CFFS_TRY_VOID(done);
  for (const std::string& name : names) {
    mended("data of inode " + number(ino.value) +
           " may be newer than its row: as it was in the table it is /lost+found/" + name);
  }
  return {};
}

// A chunk at a time: how many there are is for whoever wrote them to say. Of a file that has its data elsewhere, or had been removed when a
// whole catalogue was written, a piece behind a gap is of no use to anybody.
Status Repair::find_place_for(InodeId ino) {
  const bool is_elsewhere = met_->regular.contains(ino.value);
  CFFS_TRY(const bool removed, is_elsewhere ? Result<bool>(false) : was_removed(ino));
  if (removed) return drop_data(ino, "is that of a file that had been removed");
  std::set<std::string> names;
  std::uint64_t next = 0;
  bool dropped = false;
  Status done;
  CFFS_TRY_VOID(fs_.table().scan(Key::data(ino, 0), Key::data(ino, ~std::uint64_t{0}),
                                 [&](Key key, std::string_view bytes) {
                                   LostPiece piece = place_of_piece(key, bytes.size(), next);
                                   const bool is_of_use = piece.goes_on || !is_elsewhere;
                                   if (is_of_use) done = append_lost(piece.name, piece.offset, bytes);
                                   Batch moved;
                                   moved.erase(key, kChunkBytes);
                                   if (done) done = fs_.table().write(moved);
                                   if (is_of_use) names.insert(std::move(piece.name));
                                   dropped = dropped || !is_of_use;
                                   return done.has_value();
                                 }));
  CFFS_TRY_VOID(done);
  const char* const whose = is_elsewhere ? ", whose row says that it is elsewhere, is /lost+found/"
                                         : ", which has no row, is /lost+found/";
  for (const std::string& name : names) mended("data of inode " + number(ino.value) + whose + name);
  if (dropped)
    mended("pieces of what inode " + number(ino.value) +
           " had in the table were left, and it has its data elsewhere: removed");
  return {};
}

// Before a catalogue was written that is whole, and in which it is not. One that cannot be read to its end tells of nobody.
Result<bool> Repair::was_removed(InodeId ino) {
  const LostNames& known = catalogue();
  CFFS_TRY_VOID(known.looked());
  if (!known.whole() || ino.value >= known.moment().next_inode) return false;
  if (!catalogued_) {
    std::unordered_set<std::uint64_t> all;
    CFFS_TRY_VOID(known.visit([&](const std::optional<EntryName>&, const Inode& inode) -> Status {
      all.insert(inode.ino.value);
      return {};
    }));
    catalogued_ = std::move(all);
  }
  return !catalogued_->contains(ino.value);
}

Status Repair::drop_data(InodeId ino, const char* why) {
  Batch batch;
  CFFS_TRY_VOID(
      fs_.table().scan(Key::data(ino, 0), Key::data(ino, ~std::uint64_t{0}), [&](Key key, std::string_view) {
        batch.erase(key, kChunkBytes);
        return true;
      }));
  mended("data of inode " + number(ino.value) + " " + why + ": removed");
  return fs_.table().write(batch);
}

// A file of this name in /lost+found, made where it is not there, has the bytes then.
Status Repair::append_lost(const std::string& name, std::uint64_t offset, std::string_view bytes) {
  const Caller root = Caller::privileged(0, 0);
  CFFS_TRY(const InodeId parent, lost_and_found());
  auto file = fs_.lookup(parent, name);
  if (!file) file = fs_.mknod(parent, name, S_IFREG | 0600, 0, root);
  if (!file) return fail(file.error());
  const Status done = fs_.write(file->ino, offset, as_bytes(bytes), root);
  fs_.forget(file->ino, 1);
  return done;
}

// Where rows of checksums are gone, those that are left cannot be told from ones that mean something: the next sealing makes them
// anew. What the blob holds is not judged by that.
Status Repair::mend_seals() {
  const BlobSums sums(fs_.table());
  for (const auto& [ino, sealed] : met_->sealed) {
    const auto object = fs_.objects().open(BlobStore::object_name(ino));
    if (!object && object.error().is_shortage()) return fail(object.error());
    if (!object) continue;  // missing: the check names it
    CFFS_TRY(const bool complete, sums.complete(ino, **object, sealed.size));
    if (complete) continue;
    CFFS_TRY(Row row, fs_.table().get_row(sealed.row));
    Entry* entry = row.find(sealed.name);
    if (entry == nullptr || !entry->inode) continue;
    entry->inode->sealed = false;
    Batch batch;
    batch.put_row(sealed.row, row);
    CFFS_TRY_VOID(sums.erase(batch, ino));
    CFFS_TRY_VOID(fs_.table().write(batch));
    mended("inode " + number(ino.value) + " '" + sealed.name + "' had lost checksums: it has none any more");
  }
  return {};
}

// The table is there: the next one is made from it.
Status Repair::drop_damaged_catalogue() {
  const auto catalogue = read_catalogue(fs_.objects(), {});
  if (!catalogue && catalogue.error().is_shortage()) return fail(catalogue.error());
  if (catalogue && (!*catalogue || (*catalogue)->whole)) return {};
  CFFS_TRY_VOID(fs_.objects().remove(kCatalogueObject));
  mended("object catalogue was damaged: removed, a mount or a scrub makes the next");
  return {};
}

Status Repair::keep_lost_objects() {
  CFFS_TRY(const auto names, Recovery::objects_beside(fs_.objects(), met_->wanted));
  for (const std::string& name : names) {
    CFFS_TRY(const std::string kept, Recovery::keep_aside(fs_.objects(), name));
    mended(name + " belonged to no row: it is kept as " + kept + " in the store");
  }
  return fs_.objects().sync_names();
}

}  // namespace cffs
