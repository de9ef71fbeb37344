// Where an object in a Ceph pool ends: longer, shorter, holes, and gone.
#include <algorithm>

#include "core/object/blocking_section.h"
#include "core/rados/body.h"

namespace cffs::rados {

Status Body::set_end(std::uint64_t size) {
  const std::uint64_t piece = last_piece(size);
  CFFS_TRY_VOID(reach(piece));
  WriteOperation operation;
  operation.create(false);
  if (piece == 0 && !has_first_piece_) set_first_attributes(operation, bound_);
  operation.truncate(size - piece * shared_->piece_bytes);
  CFFS_TRY_VOID(shared_->pool->run(operation, piece_name(piece)));
  if (piece == 0) has_first_piece_ = true;
  return {};
}

// To less, over several pieces: whoever opens it half way goes on.
Status Body::cut(std::uint64_t size) {
  WriteOperation begin, end;
  begin.set_attribute("cut", std::to_string(size));
  CFFS_TRY_VOID(shared_->pool->run(begin, piece_name(0)));
  // From here on it is as long as that, whatever fails below: before the next change the rest is tried again.
  size_ = size;
  cut_unfinished_ = true;
  Together removals;
  for (std::uint64_t piece = last_piece(size) + 1; piece < bound_; ++piece) {
    shared_->pool->start_remove(piece_name(piece),
                                [done = removals.one()](int code) { done(code == ENOENT ? 0 : code); });
  }
  CFFS_TRY_VOID(first_error(removals.wait()));
  CFFS_TRY_VOID(set_end(size));
  end.remove_attribute("cut");
  end.set_attribute("bound", std::to_string(last_piece(size) + 1));
  CFFS_TRY_VOID(shared_->pool->run(end, piece_name(0)));
  durable_bound_ = bound_ = last_piece(size) + 1;
  cut_unfinished_ = false;
  return {};
}

Status Body::truncate(std::uint64_t size) {
  announce_blocking();
  const MutexLock guard(mutex_);
  CFFS_TRY_VOID(usable());
  CFFS_TRY_VOID(send_pending());
  if (size == size_) return {};
  CFFS_TRY_VOID(settle());
  // What is on its way would come behind the cut, or before it, piece by piece.
  CFFS_TRY_VOID(first_error(flights_.wait()));
  const Status done = size < size_ && last_piece(size) != last_piece(size_) ? cut(size) : set_end(size);
  shared_->cache->drop(id_, std::min(size, size_));
  CFFS_TRY_VOID(done);
  size_ = size;
  return {};
}

Status Body::punch_pieces(std::uint64_t offset, std::uint64_t end) {
  const std::uint64_t piece_bytes = shared_->piece_bytes;
  for (std::uint64_t at = offset; at < end;) {
    const std::uint64_t piece = at / piece_bytes;
    const std::uint64_t within = at - piece * piece_bytes;
    const std::uint64_t n = std::min(end - at, piece_bytes - within);
    // An inner piece that is not there reads as zeros; the first one has attributes, the last one is the end.
    if (n == piece_bytes && piece != 0 && piece != last_piece(size_)) {
      Together removal;
      shared_->pool->start_remove(piece_name(piece),
                                  [done = removal.one()](int code) { done(code == ENOENT ? 0 : code); });
      CFFS_TRY_VOID(first_error(removal.wait()));
    } else {
      // An OSD makes zeros up to a piece's end a cut, and its length is the object's, or part of it: that stays.
      const auto there = shared_->pool->stat(piece_name(piece));
      if (!there && there.error().errno_value != ENOENT) return fail(there.error());
      if (there && within < there->size) {
        WriteOperation operation;
        operation.zero(within, std::min(n, there->size - within));
        operation.truncate(there->size);
        CFFS_TRY_VOID(shared_->pool->run(operation, piece_name(piece)));
      }
    }
    at += n;
  }
  return {};
}

Status Body::punch(std::uint64_t offset, std::uint64_t length) {
  announce_blocking();
  const MutexLock guard(mutex_);
  CFFS_TRY_VOID(usable());
  CFFS_TRY_VOID(send_pending());
  CFFS_TRY_VOID(first_error(flights_.wait()));
  const std::uint64_t end = std::min(size_, offset + length);
  if (offset >= end) return {};
  const Status done = punch_pieces(offset, end);
  // Also where only some pieces, or nobody knows which, are punched.
  shared_->cache->drop(id_, offset, end - offset);
  return done;
}

Status Body::remove_pieces() {
  std::uint64_t bound = 0;
  {
    const MutexLock guard(mutex_);
    pending_.clear();
    bound = bound_;
  }
  (void)flights_.wait();
  shared_->cache->forget(*this);
  constexpr std::uint64_t kAtOnce = 256;
  // The first one last: it has the bound.
  for (std::uint64_t end = bound; end > 0;) {
    const std::uint64_t begin = end == 1 ? 0 : std::max<std::uint64_t>(1, end - std::min(end, kAtOnce));
    Together removals;
    for (std::uint64_t piece = begin; piece < end; ++piece) {
      shared_->pool->start_remove(piece_name(piece),
                                  [done = removals.one()](int code) { done(code == ENOENT ? 0 : code); });
    }
    CFFS_TRY_VOID(first_error(removals.wait()));
    end = begin;
  }
  return {};
}

}  // namespace cffs::rados
