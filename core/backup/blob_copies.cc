#include "core/backup/blob_copies.h"

#include <algorithm>

#include "core/backup/object_copy.h"
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
  CFFS_TRY(blob.to, fresh_.create(BlobStore::object_name(ino), ObjectStore::Create::truncate));
  blob.size = size;
  blob.object_bytes = std::min(info.size, size);
  blob.shared = blob.to->clone_from(object);
  blob.there.assign((blob.object_bytes + kBlock - 1) / kBlock, blob.shared);
  return {};
}

Status BlobCopies::copy_blocks(Blob& blob, const Object& object, std::uint64_t offset, std::uint64_t end) {
  end = std::min(end, blob.object_bytes);
  for (std::uint64_t block = offset / kBlock; block * kBlock < end; ++block) {
    if (blob.there[block]) continue;
    const std::uint64_t until = std::min((block + 1) * kBlock, blob.object_bytes);
    CFFS_TRY(const CopiedRange done, copy_range(object, *blob.to, block * kBlock, until));
    blob.copied += done.bytes;
    if (done.unreadable && (!blob.unreadable || *done.unreadable < *blob.unreadable)) {
      blob.unreadable = done.unreadable;
    }
    blob.there[block] = true;
  }
  return {};
}

void BlobCopies::keep(InodeId ino, const std::shared_ptr<Object>& object, std::uint64_t size,
                      std::uint64_t offset, std::uint64_t length) {
  if (has_failed_.load()) return;
  const auto blob = find(ino);
  if (!blob) return;
  const MutexLock guard(blob->mutex);
  if (blob->done) return;
  Status done = begin(*blob, ino, *object, size);
  const std::uint64_t end =
      length > blob->size || offset > blob->size - length ? blob->size : offset + length;
  if (done && offset < end) done = copy_blocks(*blob, *object, offset, end);
  if (!done) failed(done.error());
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
  for (std::uint64_t at = 0;; at += kPiece) {
    std::uint64_t before = 0, after = 0;
    std::shared_ptr<Object> to;
    {
      const MutexLock guard(blob->mutex);
      CFFS_TRY_VOID(begin(*blob, ino, *object, size));
      before = blob->copied;
      CFFS_TRY_VOID(copy_blocks(*blob, *object, at, at + kPiece));
      after = blob->copied;
      if (!blob->shared) to = blob->to;
      if (at + kPiece >= blob->object_bytes) {
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
