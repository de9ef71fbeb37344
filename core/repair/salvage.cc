#include "core/repair/salvage.h"

#include <algorithm>
#include <charconv>

#include "core/base/checksum.h"
#include "core/base/no_room.h"
#include "core/composite/composite_store.h"
#include "core/composite/large_member.h"
#include "core/object/what_can_be_read.h"
#include "core/table/content_row.h"

namespace cffs {
namespace {

constexpr std::size_t kRecordAlignment = 8;
constexpr std::uint64_t kPieceBytes = 1u << 20;

// composites/0/17: 17; 0 where somebody else named it.
std::uint64_t number_in(const std::string& object) {
  std::uint64_t number = 0;
  std::from_chars(object.data() + object.rfind('/') + 1, object.data() + object.size(), number);
  return number;
}

std::string last_part(const std::string& object) { return object.substr(object.rfind('/') + 1); }

// Of one file, or of the new store as a whole?
bool concerns_all(const Error& error) {
  const int reason = error.errno_value;
  return is_no_room(reason) || reason == EROFS || reason == EIO || reason == EMFILE || reason == ENFILE ||
         reason == ENOMEM;
}

}  // namespace

Salvage::Salvage(ObjectStore& from, FileSystem& to, Progress progress)
    : reread_(from),
      from_(reread_),
      to_(to),
      progress_(std::move(progress)),
      names_(from_),
      tree_(to, names_, report_.lost) {}

Result<SalvageReport> Salvage::run() {
  CFFS_TRY_VOID(names_.looked());
  look_at_names();
  CFFS_TRY_VOID(look_at_records());
  CFFS_TRY_VOID(look_at_blobs());
  CFFS_TRY_VOID(tree_.make_directories());
  CFFS_TRY_VOID(names_.visit([this](const std::optional<EntryName>& at, const Inode& inode) {
    return bring_back_known(at, inode);
  }));
  CFFS_TRY_VOID(bring_back_records());
  for (const auto& [ino, object] : blobs_) CFFS_TRY_VOID(bring_back_nameless_blob(object));
  for (const std::string& object : kept_blobs_) CFFS_TRY_VOID(bring_back_nameless_blob(object));
  if (names_.present()) {
    for (const InodeId ino : tree_.nameless()) {
      report_.uncertain.push_back("directory " + std::to_string(ino.value) +
                                  " has no name in the catalogue: /#" + std::to_string(ino.value));
    }
  }
  CFFS_TRY_VOID(tree_.finish_directories());
  CFFS_TRY_VOID(to_.sync());
  return std::move(report_);
}

void Salvage::look_at_names() {
  report_.lost = names_.damage();
  report_.directories = names_.directories().size();
  if (names_.present()) report_.names_ns = names_.moment().at_ns;
}

Status Salvage::look_at_records() {
  for (const char* folder : {"composites", "lost+found/composites"}) {
    CFFS_TRY(const auto objects, from_.list(folder));
    for (const std::string& object : objects) {
      if (CompositeStore::is_copy(object)) continue;  // what it is a copy of is there
      progress_("reading " + object);
      CFFS_TRY_VOID(look_into(object));
    }
  }
  for (auto& [ino, found] : records_) {
    std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.age > b.age; });
  }
  return {};
}

Status Salvage::look_at_blobs() {
  CFFS_TRY(const auto objects, from_.list("blobs"));
  for (const std::string& object : objects) {
    const bool own = blobs_.try_emplace(InodeId{number_in(object)}, object).second;
    if (!own) kept_blobs_.push_back(object);  // nobody knows who named it
  }
  CFFS_TRY(const auto kept, from_.list("lost+found/blobs"));
  kept_blobs_.insert(kept_blobs_.end(), kept.begin(), kept.end());
  return {};
}

