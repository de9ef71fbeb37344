#include "core/backup/row_copy.h"

#include "core/composite/composite_store.h"
#include "core/table/pending_removal.h"
#include "core/table/system_rows.h"

namespace cffs {
namespace {

constexpr std::uint64_t kBatchBytes = 1u << 20;
const Key kLast{~std::uint64_t{0}, ~std::uint64_t{0}};

}  // namespace

RowCopy::RowCopy(const Moment& moment, const FormerBackup* former, Table& to,
                 std::function<bool(std::uint64_t)> spent)
    : moment_(moment), former_(former), to_(to), spent_(std::move(spent)) {}

// In the order of keys: which blobs are sealed is known before their checksums come.
Status RowCopy::run() {
  const Status scanned = moment_.rows().scan({0, 0}, kLast, [&](Key key, std::string_view value) {
    copy_row(key, value);
    if (batched_ >= kBatchBytes) written_ = flush();
    return written_.has_value();
  });
  CFFS_TRY_VOID(written_);
  if (!scanned && scanned.error().kind != ErrorKind::corruption) return scanned;
  if (!scanned) damage_.push_back(scanned.error().message());
  for (const auto& [number, composite] : composites_) {
    if (composite.has_row) continue;
    damage_.push_back(CompositeStore::object_name(CompositeId{number}) +
                      " has files, and no row that says how long it is");
  }
  put(system_key(SystemField::file_count), encode_system_number(inodes_));
  return flush();
}

// Kinds of rows that this program does not know are copied too.
void RowCopy::copy_row(Key key, std::string_view value) {
  switch (key.tag()) {
    case KeyTag::namespace_:
      return copy_namespace_row(key, value);
    case KeyTag::system:
      return copy_system_row(key, value);
    case KeyTag::pending_removal:
      if (const auto removal = decode_pending_removal(key); removal && !removal->is_object()) {
        nameless_.insert(removal->number);
      }
      return;
    case KeyTag::file_data:
      if (!nameless_.contains(key.number())) put(key, value);
      return;
    case KeyTag::block_sums:
      // Of a blob that is not sealed they are what a sealing under way has written.
      if (sealed_.contains(InodeId{key.number()})) put(key, value);
      return;
    default:
      return put(key, value);
  }
}

void RowCopy::copy_namespace_row(Key key, std::string_view value) {
  const RowKind kind = row_kind(key, value);
  if (kind == RowKind::entries) return copy_entries(key, value);
  put(key, value);
  if (kind != RowKind::composite) return;
  const auto row = decode_composite_row(value);
  if (!row) {
    malformed_.push_back(row.error().message());
    return;
  }
  Composite& composite = composites_[key.upper];
  composite.size = row->size;
  composite.has_row = true;
}

void RowCopy::copy_entries(Key key, std::string_view value) {
  auto row = decode_row(value);
  if (!row) {
    malformed_.push_back(row.error().message());
    return put(key, value);
  }
  bool changed = false;
  for (Entry& entry : row->entries) {
    if (!entry.inode) continue;
    const Inode before = *entry.inode;
    moment_.complete(*entry.inode);
    changed = changed || entry.inode->version != before.version || entry.inode->ctime_ns != before.ctime_ns ||
              entry.inode->atime_ns != before.atime_ns || entry.inode->mtime_ns != before.mtime_ns ||
              entry.inode->allocated != before.allocated;
    note_file(key, entry);
  }
  if (changed) return put(key, encode_row(*row));
  put(key, value);
}

void RowCopy::note_file(Key key, const Entry& entry) {
  const Inode& inode = *entry.inode;
  ++inodes_;
  if (inode.is_regular()) ++files_;
  if (inode.home == Home::composite) {
    Composite& composite = composites_[inode.extent.composite.value];
    composite.known = composite.known && former_ != nullptr && former_->has_member(inode);
  }
  if (inode.home != Home::blob) return;
  if (!with_blob_.insert(inode.ino).second) {
    damage_.push_back("inode " + std::to_string(inode.ino.value) + " has two rows");
    return;
  }
  if (inode.sealed) sealed_.insert(inode.ino);
  blobs_.push_back({inode, {InodeId{key.upper}, entry.name}});
}

void RowCopy::copy_system_row(Key key, std::string_view value) {
  const auto field = system_field(key);
  if (field == SystemField::first_unreserved || field == SystemField::compression ||
      field == SystemField::sharing)
    put(key, value);
  if (field != SystemField::unclean_ends) return;
  put(key, value);
  if (const auto ends = decode_system_number(*field, value)) unclean_ends_ = *ends;
}

void RowCopy::put(Key key, std::string_view value) {
  batch_.put(key, value);
  batched_ += kKeyBytes + value.size();
}

Status RowCopy::flush() {
  CFFS_TRY_VOID(to_.write(batch_));
  batch_ = Batch();
  const std::uint64_t bytes = std::exchange(batched_, 0);
  if (!spent_(bytes)) return fail(EINTR, "stopped");
  return {};
}

}  // namespace cffs
