// The part of the check that reads objects: composites with their records and members, blobs.
#include <algorithm>

#include "core/blob/blob_store.h"
#include "core/composite/composite_store.h"
#include "core/fs/blob_sums.h"
#include "core/inspect/consistency.h"

namespace cffs {
namespace {

std::string number(std::uint64_t n) { return std::to_string(n); }

}  // namespace

void ConsistencyCheck::check_composites() {
  for (const auto& [id, files] : members_) {
    if (files.empty() || composites_.contains(id) || rows_missing_) continue;
    for (const File& file : files) report(file.who + ": its composite has no row");
  }
  for (const auto& [id, row] : composites_) {
    std::vector<const File*> by_slot;
    for (const File& file : members_[id]) by_slot.push_back(&file);
    std::sort(by_slot.begin(), by_slot.end(),
              [](const File* a, const File* b) { return a->inode.extent.slot < b->inode.extent.slot; });
    check_records(id, row, by_slot);
  }
  for (const auto& [id, files] : members_) {
    for (const File& file : files) check_member(file);
  }
}

// The header, every record, and for each member that its record is the one that its row means. A record that no row
// names is a file that went or moved on.
void ConsistencyCheck::check_records(CompositeId id, const CompositeRow& row,
                                     const std::vector<const File*>& members) {
  const std::string name = CompositeStore::object_name(id);
  const auto object = fs_.composites().open(id);
  if (!object) return;  // check_objects and check_member say so
  const auto info = (*object)->info();
  if (!info) return report(info.error().message());
  // An append whose rows never came leaves more. Where bytes are missing, the members that had them are named one by one.
  if (info->size < row.size) {
    return report(name + " has " + number(info->size) + " bytes, its row says " + number(row.size));
  }
  auto member = members.begin();
  std::uint64_t slots = 0;
  const Status scanned =
      fs_.composites().scan(id, row.size, [&](const RecordMeta& record, std::uint64_t data_at) {
        if (record.slot != slots)
          report(name + ": record " + number(slots) + " says slot " + number(record.slot));
        for (; member != members.end() && (*member)->inode.extent.slot == slots; ++member) {
          const Inode& inode = (*member)->inode;
          const bool same = record.ino == inode.ino && data_at == inode.extent.offset &&
                            record.data_length == inode.extent.length &&
                            record.data_checksum == inode.extent.checksum;
          if (!same)
            report((*member)->who + ": its record, slot " + number(slots) + " of " + name + ", is not of it");
        }
        ++slots;
      });
  if (!scanned) return report(scanned.error().message());
  if (slots != row.slots) {
    report(name + " counts " + number(row.slots) + " records, has " + number(slots));
  }
  for (; member != members.end(); ++member) report((*member)->who + ": " + name + " has no such slot");
}

void ConsistencyCheck::check_member(const File& file) {
  const Extent& extent = file.inode.extent;
  const auto object = fs_.composites().open(extent.composite);
  if (!object) return report(file.who + ": " + object.error().message());
  const auto info = (*object)->info();
  if (!info) return report(file.who + ": " + info.error().message());
  if (extent.offset > info->size || extent.length > info->size - extent.offset) {
    return report(file.who + ": " + CompositeStore::object_name(extent.composite) + " ends before its data");
  }
  std::string bytes(extent.length, '\0');
  const auto n = CompositeStore::read(**object, extent, 0, as_writable_bytes(bytes), true);
  if (!n) report(file.who + ": " + n.error().message());
}

void ConsistencyCheck::check_blobs() {
  for (const File& file : blobs_) check_blob(file);
}

// The size, and every byte that is not in a hole; of a sealed blob against its checksums, holes too where these know of data.
void ConsistencyCheck::check_blob(const File& file) {
  const auto object = fs_.objects().open(BlobStore::object_name(file.inode.ino));
  if (!object) {
    if (object.error().errno_value != ENOENT) report(file.who + ": " + object.error().message());
    return;  // check_objects names the missing
  }
  const auto info = (*object)->info();
  if (!info) return report(file.who + ": " + info.error().message());
  // A write whose row never came leaves more.
  if (info->size < file.inode.size) {
    report(file.who + ": its blob has " + number(info->size) + " bytes, its row says " +
           number(file.inode.size));
  }
  if (file.inode.sealed) return check_sums(file, **object);
  std::string piece(1u << 20, '\0');
  for (std::uint64_t at = 0; at < info->size;) {
    const auto data = (*object)->next_data(at);
    if (!data) return report(file.who + ": " + data.error().message());
    at = *data;
    const auto n = (*object)->read_at(at, as_writable_bytes(piece));
    if (!n) return report(file.who + ", at byte " + number(at) + ": " + n.error().message());
    if (*n == 0) break;
    at += *n;
  }
}

void ConsistencyCheck::check_sums(const File& file, const Object& object) {
  const std::uint64_t size = file.inode.size;
  const BlobSums sums(fs_.table());
  std::string piece;
  for (std::uint64_t at = 0; at < size;) {
    piece.resize(std::min(kSumRowSpan, size - at));
    const auto n = object.read_at(at, as_writable_bytes(piece));
    if (!n) return report(file.who + ", at byte " + number(at) + ": " + n.error().message());
    if (*n < piece.size()) return;  // shorter than its row says: reported above
    if (const Status good = sums.verify(file.inode.ino, object, size, at, as_writable_bytes(piece)); !good) {
      report(file.who + ": " + good.error().message());
    }
    at += piece.size();
  }
}

}  // namespace cffs