// Behind damage the next record that its own checksum proves is looked for, byte group by byte group.
Status Salvage::look_into(const std::string& object) {
  const auto opened = open(object);
  const auto bytes =
      opened ? CompositeStore::read_what_can_be(**opened) : Result<std::string>(fail(opened.error()));
  if (!bytes && bytes.error().is_shortage()) return fail(bytes.error());  // it may all be there
  if (!bytes) {
    report_.lost.push_back(bytes.error().message());
    return {};
  }
  const std::string_view all(*bytes);
  const std::uint64_t number = number_in(object);
  std::uint64_t lost_from = 0;
  bool lost = false;
  const auto tell = [&](std::uint64_t until) {
    if (lost)
      report_.lost.push_back(object + ": no records in bytes " + std::to_string(lost_from) + " to " +
                             std::to_string(until - 1));
    lost = false;
  };
  for (std::uint64_t at = kCompositeHeaderBytes; at < all.size();) {
    const auto record = parse_record(all.substr(at));
    const auto inode = record && *record ? record_inode(all.substr(at)) : Result<Inode>(fail(EIO));
    if (!inode) {
      if (!lost) lost_from = at;
      lost = true;
      at += kRecordAlignment;
      continue;
    }
    tell(at);
    records_[inode->ino].push_back(
        {object, at, (*record)->record_bytes(), {inode->ctime_ns, inode->version, number, at}});
    const RecordMeta& meta = **record;
    if (meta.data_length >= kLeastShared) {
      contents_[{meta.data_length, meta.data_checksum}].push_back(records_[inode->ino].back());
    }
    at += meta.record_bytes();
  }
  tell(all.size());
  return {};
}

// A composite's, with its plain bytes.
Result<std::shared_ptr<Object>> Salvage::open(const std::string& object) const {
  CFFS_TRY(auto opened, from_.open(object));
  return CompositeStore::plain(std::move(opened), object);
}

// Of a record that cannot be read. Where memory or descriptors are short for that, nothing is known of it.
Result<std::optional<Salvage::Whole>> Salvage::not_whole(const Error& error) {
  if (error.is_shortage()) return fail(error);
  return std::optional<Whole>();
}

// nullopt: its data is not what its checksum says.
Result<std::optional<Salvage::Whole>> Salvage::read_record(const Found& found) const {
  const auto object = open(found.object);
  const auto info = object ? (*object)->info() : Result<ObjectInfo>(fail(object.error()));
  if (!info) return not_whole(info.error());
  std::string bytes(std::min(found.bytes, info->size - std::min(found.at, info->size)), '\0');
  const auto n = (*object)->read_at(found.at, as_writable_bytes(bytes));
  if (!n) return not_whole(n.error());
  bytes.resize(*n);
  auto record = parse_record(bytes);
  if (!record || !*record) return std::optional<Whole>();
  RecordMeta& meta = **record;
  if (meta.meta_bytes > bytes.size() || meta.data_length > bytes.size() - meta.meta_bytes)
    return std::optional<Whole>();
  auto inode = record_inode(bytes);
  if (!inode) return std::optional<Whole>();
  Whole whole{{meta.parent, std::move(meta.name)}, std::move(*inode), {}, false};
  whole.data = bytes.substr(meta.meta_bytes, meta.data_length);
  if (checksum(whole.data) != meta.data_checksum) return std::optional<Whole>();
  return std::optional(std::move(whole));
}

Result<std::optional<Salvage::Whole>> Salvage::newest_record(InodeId ino) {
  const auto found = records_.find(ino);
  if (found == records_.end()) return std::optional<Whole>();
  for (const Found& each : found->second) {
    CFFS_TRY(auto whole, read_record(each));
    if (!whole) continue;
    whole->newest = each.version() == found->second.front().version();
    return whole;
  }
  return std::optional<Whole>();
}

// A file that shared a member has no record of its own, or an older one; any that has the content is as good. Some may be nobody's by now,
// with holes where their data was.
Result<std::optional<Salvage::Whole>> Salvage::shared_record(const Inode& known) const {
  if (known.home != Home::composite) return std::optional<Whole>();
  const auto found = contents_.find({known.extent.length, known.extent.checksum});
  if (found == contents_.end()) return std::optional<Whole>();
  for (const Found& record : found->second) {
    CFFS_TRY(auto whole, read_record(record));
    if (!whole) continue;
    whole->inode = known;
    whole->newest = true;
    return whole;
  }
  return std::optional<Whole>();
}

// A record whose header is damaged has its data all the same, and the catalogue knows where that is.
Result<std::optional<Salvage::Whole>> Salvage::known_member(const Inode& known) const {
  if (known.home != Home::composite || !is_possible(known.extent)) return std::optional<Whole>();
  const std::string name = CompositeStore::object_name(known.extent.composite);
  for (const std::string& object : {name, "lost+found/" + name}) {
    const auto opened = open(object);
    if (!opened && opened.error().is_shortage()) return fail(opened.error());
    if (!opened) continue;
    Whole whole{{}, known, {}, true};
    const Status good = visit_member(**opened, known.extent, [&](std::uint64_t, ConstBytes piece) -> Status {
      whole.data.append(reinterpret_cast<const char*>(piece.data()), piece.size());
      return {};
    });
    if (good) return std::optional(std::move(whole));
    if (good.error().is_shortage()) return fail(good.error());
  }
  return std::optional<Whole>();
}

