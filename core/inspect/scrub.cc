#include "core/inspect/scrub.h"

#include <algorithm>

#include "core/base/checksum.h"
#include "core/base/no_room.h"
#include "core/blob/blob_store.h"
#include "core/composite/composite_store.h"
#include "core/composite/large_member.h"
#include "core/inspect/row_names.h"
#include "core/reorganise/quiet_file.h"
#include "core/table/catalogue.h"
#include "core/table/table.h"

namespace cffs {
namespace {

constexpr std::size_t kRowsAtATime = 256;
constexpr std::uint64_t kPieceBytes = kSumRowSpan;  // read at once; the rate is kept between pieces
constexpr std::uint64_t kInMemory = 16u << 20;      // of a composite that is looked at as a whole
constexpr std::int64_t kRememberMs = 3000;
constexpr std::int64_t kNsPerMs = 1'000'000;
const Key kNamespaceEnd = Key::tagged(KeyTag::namespace_, kInodeLimit - 1, ~std::uint64_t{0});
const Key kWhere = system_key(SystemField::scrub);

std::optional<Key> after(Key key) {
  if (key == kNamespaceEnd) return {};
  if (++key.lower == 0) ++key.upper;
  return key;
}

}  // namespace

Scrub::Scrub(FileSystem& fs, ScrubOptions options)
    : fs_(fs), options_(std::move(options)), pace_(options_.bytes_per_second), paths_(fs) {}

Result<std::optional<ScrubProgress>> Scrub::last(FileSystem& fs) {
  CFFS_TRY(const auto row, fs.table().get(kWhere));
  if (!row) return std::optional<ScrubProgress>();
  CFFS_TRY(const ScrubProgress progress, decode_scrub_progress(*row));
  return std::optional<ScrubProgress>(progress);
}

Status Scrub::begin() {
  const auto before = last(fs_);  // one that is malformed is none
  const bool goes_on = before && *before && !(*before)->finished && !options_.anew;
  if (goes_on) progress_ = **before;
  remembered_ms_ = fs_.clock().steady_ms();
  if (goes_on) return {};
  progress_ = {};
  progress_.began_ns = fs_.clock().now_ns();
  CFFS_TRY_VOID(check_table());
  CFFS_TRY_VOID(check_catalogue());
  return remember();
}

Result<ScrubProgress> Scrub::run() {
  CFFS_TRY_VOID(begin());
  progress_.bytes_in_all = add_up();
  bool more = true;
  while (more && options_.go_on()) {
    CFFS_TRY(const Rows rows, next_rows());
    for (const auto& [key, value] : rows) {
      CFFS_TRY_VOID(check_row(key, value));
      if (!options_.go_on()) break;  // perhaps in the middle of this row: it is looked at again
      const auto next = after(key);
      more = next.has_value();
      if (next) progress_.next = *next;
    }
    more = more && !rows.empty();
    if (fs_.clock().steady_ms() - remembered_ms_ >= kRememberMs) CFFS_TRY_VOID(remember());
  }
  progress_.finished = !more;
  CFFS_TRY_VOID(remember());
  return progress_;
}

// What there is to read, as the rows say just now: for whoever wants to know how long it takes. Holes count, and are not read.
std::uint64_t Scrub::add_up() const {
  std::uint64_t bytes = 0;
  NamespaceVisitor visitor;
  visitor.composite = [&](CompositeId, const CompositeRow& row) {
    bytes += row.size;
    return options_.go_on();
  };
  visitor.entries = [&](Key, const Row& row) {
    for (const Entry& entry : row.entries) {
      const bool apart =
          entry.inode && (entry.inode->home == Home::inline_ || entry.inode->home == Home::blob);
      if (apart && S_ISREG(entry.type)) bytes += entry.inode->size;
    }
    return options_.go_on();
  };
  visitor.damaged = pass_over;
  visitor.past_damage = true;
  const Status scanned = fs_.table().scan_namespace(visitor);
  const bool seen = scanned || scanned.error().kind == ErrorKind::corruption;
  return seen && options_.go_on() ? bytes : 0;
}

// A file of the table that is damaged is named as a whole; which rows were in it nobody knows.
Status Scrub::check_table() {
  const auto found = fs_.table().find_damaged_files();
  if (!found) return unreadable(found.error());
  for (const std::string& sentence : *found) damaged(sentence);
  return {};
}

Status Scrub::check_catalogue() {
  const auto catalogue = read_catalogue(fs_.objects(), {});
  if (!catalogue) return unreadable(catalogue.error());
  if (!*catalogue) return {};
  for (const std::string& sentence : (*catalogue)->damage) damaged(sentence);
  return {};
}

// A scan goes on behind a block that cannot be read, which check_table() has named.
Result<Scrub::Rows> Scrub::next_rows() {
  Rows rows;
  const Status scanned =
      fs_.table().scan_past_damage(progress_.next, kNamespaceEnd, [&](Key key, std::string_view value) {
        rows.emplace_back(key, value);
        return rows.size() < kRowsAtATime;
      });
  if (!scanned && scanned.error().kind != ErrorKind::corruption) return fail(scanned.error());
  return rows;
}

Status Scrub::check_row(Key key, const std::string& value) {
  switch (row_kind(key, value)) {
    case RowKind::composite: {
      const auto row = decode_composite_row(value);
      if (row) return check_composite(CompositeId{key.upper}, *row);
      damaged("row " + key_text(key) + ": " + row.error().message());
      return {};
    }
    case RowKind::entries: {
      const auto row = decode_row(value);
      if (!row) {
        damaged("row " + key_text(key) + ": " + row.error().message());
        return {};
      }
      for (const Entry& entry : row->entries) {
        if (options_.go_on()) CFFS_TRY_VOID(check_file(key, InodeId{key.upper}, entry));
      }
      return {};
    }
    case RowKind::member_files:
      return {};
  }
  return {};
}

// `problem`: why it could not be read to its end.
Result<std::string> Scrub::read_from_medium(const Object& object, std::uint64_t bytes, Status& problem) {
  std::string all(bytes, '\0');
  for (std::uint64_t at = 0; at < bytes && options_.go_on();) {
    const auto piece = as_writable_bytes(all).subspan(at, std::min(kPieceBytes, bytes - at));
    const auto n = object.read_medium(at, piece);
    if (!n) problem = fail(n.error());
    if (!n || *n == 0) {
      all.resize(at);
      return all;
    }
    at += *n;
    spent(*n);
  }
  return all;
}

Status Scrub::check_composite(CompositeId id, const CompositeRow& row) {
  // By name: a handle that is still open would hide that the object is gone.
  const std::string name = CompositeStore::object_name(id);
  auto object = fs_.objects().open(name);
  if (object) object = CompositeStore::plain(std::move(*object), name);
  if (!object) return report_unopened(id, object.error());
  if (const Status index = CompositeStore::check_index(**object); !index)
    CFFS_TRY_VOID(unreadable(index.error()));
  if (row.size > kInMemory) return check_large(id, row, **object);
  Status problem;
  CFFS_TRY(const std::string bytes, read_from_medium(**object, row.size, problem));
  if (!options_.go_on()) return {};
  if (!problem && problem.error().is_shortage()) return problem;
  std::vector<Record> records;
  const Status scanned =
      CompositeStore::scan_bytes(id, bytes, [&](const RecordMeta& meta, std::uint64_t data_at) {
        records.push_back({meta, data_at});
      });
  progress_.files += row.members;
  if (!problem) return check_members_by_rows(id, problem.error().message(), **object);
  if (!scanned) return check_members_by_rows(id, scanned.error().message(), **object);
  if (bytes.size() < row.size) return check_members_by_rows(id, name + " ends before its row says", **object);
  for (const Record& record : records) {
    const std::string_view data = std::string_view(bytes).substr(
        std::min<std::uint64_t>(record.data_at, bytes.size()), record.meta.data_length);
    if (checksum(data) == record.meta.data_checksum) continue;
    CFFS_TRY_VOID(report_record(id, record.meta, member_differs({id, record.meta.slot}).value()));
  }
  return {};
}

// What cannot be opened nobody can read: it costs all its members, and no other composite.
Status Scrub::report_unopened(CompositeId id, const Error& error) {
  if (error.is_shortage()) return fail(error);
  if (error.errno_value != ENOENT) {
    return report_members_by_rows(id, error.message(), [&](const Extent&) { return Status(fail(error)); });
  }
  const std::string missing = "object " + CompositeStore::object_name(id) + " is missing";
  return report_members_by_rows(id, missing, [&](const Extent&) {
    return Status(fail(Error::corruption("its composite is missing")));
  });
}

// A member may be as long as many composites: its bytes pass through, instead of being in memory all at once.
Status Scrub::check_large(CompositeId id, const CompositeRow& row, const Object& object) {
  std::vector<Record> records;
  const Status scanned =
      fs_.composites().scan(id, row.size, [&](const RecordMeta& meta, std::uint64_t data_at) {
        records.push_back({meta, data_at});
      });
  if (!scanned && scanned.error().is_shortage()) return scanned;
  progress_.files += row.members;
  if (!scanned) return check_members_by_rows(id, scanned.error().message(), object);
  for (const Record& record : records) {
    const Status same = read_member(object, {id, record.meta.slot, record.data_at, record.meta.data_length,
                                             record.meta.data_length, record.meta.data_checksum});
    if (!options_.go_on()) return {};
    if (!same) CFFS_TRY_VOID(report_record(id, record.meta, same.error()));
  }
  return {};
}

// EINTR: it is to stop.
Status Scrub::read_member(const Object& object, const Extent& extent) {
  const auto read = [&](std::uint64_t offset, Bytes out) -> Result<std::size_t> {
    if (!options_.go_on()) return fail(EINTR);
    CFFS_TRY(const std::size_t n, object.read_medium(offset, out));
    spent(n);
    return n;
  };
  return visit_member(extent, read, [](std::uint64_t, ConstBytes) { return Status(); });
}

// A record that no file is in any more is no loss to anybody. Where nobody can tell, since rows cannot be read, it may be one.
Status Scrub::report_record(CompositeId id, const RecordMeta& record, const Error& error) {
  const auto files = fs_.rehousing().members_of(record, id);
  if (!files && files.error().is_damage()) return unreadable(error);
  if (!files) return fail(files.error());
  for (const FileToMove& file : *files) CFFS_TRY_VOID(judge(file, error));
  return {};
}

// Where records cannot be followed to their end, the members' own rows say where they are, and no record is asked: the last one that was
// read may be cut, and its file whole.
Status Scrub::check_members_by_rows(CompositeId id, const std::string& why, const Object& object) {
  return report_members_by_rows(id, why, [&](const Extent& extent) -> Status {
    CFFS_TRY(const ObjectInfo info, object.info());
    if (extent.offset > info.size || extent.length > info.size - extent.offset)
      return fail(Error::corruption("its composite ends before its data"));
    return read_member(object, extent);
  });
}

// Rare: a scan of all rows. The composite may have lost all its members meanwhile, and its object with them; before, where its own row cannot
// be read and an older one was met.
Status Scrub::report_members_by_rows(CompositeId id, const std::string& why,
                                     const std::function<Status(const Extent&)>& check) {
  const auto still = fs_.table().get(Key::null_name(id));
  if (!still && !still.error().is_damage()) return fail(still.error());
  if (still && !*still) return {};
  if (still) damaged(why);
  std::vector<FileToMove> members;
  NamespaceVisitor visitor;
  visitor.entries = [&](Key key, const Row& row) {
    for (const Entry& entry : row.entries) {
      auto file = fs_.rehousing().look(key, InodeId{key.upper}, entry);
      if (file && file->inode.home == Home::composite && file->inode.extent.composite == id)
        members.push_back(std::move(*file));
    }
    return true;
  };
  visitor.damaged = pass_over;
  visitor.past_damage = true;
  const Status scanned = fs_.table().scan_namespace(visitor);
  if (!scanned && scanned.error().kind != ErrorKind::corruption) return scanned;
  std::set<InodeId> met;  // by another name
  for (const FileToMove& file : members) {
    if (!met.insert(file.inode.ino).second) continue;
    const Status same = check(file.inode.extent);
    if (!options_.go_on()) return {};
    if (!same) CFFS_TRY_VOID(judge(file, same.error()));
  }
  return {};
}

Status Scrub::check_file(Key key, InodeId directory, const Entry& entry) {
  if (entry.name.empty() || !S_ISREG(entry.type)) return {};         // null names: by their names
  if (!entry.inode && !linked_.insert(entry.ino).second) return {};  // seen by another name
  auto file = fs_.rehousing().look(key, directory, entry);
  if (!file || file->inode.home == Home::none || file->inode.home == Home::composite) return {};
  ++progress_.files;
  return file->inode.home == Home::blob ? check_blob(*file) : check_inline(*file);
}

Status Scrub::check_inline(FileToMove& file) {
  const auto readable = fs_.rehousing().read(file);
  spent(file.inode.size);
  return readable ? Status() : judge(file, readable.error());
}

Status Scrub::check_blob(const FileToMove& file) {
  const std::string name = BlobStore::object_name(file.inode.ino);
  const auto object = fs_.objects().open(name);
  Status good = object ? read_blob(file, **object) : Status(fail(object.error()));
  if (!good) return judge(file, good.error());
  const std::int64_t quiet_before = fs_.clock().now_ns() - options_.quiet_ms * kNsPerMs;
  const bool seals = Sealing::wanted(fs_.store_format(), file.inode) &&
                     is_quiet(file.inode, quiet_before, fs_.clock()) && options_.go_on();
  return seals ? seal(file) : Status();
}

// Holes are not read: nothing of them is on the medium, but what a sealed blob's checksums know of.
Status Scrub::read_blob(const FileToMove& file, const Object& object) {
  const Inode& inode = file.inode;
  const BlobSums sums(fs_.table());
  std::string piece;
  for (std::uint64_t at = 0; at < inode.size && options_.go_on(); at += piece.size()) {
    if (!inode.sealed) {
      CFFS_TRY(const std::uint64_t data, object.next_data(at));
      at = std::max(at, data / kPieceBytes * kPieceBytes);
      if (at >= inode.size) break;
    }
    piece.resize(std::min(kPieceBytes, inode.size - at));
    CFFS_TRY(const std::size_t n, object.read_medium(at, as_writable_bytes(piece)));
    if (n < piece.size()) {
      return fail(Error::corruption("its blob ends at byte " + std::to_string(at + n)));
    }
    if (inode.sealed) CFFS_TRY_VOID(sums.verify(inode.ino, object, inode.size, at, as_writable_bytes(piece)));
    spent(n);
  }
  return {};
}

Status Scrub::seal(const FileToMove& file) {
  const auto sealed = fs_.rehousing().seal(file, options_.go_on);
  if (!sealed && fs_.table().failed()) return fail(sealed.error());
  const int reason = sealed ? 0 : sealed.error().errno_value;
  if (is_no_room(reason)) return {};  // it has been read, and goes without checksums
  if (!sealed) return judge(file, sealed.error());
  if (*sealed) ++progress_.sealed;
  return {};
}

Result<bool> Scrub::unchanged(const FileToMove& file) {
  CFFS_TRY(const auto now, fs_.rehousing().find(file.at, file.inode.ino));
  const bool is_linked = file.row_key == Key::null_name(file.inode.ino);  // a name of it may have gone
  if (!now && is_linked) {
    const auto linked = fs_.rehousing().linked_inode(file.inode.ino);
    return linked && same_content(*linked, file.inode) && linked->sealed == file.inode.sealed;
  }
  return now && same_content(now->inode, file.inode) && now->inode.sealed == file.inode.sealed;
}

Status Scrub::judge(const FileToMove& file, const Error& error) {
  if (error.is_shortage()) return fail(error);  // says nothing about the file
  const auto still = unchanged(file);
  // Its row is in a block that cannot be read, which check_table() has named, and this was an older one.
  if (!still && still.error().is_damage()) return {};
  if (!still) return fail(still.error());
  if (!*still) return {};
  const auto path = paths_.path_of(file.at);
  std::string said = path && *path ? printable(**path) : printable(file.at.name);
  said += " (inode " + std::to_string(file.inode.ino.value) + "): ";
  said += error.message();
  damaged(said);
  return {};
}

void Scrub::damaged(const std::string& sentence) {
  ++progress_.damaged;
  options_.on_damage(sentence);
}

Status Scrub::unreadable(const Error& error) {
  if (error.is_shortage()) return fail(error);
  damaged(error.message());
  return {};
}

void Scrub::spent(std::uint64_t bytes) {
  progress_.bytes += bytes;
  options_.on_progress(progress_);
  pace_.spent(bytes, options_.go_on);
}

Status Scrub::remember() {
  progress_.seen_ns = fs_.clock().now_ns();
  remembered_ms_ = fs_.clock().steady_ms();
  options_.on_progress(progress_);
  Batch batch;
  batch.put(kWhere, encode_scrub_progress(progress_));
  return fs_.table().write(batch);
}

}  // namespace cffs
