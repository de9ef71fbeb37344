#include "core/inspect/object_check.h"

#include <algorithm>

#include "core/base/checksum.h"
#include "core/blob/blob_store.h"
#include "core/composite/composite_store.h"
#include "core/composite/large_member.h"
#include "core/fs/blob_sums.h"
#include "core/inspect/member_place_check.h"

namespace cffs {
namespace {

// Up to this much a composite is read in one request; a larger one record by record. Bytes.
constexpr std::uint64_t kReadWhole = 16u << 20;

Error at_byte(std::uint64_t at, Error error) {
  error.context.insert(0, "at byte " + std::to_string(at) + (error.context.empty() ? "" : ": "));
  return error;
}

}  // namespace

std::uint64_t live_bytes(std::span<const CheckedMember> by_slot) {
  std::uint64_t live = 0;
  for (std::size_t i = 0; i < by_slot.size(); ++i) {
    const bool met = i > 0 && by_slot[i].slot == by_slot[i - 1].slot;
    if (!met || !by_slot[i].is_shared) live += by_slot[i].length;
  }
  return live;
}

// One composite, looked at by one thread.
class ObjectCheck::Composite {
 public:
  Composite(FileSystem& fs, CompositeId id, std::span<const CheckedMember> members, bool rows_missing)
      : fs_(fs),
        id_(id),
        name_(CompositeStore::object_name(id)),
        members_(members),
        rows_missing_(rows_missing) {}

  Result<Findings> check(const CompositeRow* row) && {
    const auto object = fs_.composites().open(id_);
    if (!object) {
      for (const CheckedMember& member : members_) CFFS_TRY_VOID(report(member.ino, object.error()));
      return std::move(found_);
    }
    const auto info = (*object)->info();
    if (!info) {
      CFFS_TRY_VOID(report({}, info.error()));
      return std::move(found_);
    }
    if (const Status index = CompositeStore::check_index(**object); !index) {
      CFFS_TRY_VOID(report({}, index.error()));
    }
    // One that cannot be read whole is read piece by piece: what is readable of it is not reported.
    if (info->size <= kReadWhole) {
      bytes_.resize(info->size);
      const auto n = (*object)->read_at(0, as_writable_bytes(bytes_));
      whole_ = n && *n == bytes_.size();
    }
    if (row != nullptr) CFFS_TRY_VOID(check_records(*row, info->size));
    for (const CheckedMember& member : members_) CFFS_TRY_VOID(check_member(member, **object, info->size));
    return std::move(found_);
  }

 private:
  void report(InodeId ino, const std::string& what) {
    found_.push_back({ino, ino.value == 0 ? what : ": " + what});
  }
  // What could not be read. Descriptors or memory that were short for it say nothing about it.
  Status report(InodeId ino, const Error& error) {
    if (error.is_shortage()) return fail(error);
    report(ino, error.message());
    return {};
  }

  // A record that no row names is a file that went or moved on.
  Status check_records(const CompositeRow& row, std::uint64_t size) {
    // An append whose rows never came leaves more. Where bytes are missing, the members that had them are named one by one.
    if (size < row.size) {
      report({}, name_ + " has " + std::to_string(size) + " bytes, its row says " + std::to_string(row.size));
      return {};
    }
    MemberPlaceCheck places(fs_, id_, rows_missing_, found_);
    auto member = members_.begin();
    std::uint64_t slots = 0, bytes = 0;
    const auto look = [&](const RecordMeta& record, std::uint64_t data_at) {
      if (record.slot != slots) {
        report({}, name_ + ": record " + std::to_string(slots) + " says slot " + std::to_string(record.slot));
      }
      const auto first = member;
      for (; member != members_.end() && member->slot == slots; ++member) {
        const bool same = (record.ino == member->ino || member->is_shared) && data_at == member->offset &&
                          record.data_length == member->length && record.data_checksum == member->checksum;
        if (!same)
          report(member->ino,
                 "its record, slot " + std::to_string(slots) + " of " + name_ + ", is not of it");
      }
      places.look(record, {first, member});
      bytes += record.data_length;
      ++slots;
    };
    const Status scanned =
        whole_ ? CompositeStore::scan_bytes(id_, std::string_view(bytes_).substr(0, row.size), look)
               : fs_.composites().scan(id_, row.size, look);
    if (!scanned) return report({}, scanned.error());
    if (slots != row.slots) {
      report({}, name_ + " counts " + std::to_string(row.slots) + " records, has " + std::to_string(slots));
    }
    for (; member != members_.end(); ++member) report(member->ino, name_ + " has no such slot");
    places.end();
    check_freed(row, bytes);
    return {};
  }