std::vector<EntryName> Salvage::places_of(const std::optional<EntryName>& at, InodeId ino) const {
  return at ? std::vector{*at} : names_.names(ino);
}

// The newer word counts: the catalogue's, or that of the newest record whose data is whole.
Status Salvage::bring_back_known(const std::optional<EntryName>& at, const Inode& inode) {
  std::vector<EntryName> places = places_of(at, inode.ino);
  CFFS_TRY(auto record, newest_record(inode.ino));
  if (!record || record->inode.version < inode.version) {
    CFFS_TRY(auto same, shared_record(inode));
    if (!same) {
      CFFS_TRY(same, known_member(inode));
    }
    if (same) record = std::move(same);
  }
  const bool newer = record && std::pair(record->inode.ctime_ns, record->inode.version) >
                                   std::pair(inode.ctime_ns, inode.version);
  if (newer && places.size() <= 1) places = {record->at};
  if (places.empty()) {  // they are lost
    const bool comes_back = records_.contains(inode.ino) || blobs_.contains(inode.ino);
    if (!comes_back) lost(inode.ino, {}, "its names are in what is damaged of the catalogue");
    return {};
  }
  Status done = inode.is_regular() ? bring_back_content(places, inode, newer ? record->inode : inode, record)
                                   : make(places, inode, [](InodeId) { return Status(); });
  records_.erase(inode.ino);
  blobs_.erase(inode.ino);
  return done;
}

Status Salvage::bring_back_content(const std::vector<EntryName>& places, const Inode& known,
                                   const Inode& inode, std::optional<Whole> record) {
  const auto blob = blobs_.find(known.ino);
  if (blob != blobs_.end()) {
    const std::string object = blob->second;
    compare_size(known, object);
    CFFS_TRY_VOID(make(places, inode, [&](InodeId file) { return fill_from_blob(file, object); }));
    if (!record || known.home == Home::blob) return {};
    // Which of the two is older nobody knows.
    report_.uncertain.push_back(object + ": of this file there is also what a composite has; both are back");
    if (record->at.name.empty()) return {};  // the catalogue's word on where it was, before it became a blob
    return make({record->at}, record->inode, [&](InodeId file) { return fill(file, record->data); });
  }
  const bool empty = known.size == 0 && !(record && record->inode.version > known.version);
  auto kept = empty ? std::string() : names_.inline_data(known.ino, known.size);
  const bool current = record && record->inode.version >= known.version;
  if (!current && kept) return make(places, inode, [&](InodeId file) { return fill(file, *kept); });
  if (!record) {
    const char* what = known.home == Home::inline_ ? "its data was in the table"
                       : known.home == Home::blob  ? "its blob is missing"
                                                   : "no record of it has its data";
    lost(known.ino, places.front(), what);
    return {};
  }
  if (!current || !record->newest) ++report_.older;
  return make(places, inode, [&](InodeId file) { return fill(file, record->data); });
}

// A blob that has grown or shrunk since is no surprise, but nothing else would tell of one that was cut.
void Salvage::compare_size(const Inode& known, const std::string& object) {
  const auto opened = from_.open(object);
  const auto info = opened ? (*opened)->info() : Result<ObjectInfo>(fail(opened.error()));
  if (!info || info->size == known.size) return;
  report_.uncertain.push_back(object + " has " + std::to_string(info->size) + " bytes; the catalogue said " +
                              std::to_string(known.size));
}

// With a whole catalogue, what has a number from before and is not in it had no name any more. One that was made without a name and got
// one later was changed later.
bool Salvage::was_removed(InodeId ino, std::int64_t ctime_ns) const {
  const CatalogueMoment& moment = names_.moment();
  return names_.whole() && ino.value < moment.next_inode && ctime_ns < moment.at_ns;
}

Status Salvage::bring_back_records() {
  for (const auto& [ino, found] : records_) {
    CFFS_TRY(const auto record, newest_record(ino));
    if (!record) {
      if (was_removed(ino, found.front().ctime_ns()))
        continue;  // its data was punched, or its rot is nobody's loss
      lost(ino, {}, "no record of it has its data");
      continue;
    }
    if (!record->newest) ++report_.older;
    CFFS_TRY_VOID(bring_back_unknown(ino, *record));
  }
  return {};
}

