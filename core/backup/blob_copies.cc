#include "core/backup/blob_copies.h"

#include <algorithm>

#include "core/backup/object_copy.h"
#include "core/base/within_memory.h"
#include "core/blob/blob_store.h"

namespace cffs {
namespace {

constexpr std::uint64_t kBlock = 64u << 10;  // copied at once for who wants to change a byte of it
// Written out as it comes: at the end the place is synced as a whole, and everybody who uses the same medium would wait.
constexpr std::uint64_t kSyncEvery = 16u << 20;
constexpr std::uint64_t kPiece =
    1u << 20;  // copied at once by the backup: who wants to change the blob waits that long

}  // namespace

std::shared_ptr<BlobCopies::Blob> BlobCopies::find(InodeId ino) {
  const MutexLock guard(mutex_);
  if (done_.contains(ino) || (wanted_ && !wanted_->contains(ino))) return nullptr;
  auto& blob = blobs_[ino];
  if (!blob) blob = std::make_shared<Blob>();
  return blob;
}

// Where the file systems below can share blocks, that is all.
Status BlobCopies::begin(Blob& blob, InodeId ino, const Object& object, std::uint64_t size) {
  if (blob.to) return {};
  CFFS_TRY(const ObjectInfo info, object.info());
  CFFS_TRY(auto to, fresh_.create(BlobStore::object_name(ino), ObjectStore::Create::truncate));
  blob.size = size;
  blob.object_bytes = std::min(info.size, size);
  blob.shared = to->clone_from(object);
  if (blob.shared) blob.there.add(0, blob.object_bytes);
  blob.to = std::move(to);  // it is begun
  return {};
}

Status BlobCopies::copy_blocks(Blob& blob, const Object& object, std::uint64_t offset, std::uint64_t end) {
  end = std::min(end, blob.object_bytes);
  if (end % kBlock != 0) end = std::min(end + (kBlock - end % kBlock), blob.object_bytes);
  for (std::uint64_t at = offset / kBlock * kBlock; at < end;) {
    if (const std::uint64_t behind = blob.there.end_of(at); behind > at) {
      at = behind;
      continue;
    }
    const std::uint64_t until = blob.there.next_run(at, end);
    CFFS_TRY(const CopiedRange done, copy_range(object, *blob.to, at, until));
    blob.copied += done.bytes;
    if (done.unreadable && (!blob.unreadable || *done.unreadable < *blob.unreadable)) {
      blob.unreadable = done.unreadable;
    }
    blob.there.add(at, until);
    at = until;
  }
  return {};
}

void BlobCopies::keep(InodeId ino, const std::shared_ptr<Object>& object, std::uint64_t size,
                      std::uint64_t offset, std::uint64_t length) {
  if (has_failed_.load()) return;
  // Memory that ends is the backup's failure as others are: the change goes on.
  const Status done = within_memory([&] { return keep_blocks(ino, *object, size, offset, length); });
  if (!done) failed(done.error());
}

Status BlobCopies::keep_blocks(InodeId ino, const Object& object, std::uint64_t size, std::uint64_t offset,
                               std::uint64_t length) {
  const auto blob = find(ino);
  if (!blob) return {};
  const MutexLock guard(blob->mutex);
  if (blob->done) return {};
  CFFS_TRY_VOID(begin(*blob, ino, object, size));
  const std::uint64_t end =
      length > blob->size || offset > blob->size - length ? blob->size : offset + length;
  return offset < end ? copy_blocks(*blob, object, offset, end) : Status();
}

// A hole that nobody has written to since the moment is one of the copy's, however long it is. Where no data is known to be, or to be
// none, it is asked of piece by piece.
std::uint64_t BlobCopies::past_hole(Blob& blob, const Object& object, std::uint64_t at) {
  at = blob.there.end_of(at);  // the object may be shorter by now
  if (at >= blob.object_bytes) return blob.object_bytes;
  const auto data = object.next_data(at);
  if (!data || *data <= at) return at;
  const std::uint64_t next = *data >= blob.object_bytes ? blob.object_bytes : *data / kBlock * kBlock;
  blob.there.add(at, next);
  return std::max(at, next);
}

// Of what the medium refuses to give, zeros would be a lie: where there are no checksums to tell, the copy ends before it.
Result<BlobCopies::Copied> BlobCopies::finish(Blob& blob, bool sealed) {
  std::uint64_t bytes = blob.object_bytes;
  Copied copied{blob.copied, blob.shared, ""};
  if (bytes < blob.size) copied.damage = "its blob ends at byte " + std::to_string(bytes);
  if (blob.unreadable) {
    copied.damage = "byte " + std::to_string(*blob.unreadable) + " of its blob cannot be read";
    if (!sealed) bytes = *blob.unreadable;
  }
  CFFS_TRY_VOID(blob.to->truncate(bytes));
  blob.to.reset();
  blob.there = {};
  blob.done = true;
  return copied;
}

Result<BlobCopies::Copied> BlobCopies::copy(InodeId ino, const std::shared_ptr<Object>& object,
                                            std::uint64_t size, bool sealed,
                                            const std::function<bool(std::uint64_t)>& spent) {
  const auto blob = find(ino);
  CFFS_INVARIANT(blob != nullptr);
  for (std::uint64_t at = 0;;) {
    std::uint64_t before = 0, after = 0;
    std::shared_ptr<Object> to;
    {
      const MutexLock guard(blob->mutex);
      CFFS_TRY_VOID(begin(*blob, ino, *object, size));
      before = blob->copied;
      CFFS_TRY_VOID(copy_blocks(*blob, *object, at, at + kPiece));
      after = blob->copied;
      if (!blob->shared) to = blob->to;
      at = past_hole(*blob, *object, at + kPiece);
      if (at >= blob->object_bytes) {
        CFFS_TRY(Copied copied, finish(*blob, sealed));
        finished(ino);
        (void)spent(after - before);
        return copied;
      }
    }
    if (to && after / kSyncEvery != before / kSyncEvery) CFFS_TRY_VOID(to->sync());
    if (!spent(after - before)) return fail(EINTR, "stopped");
    CFFS_TRY_VOID(good());
  }
}

void BlobCopies::finished(InodeId ino) {
  const MutexLock guard(mutex_);
  done_.insert(ino);
  blobs_.erase(ino);
}

Result<bool> BlobCopies::have(InodeId ino, const std::function<Result<bool>()>& get) {
  const auto blob = find(ino);
  if (!blob) return true;
  const MutexLock guard(blob->mutex);
  CFFS_TRY(const bool got, get());
  if (!got) return false;
  blob->to.reset();
  blob->done = true;
  finished(ino);
  return true;
}

Status BlobCopies::drop_others(std::unordered_set<InodeId> wanted) {
  std::unordered_map<InodeId, std::shared_ptr<Blob>> others;
  {
    const MutexLock guard(mutex_);
    for (const auto& [ino, blob] : blobs_) {
      if (!wanted.contains(ino)) others.emplace(ino, blob);
    }
    wanted_ = std::move(wanted);
  }
  for (const auto& [ino, blob] : others) {
    const MutexLock guard(blob->mutex);  // who keeps something of it right now has ended
    blob->done = true;
    finished(ino);
    if (std::exchange(blob->to, nullptr)) CFFS_TRY_VOID(fresh_.remove(BlobStore::object_name(ino)));
  }
  return {};
}

void BlobCopies::failed(const Error& error) {
  const MutexLock guard(mutex_);
  if (!failure_) failure_ = error;
  has_failed_.store(true);
}

Status BlobCopies::good() const {
  if (!has_failed_.load()) return {};
  const MutexLock guard(mutex_);
  return fail(*failure_);
}

}  // namespace cffs