  // A killed daemon may leave records that no account knows. Where it knows more than there are, it is wrong; where it differs from the
  // files' rows that is told already.
  void check_freed(const CompositeRow& row, std::uint64_t bytes_of_records) {
    const std::uint64_t live = live_bytes(members_);
    const bool is_known = row.members == members_.size() && row.live_bytes == live && !rows_missing_;
    if (!is_known || live > bytes_of_records || row.freed_bytes <= bytes_of_records - live) return;
    report({}, name_ + " counts " + std::to_string(row.freed_bytes) + " bytes as freed, and its records have " +
                   std::to_string(bytes_of_records - live) +
                   " that are no file's: cffs fsck --repair counts them anew");
  }

  Status check_member(const CheckedMember& member, const Object& object, std::uint64_t size) {
    if (member.offset > size || member.length > size - member.offset) {
      report(member.ino, name_ + " ends before its data");
      return {};
    }
    if (whole_ && checksum(as_bytes(std::string_view(bytes_).substr(member.offset, member.length))) ==
                      member.checksum) {
      return {};
    }
    Extent extent;
    extent.composite = id_;
    extent.slot = member.slot;
    extent.offset = extent.group_offset = member.offset;
    extent.length = extent.group_length = member.length;
    extent.checksum = member.checksum;
    const Status good = visit_member(object, extent, [](std::uint64_t, ConstBytes) { return Status(); });
    return good ? Status() : report(member.ino, good.error());
  }

  FileSystem& fs_;
  const CompositeId id_;
  const std::string name_;
  const std::span<const CheckedMember> members_;
  const bool rows_missing_;
  std::string bytes_;
  bool whole_ = false;  // bytes_ is all of it
  Findings found_;
};

Result<Findings> ObjectCheck::composite(CompositeId id, const CompositeRow* row,
                                        std::span<const CheckedMember> by_slot, bool rows_missing) const {
  return Composite(fs_, id, by_slot, rows_missing).check(row);
}

Result<Findings> ObjectCheck::blob(const CheckedBlob& file) const {
  Findings found;
  if (const Status done = read_blob(file, found); !done) {
    if (done.error().is_shortage()) return fail(done.error());
    found.push_back({file.ino, ": " + done.error().message()});
  }
  return found;
}

Status ObjectCheck::read_blob(const CheckedBlob& file, Findings& found) const {
  const auto object = fs_.objects().open(BlobStore::object_name(file.ino));
  if (!object) return object.error().errno_value == ENOENT ? Status{} : fail(object.error());
  CFFS_TRY(const ObjectInfo info, (*object)->info());
  // A write whose row never came leaves more.
  if (info.size < file.size) {
    found.push_back({file.ino, ": its blob has " + std::to_string(info.size) + " bytes, its row says " +
                                   std::to_string(file.size)});
  }
  if (file.sealed) return check_sums(file, **object, found);
  std::string piece(1u << 20, '\0');
  for (std::uint64_t at = 0; at < info.size;) {
    CFFS_TRY(at, (*object)->next_data(at));
    const auto n = (*object)->read_at(at, as_writable_bytes(piece));
    if (!n) return fail(at_byte(at, n.error()));
    if (*n == 0) break;
    at += *n;
  }
  return {};
}

Status ObjectCheck::check_sums(const CheckedBlob& file, const Object& object, Findings& found) const {
  const BlobSums known(fs_.table());
  std::string piece;
  for (std::uint64_t at = 0; at < file.size;) {
    piece.resize(std::min(kSumRowSpan, file.size - at));
    const auto n = object.read_at(at, as_writable_bytes(piece));
    if (!n) return fail(at_byte(at, n.error()));
    if (*n < piece.size()) return {};  // shorter than its row says: reported already
    if (const Status good = known.verify(file.ino, object, file.size, at, as_writable_bytes(piece)); !good) {
      if (good.error().is_shortage()) return good;
      found.push_back({file.ino, ": " + good.error().message()});
    }
    at += piece.size();
  }
  return {};
}

}  // namespace cffs