Status Salvage::bring_back_unknown(InodeId ino, const Whole& record) {
  const auto with_data = [&](InodeId file) { return fill(file, record.data); };
  const bool known = !names_.names(ino).empty();  // its attributes were in what is damaged
  if (known || !was_removed(ino, record.inode.ctime_ns)) {
    return make(known ? names_.names(ino) : std::vector{record.at}, record.inode, with_data);
  }
  ++report_.removed;
  CFFS_TRY(const InodeId removed, tree_.directory("#removed"));
  return made(tree_.make_in(removed, record.at.name, record.inode, with_data), ino);
}

Status Salvage::bring_back_nameless_blob(const std::string& object) {
  const auto content = [&](InodeId file) { return fill_from_blob(file, object); };
  CFFS_TRY(const InodeId parent, tree_.directory("#blobs"));
  std::string name = last_part(object);
  if (!object.starts_with("blobs/")) name += " of lost+found";
  Inode inode;
  inode.ino = InodeId{number_in(object)};
  inode.mode = S_IFREG | 0600;
  inode.atime_ns = inode.mtime_ns = to_.clock().now_ns();
  if (names_.present())
    report_.uncertain.push_back(object + " has no name in the catalogue: /#blobs/" + name);
  return made(tree_.make_in(parent, name, inode, content), inode.ino);
}

Status Salvage::make(const std::vector<EntryName>& places, const Inode& inode,
                     const std::function<Status(InodeId)>& fill) {
  return made(tree_.make(places, inode, fill), inode.ino);
}

Status Salvage::made(const Status& made, InodeId ino) {
  if (!made && concerns_all(made.error())) return made;
  if (!made) {
    lost(ino, {}, made.error().message());
  } else if (++report_.files % 1000 == 0) {
    progress_(std::to_string(report_.files) + " files are back");
  }
  return {};
}

Status Salvage::fill(InodeId file, std::string_view data) {
  if (data.empty()) return {};
  report_.bytes += data.size();
  return to_.write(file, 0, as_bytes(data), Caller::privileged(0, 0));
}

// A blob that cannot be read to its end comes back as far as it can.
Status Salvage::fill_from_blob(InodeId file, const std::string& object) {
  const Caller root = Caller::privileged(0, 0);
  const auto opened = from_.open(object);
  const auto info = opened ? (*opened)->info() : Result<ObjectInfo>(fail(opened.error()));
  if (!info && info.error().is_shortage()) return fail(info.error());
  if (!info) {
    report_.lost.push_back(info.error().message());
    return {};
  }
  progress_("reading " + object);
  AttributeChange change;
  change.size = info->size;
  CFFS_TRY_VOID(to_.setattr(file, change, root));
  std::string piece(kPieceBytes, '\0');
  for (std::uint64_t at = 0; at < info->size;) {
    const auto data = (*opened)->next_data(at);
    if (data && *data >= info->size) break;
    at = data ? *data : at;
    // No further than the object goes: a block that is refused counts as a whole.
    const Bytes wanted =
        as_writable_bytes(piece).first(std::min<std::uint64_t>(piece.size(), info->size - at));
    CFFS_TRY(const PartialRead read, read_what_can_be(**opened, at, wanted));
    if (read.refused || read.bytes == 0) {
      std::string sentence = object + ": what is at byte " + std::to_string(read.refused.value_or(at));
      if (read.refused_behind > 0)
        sentence += ", and in " + std::to_string(read.refused_behind) + " blocks of 4 KiB behind it,";
      report_.lost.push_back(sentence + " cannot be read");
    }
    if (read.bytes > 0) CFFS_TRY_VOID(to_.write(file, at, as_bytes(piece).first(read.bytes), root));
    at += read.bytes > 0 ? read.bytes : kPieceBytes;
    report_.bytes += read.bytes;
  }
  return {};
}

void Salvage::lost(InodeId ino, const std::optional<EntryName>& at, const std::string& what) {
  std::string sentence = "inode " + std::to_string(ino.value);
  if (at) sentence += " '" + at->name + "' of directory " + std::to_string(at->parent.value);
  report_.lost.push_back(sentence + ": " + what);
}

}  // namespace cffs
