#include "core/backup/backup.h"

#include <algorithm>

#include "core/backup/object_copy.h"
#include "core/base/checksum.h"
#include "core/blob/blob_store.h"
#include "core/composite/composite_store.h"
#include "core/fs/blob_sums.h"
#include "core/inspect/row_names.h"
#include "core/table/system_rows.h"

namespace cffs {
namespace {

constexpr const char* kSuperblock = "superblock";

tl::unexpected<Error> was_stopped() {
  return fail(EINTR, "the backup was stopped; what there was before is as it was");
}

// Gone, or something that no store has is in its place: the medium's own errors and what passes are no such.
bool is_lost(const Error& error) {
  return error.errno_value == ENOENT || error.kind == ErrorKind::corruption;
}

std::string how_lost(const Error& error, const std::string& name) {
  return error.errno_value == ENOENT ? "object " + name + " is missing" : error.message();
}

}  // namespace

Backup::Backup(FileSystem& fs, BackupPlace& place, BackupOptions options)
    : fs_(fs), place_(place), options_(std::move(options)), pace_(options_.bytes_per_second), paths_(fs) {}

Result<BackupProgress> Backup::run() {
  CFFS_TRY_VOID(look_at_former());
  BlobCopies blobs(place_.fresh());
  CFFS_TRY(const auto moment, fs_.hold_moment(blobs));
  progress_.at_ns = moment->at_ns();
  progress_.paused_us = moment->paused_us();
  options_.on_progress(progress_);
  Status done = copy_all({*moment, blobs, nullptr, nullptr, nullptr});
  // What ended it may only be what followed from these.
  if (!done && !moment->good()) done = moment->good();
  if (!done && !blobs.good()) done = blobs.good();
  if (!done && done.error().errno_value == EINTR) return was_stopped();
  CFFS_TRY_VOID(done);
  return progress_;
}

Status Backup::look_at_former() {
  if (place_.former() == nullptr) return {};
  CFFS_TRY(record_, FormerBackup::check(*place_.former(), place_.description(), fs_.store_format().uuid));
  return {};
}

Status Backup::copy_all(Work work) {
  CFFS_TRY_VOID(open_former(work));
  CFFS_TRY_VOID(copy_rows(work));
  // What the former one has need not be held any longer: it comes first.
  CFFS_TRY_VOID(keep_blobs(work));
  CFFS_TRY_VOID(copy_composites(work));
  CFFS_TRY_VOID(copy_blobs(work));
  CFFS_TRY_VOID(copy_hints());
  return finish(work);
}

// One whose rows are damaged is good for nothing: all is copied.
Status Backup::open_former(Work& work) {
  if (!record_) return {};
  auto opened = FormerBackup::open(*place_.former(), *record_);
  if (!opened && opened.error().kind != ErrorKind::corruption) return fail(opened.error());
  if (opened) work.former = std::move(*opened);
  if (!opened) {
    fs_.log("the backup before this one is damaged, and all is copied: " + opened.error().message());
  }
  return {};
}

Status Backup::copy_rows(Work& work) {
  TableOptions options;
  options.create = true;
  options.values_apart = fs_.store_format().values_apart;
  options.values.after_bytes = ~std::uint64_t{0};  // the copy has them in its rows
  CFFS_TRY(work.table, Table::open(place_.fresh(), options));
  work.rows = std::make_unique<RowCopy>(work.moment, work.former.get(), *work.table,
                                        [this](std::uint64_t bytes) { return spent(bytes); });
  CFFS_TRY_VOID(work.rows->run());
  for (const std::string& sentence : work.rows->malformed()) damaged("a row makes no sense: " + sentence);
  for (const std::string& sentence : work.rows->damage()) {
    damaged(sentence + "; rows are missing, or older ones are in their place");
  }
  progress_.rows_damaged = progress_.damaged;
  progress_.files = work.rows->files();
  if (work.rows->damage().empty() || place_.former() == nullptr) return {};
  return fail(
      Error::corruption("the backup " + place_.description() +
                        " stays as it was, since rows of the store cannot be read; name another place for "
                        "what can be, and see cffs fsck"));
}

Result<bool> Backup::keep(const std::string& name) {
  const Status kept = place_.keep(name);
  if (kept) ++progress_.kept;
  if (kept) return true;
  const int reason = kept.error().errno_value;
  if (reason == EOPNOTSUPP || reason == EMLINK || reason == EPERM) return false;  // it is copied then
  return fail(kept.error());
}

Status Backup::keep_blobs(Work& work) {
  std::unordered_set<InodeId> wanted;
  for (const RowCopy::Blob& blob : work.rows->blobs()) {
    const InodeId ino = blob.inode.ino;
    wanted.insert(ino);
    if (!work.former) continue;
    CFFS_TRY(const bool same,
             work.former->has_blob(blob.inode, work.moment.rows(), work.rows->unclean_ends()));
    if (!same) continue;
    CFFS_TRY(const bool kept, work.blobs.have(ino, [&] { return keep(BlobStore::object_name(ino)); }));
    if (!kept) continue;
    kept_blobs_.insert(ino);
    work.moment.let_go(PendingRemoval::of_blob(ino));
  }
  return work.blobs.drop_others(std::move(wanted));
}

Status Backup::copy_composites(Work& work) {
  for (const auto& [number, composite] : work.rows->composites()) {
    const CompositeId id{number};
    // Without a row it is copied as long as it is: its files say where they lie in it, and a repair makes the row anew.
    const std::uint64_t size = composite.has_row ? composite.size : ~std::uint64_t{0};
    bool kept = composite.known && work.former && work.former->has_composite(id, size);
    if (kept) {
      CFFS_TRY(kept, keep(CompositeStore::object_name(id)));
    }
    if (!kept) CFFS_TRY_VOID(copy_composite(work, id, size));
    work.moment.let_go(PendingRemoval::of(id));
    if (!spent(0)) return was_stopped();
  }
  return {};
}

Status Backup::copy_composite(Work& work, CompositeId id, std::uint64_t size) {
  const std::string name = CompositeStore::object_name(id);
  const auto from = work.moment.open(PendingRemoval::of(id));
  if (!from && is_lost(from.error())) {
    CFFS_TRY_VOID(work.moment.good());
    damaged(how_lost(from.error(), name), name);
    return name_damaged_members(work, id, {});
  }
  if (!from) return fail(from.error());
  CFFS_TRY(const ObjectInfo info, (*from)->info());
  // One that is packed is copied whole: what it has beyond the moment nobody names. What cannot be opened is copied as it is.
  const auto shown = CompositeStore::plain(*from, name);
  const bool packed = !shown || CompositeStore::compression_of(**shown) != Compression{};
  const std::uint64_t end = packed ? info.size : std::min(size, info.size);
  has_packed_ = has_packed_ || packed;
  CFFS_TRY(const auto to, place_.fresh().create(name, ObjectStore::Create::truncate));
  const bool shared = to->clone_from(**from);
  std::uint64_t bytes = 0;
  if (!shared) {
    CFFS_TRY(const CopiedRange copied, copy_range(**from, *to, 0, end));
    bytes = copied.bytes;
  }
  CFFS_TRY_VOID(to->truncate(end));
  ++progress_.copied;
  if (shared) ++progress_.shared;
  // What was written is what is judged.
  const auto plain = CompositeStore::plain(to, name);
  const auto read =
      plain ? CompositeStore::read_what_can_be(**plain) : Result<std::string>(fail(plain.error()));
  if (!read && read.error().kind != ErrorKind::corruption) return fail(read.error());
  const std::string content = read.value_or(std::string());
  const Status index = plain ? CompositeStore::check_index(**plain) : Status();
  if (!index) damaged(index.error().message(), name);  // or the next one would keep it
  CFFS_TRY(const bool whole, is_whole(work, id, content));
  if (!whole || content.size() < size) CFFS_TRY_VOID(name_damaged_members(work, id, content));
  return spent(bytes) ? Status() : was_stopped();
}

// What no row of the moment names may be holes.
Result<bool> Backup::is_whole(Work& work, CompositeId id, std::string_view bytes) {
  bool whole = true;
  const Status scanned =
      CompositeStore::scan_bytes(id, bytes, [&](const RecordMeta& meta, std::uint64_t data_at) {
        const std::string_view data =
            bytes.substr(std::min<std::uint64_t>(data_at, bytes.size()), meta.data_length);
        if (!whole || checksum(data) == meta.data_checksum) return;
        const auto files = fs_.rehousing().members_of(meta, id, &work.moment.rows());
        whole = files && files->empty();
      });
  if (!scanned) damaged(scanned.error().message(), CompositeStore::object_name(id));
  return whole && scanned.has_value();
}

// Members by their rows, which say where they are and what their checksum is. Rare: a scan of all rows.
Status Backup::name_damaged_members(Work& work, CompositeId id, std::string_view bytes) {
  const auto look = [&](Key key, const Entry& entry) {
    if (!entry.inode || entry.inode->home != Home::composite || entry.inode->extent.composite != id) return;
    const Extent& extent = entry.inode->extent;
    const bool there = extent.offset <= bytes.size() && extent.length <= bytes.size() - extent.offset;
    if (there && checksum(bytes.substr(extent.offset, extent.length)) == extent.checksum) return;
    damaged(path_of({InodeId{key.upper}, entry.name}, entry.ino) + ": its data in " +
                CompositeStore::object_name(id) + " differs from its checksum",
            CompositeStore::object_name(id));
  };
  const Status scanned = work.moment.rows().scan({0, 0}, {kInodeLimit - 1, ~std::uint64_t{0}},
                                                 [&](Key key, std::string_view value) {
                                                   if (row_kind(key, value) != RowKind::entries) return true;
                                                   if (const auto row = decode_row(value)) {
                                                     for (const Entry& entry : row->entries) look(key, entry);
                                                   }
                                                   return true;
                                                 });
  if (!scanned && scanned.error().kind != ErrorKind::corruption) return scanned;
  return {};
}

Status Backup::copy_blobs(Work& work) {
  for (const RowCopy::Blob& blob : work.rows->blobs()) {
    if (kept_blobs_.contains(blob.inode.ino)) continue;
    CFFS_TRY_VOID(copy_blob(work, blob));
    work.moment.let_go(PendingRemoval::of_blob(blob.inode.ino));
  }
  return {};
}

Status Backup::copy_blob(Work& work, const RowCopy::Blob& blob) {
  const Inode& inode = blob.inode;
  const std::string name = BlobStore::object_name(inode.ino);
  const auto from = work.moment.open(PendingRemoval::of_blob(inode.ino));
  if (!from && is_lost(from.error())) {
    CFFS_TRY_VOID(work.moment.good());
    damaged(path_of(blob.at, inode.ino) + ": " + how_lost(from.error(), name), name);
    return {};
  }
  if (!from) return fail(from.error());
  CFFS_TRY(const BlobCopies::Copied copied, work.blobs.copy(inode.ino, *from, inode.size, inode.sealed,
                                                            [this](std::uint64_t n) { return spent(n); }));
  ++progress_.copied;
  if (copied.shared) ++progress_.shared;
  if (!copied.damage.empty()) damaged(path_of(blob.at, inode.ino) + ": " + copied.damage, name);
  if (inode.sealed && copied.damage.empty()) CFFS_TRY_VOID(check_sums(work, blob));
  return {};
}

// The copy's bytes against the copy's checksums, which are the source's. A piece that is a hole and has none is zeros.
Status Backup::check_sums(Work& work, const RowCopy::Blob& blob) {
  const Inode& inode = blob.inode;
  const std::string name = BlobStore::object_name(inode.ino);
  CFFS_TRY(const auto object, place_.fresh().open(name));
  const BlobSums sums(*work.table);
  std::string piece;
  for (std::uint64_t at = 0; at < inode.size; at += kSumRowSpan) {
    CFFS_TRY(const std::uint64_t data, object->next_data(at));
    if (data >= at + kSumRowSpan) {
      CFFS_TRY(const auto row,
               work.table->get(Key::tagged(KeyTag::block_sums, inode.ino.value, at / kSumRowSpan)));
      if (!row) continue;
    }
    piece.resize(std::min(kSumRowSpan, inode.size - at));
    CFFS_TRY(const std::size_t n, object->read_at(at, as_writable_bytes(piece)));
    piece.resize(n);
    const Status good = sums.verify(inode.ino, *object, inode.size, at, as_writable_bytes(piece));
    if (!good) {
      damaged(path_of(blob.at, inode.ino) + ": " + good.error().message(), name);
      return {};
    }
    if (!spent(0)) return was_stopped();
  }
  return {};
}

// The plan and the access record: whoever lost them groups worse, and nothing else.
Status Backup::copy_hints() {
  CFFS_TRY(std::vector<std::string> names, fs_.objects().list("accesses"));
  names.emplace_back("plan");
  for (const std::string& name : names) {
    const auto from = fs_.objects().open(name);
    if (!from && from.error().errno_value == ENOENT) continue;
    if (!from) return fail(from.error());
    CFFS_TRY(const ObjectInfo info, (*from)->info());
    CFFS_TRY(const auto to, place_.fresh().create(name, ObjectStore::Create::truncate));
    CFFS_TRY(const CopiedRange copied, copy_range(**from, *to, 0, info.size));
    if (copied.unreadable) damaged(name + ": byte " + std::to_string(*copied.unreadable) + " cannot be read");
  }
  return {};
}

// The superblock comes last: without it there is no store.
// The moment may be of before the store's first composite was packed, and the copy of that composite of after.
Status Backup::say_how_packed(Work& work) const {
  const Key key = system_key(SystemField::compression);
  CFFS_TRY(const auto row, work.table->get(key));
  if (row || !has_packed_) return {};
  Batch batch;
  batch.put(key, encode_compression(fs_.compression()));
  return work.table->write(batch);
}

Status Backup::finish(Work& work) {
  CFFS_TRY_VOID(work.moment.good());
  CFFS_TRY_VOID(work.blobs.good());
  CFFS_TRY_VOID(say_how_packed(work));
  work.table.reset();
  ObjectStore& fresh = place_.fresh();
  BackupRecord record{fs_.store_format().uuid, work.moment.at_ns(), work.rows->unclean_ends(), 0,
                      damaged_objects_};
  CFFS_TRY(record.table, table_fingerprint(fresh));
  CFFS_TRY(const auto superblock, fs_.objects().open(kSuperblock));
  CFFS_TRY(const std::string format, read_whole(*superblock));
  const std::pair<const char*, std::string> last[] = {
      {kBackupObject, encode_backup_record(record)}, {"superblock.copy", format}, {kSuperblock, format}};
  for (const auto& [name, bytes] : last) {
    CFFS_TRY(const auto object, fresh.create(name, ObjectStore::Create::truncate));
    CFFS_TRY_VOID(object->write_at(0, as_bytes(bytes)));
  }
  if (!spent(0)) return was_stopped();
  CFFS_TRY_VOID(fresh.sync_everything());
  return place_.switch_over();
}

std::string Backup::path_of(const EntryName& at, InodeId ino) {
  const auto path =
      at.name.empty() ? Result<std::optional<std::string>>(std::optional<std::string>()) : paths_.path_of(at);
  std::string said = path && *path ? printable(**path) : printable(at.name);
  if (!said.empty()) said += ' ';
  said += "(inode " + std::to_string(ino.value) + ")";
  return said;
}

void Backup::damaged(const std::string& sentence, const std::string& object) {
  ++progress_.damaged;
  if (!object.empty() && (damaged_objects_.empty() || damaged_objects_.back() != object)) {
    damaged_objects_.push_back(object);
  }
  options_.on_damage(sentence);
}

bool Backup::spent(std::uint64_t bytes) {
  progress_.bytes += bytes;
  options_.on_progress(progress_);
  pace_.spent(bytes, options_.go_on);
  return options_.go_on();
}

}  // namespace cffs
