#include "core/fs/removals.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/fs/moment.h"
#include "core/fs/publishing.h"
#include "core/fs/store_format.h"

namespace cffs {
namespace {

// Removals that one batch speaks of: with all their chunks it stays small.
constexpr std::size_t kErasedAtOnce = 256;

}  // namespace

std::string object_name(const PendingRemoval& removal) {
  if (!removal.is_object()) return {};
  return removal.kind == PendingRemoval::Kind::blob
             ? BlobStore::object_name(InodeId{removal.number})
             : CompositeStore::object_name(CompositeId{removal.number});
}

void Removals::queue(PendingRemoval removal) {
  const std::uint64_t epoch = publishing_.epoch();
  const MutexLock guard(mutex_);
  due_.emplace(removal, epoch);
}

bool Removals::followed() const { return publishing_.followed(); }

bool Removals::empty() {
  const MutexLock guard(mutex_);
  return due_.empty();
}

std::optional<std::uint64_t> Removals::waits_since() {
  const MutexLock guard(mutex_);
  std::optional<std::uint64_t> last;
  for (const auto& [removal, epoch] : due_) last = std::max(last.value_or(0), epoch);
  return last;
}

// What a row names does not go, as far as one look finds that row: a file of one name may be anywhere, and the check goes through all.
Result<bool> Removals::is_named(const PendingRemoval& removal) const {
  const Key key = Key::null_name(InodeId{removal.number});
  CFFS_TRY(const auto value, table_.get(key));
  if (!value) return false;
  if (removal.kind == PendingRemoval::Kind::composite) return row_kind(key, *value) == RowKind::composite;
  const auto row = decode_row(*value);
  if (!row || row->entries.empty()) return true;  // whose it is cannot be told
  const auto& inode = row->entries.front().inode;
  return !removal.is_object() || (inode && inode->home == Home::blob);
}

// Where a block of the rows that say what waits cannot be read, nothing goes until a repair: a row that had been taken back may show again.
Status Removals::load() {
  Status done;
  std::vector<PendingRemoval> found;
  const Status scanned = table_.scan_tag(KeyTag::pending_removal, [&](Key key, std::string_view) {
    const auto removal = decode_pending_removal(key);
    const auto named = removal ? is_named(*removal) : Result<bool>(true);
    if (!named && named.error().kind != ErrorKind::corruption) done = fail(named.error());
    if (named && !*named) found.push_back(*removal);
    return done.has_value();
  });
  if (!scanned && scanned.error().kind == ErrorKind::corruption) return {};
  CFFS_TRY_VOID(scanned);
  CFFS_TRY_VOID(done);
  for (const PendingRemoval& removal : found) queue(removal);
  return {};
}

Status Removals::finish_blob(InodeId ino) {
  {
    const MutexLock none_under_way(work_);
    const MutexLock guard(mutex_);
    if (!due_.contains(PendingRemoval::of_blob(ino))) return {};
  }
  // Who follows may read it under this name. What it has is kept for them as if it were about to change.
  if (publishing_.followed()) {
    const auto object = blobs_.open(ino);
    const auto info = object ? (*object)->info() : Result<ObjectInfo>(fail(object.error()));
    if (info) publishing_.kept_bytes().keep(ino, *object, info->size, 0, info->size);
  }
  CFFS_TRY_VOID(settle(PendingRemoval::of_blob(ino)));
  const MutexLock guard(mutex_);
  if (!due_.contains(PendingRemoval::of_blob(ino))) return {};
  return fail(problem_.value_or(Error::os(EIO, BlobStore::object_name(ino))));
}

std::optional<Error> Removals::problem() {
  const MutexLock guard(mutex_);
  return problem_;
}

constexpr std::uint64_t kChunksByKey = 256;

// Its chunks with it, where it has any. One that cannot be decoded says nothing of chunks.
Status Removals::erase_nameless(Batch& batch, const PendingRemoval& removal) {
  CFFS_TRY(const auto value, table_.get(removal.key()));
  const auto row = value ? decode_inode(*value) : Result<Inode>(Inode());
  if (!row || row->home != Home::inline_) return {};
  const InodeId ino{removal.number};
  const std::uint64_t chunks = row->size / kChunkBytes + (row->size % kChunkBytes != 0 ? 1 : 0);
  if (chunks <= kChunksByKey) {
    for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) batch.erase(Key::data(ino, chunk), kChunkBytes);
    return {};
  }
  // Those that are there: a row of a few bytes may say that it has many.
  return table_.scan(Key::data(ino, 0), Key::data(ino, ~std::uint64_t{0}), [&](Key key, std::string_view) {
    batch.erase(key, kChunkBytes);
    return true;
  });
}

Status Removals::remove(const PendingRemoval& removal) {
  const bool blob = removal.kind == PendingRemoval::Kind::blob;
  // Whoever queued it may be wrong: files are lost with a composite that goes, and only room with one that stays.
  if (!blob) {
    CFFS_TRY(const bool named, is_named(removal));
    if (named) return {};
  }
  if (moments_.watched()) {
    const auto held = moments_.set_aside(removal);
    // By its name it must not be found any more.
    if (blob) blobs_.drop(InodeId{removal.number});
    if (!blob) composites_.drop(CompositeId{removal.number});
    if (!held) return fail(held.error());
    if (*held) return {};
  }
  return blob ? blobs_.remove(InodeId{removal.number}) : composites_.remove(CompositeId{removal.number});
}

bool Removals::is_spared(const PendingRemoval& removal) const {
  return in_use_ && removal.kind == PendingRemoval::Kind::composite && in_use_(CompositeId{removal.number});
}

Status Removals::settle(std::optional<PendingRemoval> at_once) {
  const MutexLock one_at_a_time(work_);
  std::map<PendingRemoval, std::uint64_t> now;
  {
    const MutexLock guard(mutex_);
    now = due_;
  }
  std::erase_if(now, [&](const auto& due) {
    if (!due.first.is_object() || due.first == at_once) return false;
    return !publishing_.may_go(due.second) || is_spared(due.first);
  });
  if (now.empty()) return {};
  CFFS_TRY_VOID(table_.begin_changes());  // the objects go before their rows do
  CFFS_TRY_VOID(table_.sync());
  Batch batch;
  std::size_t erased = 0;
  std::optional<Error> problem;
  for (auto it = now.begin(); it != now.end();) {
    const PendingRemoval removal = it->first;
    const Status removed = removal.is_object() ? remove(removal) : erase_nameless(batch, removal);
    if (removed) {
      batch.erase(removal.key());
      if (++erased % kErasedAtOnce == 0) {
        CFFS_TRY_VOID(table_.write(batch));
        batch = Batch();
      }
      ++it;
    } else {
      if (!problem) problem = removed.error();
      it = now.erase(it);
    }
  }
  turns_.fetch_add(1, std::memory_order_relaxed);
  CFFS_TRY_VOID(table_.write(batch));
  const MutexLock guard(mutex_);
  problem_ = std::move(problem);
  for (const auto& [removed, since] : now) due_.erase(removed);
  return {};
}

}  // namespace cffs
