// Where an object in a Ceph pool ends: longer, shorter, holes, and gone.
#include <algorithm>

#include "core/object/blocking_section.h"
#include "core/rados/body.h"

namespace cffs::rados {
namespace {

constexpr std::uint64_t kAtOnce = 256;  // removals that are on their way together

}  // namespace

Status Body::set_end(std::uint64_t size) {
  const std::uint64_t piece = last_piece(size);
  CFFS_TRY_VOID(reach(piece, piece));
  WriteOperation operation;
  operation.create(false);
  if (piece == 0 && !has_first_piece_) set_first_attributes(operation, written_);
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
  CFFS_TRY_VOID(remove_between(last_piece(size) + 1, written_.end()));
  CFFS_TRY_VOID(set_end(size));
  WrittenPieces left = written_;
  left.cut(last_piece(size) + 1);
  WrittenPieces durable = left;
  end.remove_attribute("cut");
  end.set_attribute("bound", left.text());
  CFFS_TRY_VOID(shared_->pool->run(end, piece_name(0)));
  written_ = std::move(left);
  durable_written_ = std::move(durable);
  cut_unfinished_ = false;
  return {};
}

Status Body::remove_between(std::uint64_t begin, std::uint64_t end) {
  for (const WrittenPieces::Span& span : written_.spans()) {
    for (std::uint64_t at = std::max(begin, span.begin); at < std::min(end, span.end);) {
      const std::uint64_t until = std::min({end, span.end, at + kAtOnce});
      Together removals;
      for (; at < until; ++at) {
        shared_->pool->start_remove(piece_name(at),
                                    [done = removals.one()](int code) { done(code == ENOENT ? 0 : code); });
      }
      CFFS_TRY_VOID(first_error(removals.wait()));
    }
  }
  return {};
}

Status Body::truncate(std::uint64_t size) {
  announce_blocking();
  const MutexLock guard(mutex_);
  CFFS_TRY_VOID(usable());
  CFFS_TRY_VOID(may_end_at(size));
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

// An OSD makes zeros up to a piece's end a cut, and its length is the object's, or part of it: that stays.
Status Body::zero_in_piece(std::uint64_t piece, std::uint64_t within, std::uint64_t n) {
  if (!written_.contains(piece)) return {};
  const auto there = shared_->pool->stat(piece_name(piece));
  if (!there && there.error().errno_value != ENOENT) return fail(there.error());
  if (!there || within >= there->size) return {};
  WriteOperation operation;
  operation.zero(within, std::min(n, there->size - within));
  operation.truncate(there->size);
  return shared_->pool->run(operation, piece_name(piece));
}

Status Body::punch_pieces(std::uint64_t offset, std::uint64_t end) {
  const std::uint64_t piece_bytes = shared_->piece_bytes;
  // An inner piece that is not there reads as zeros; the first one has attributes, the last one is the end.
  const std::uint64_t inner_begin = std::max<std::uint64_t>(1, (offset + piece_bytes - 1) / piece_bytes);
  const std::uint64_t inner_end = std::min(end / piece_bytes, last_piece(size_));
  for (std::uint64_t at = offset; at < end;) {
    const std::uint64_t piece = at / piece_bytes;
    if (piece >= inner_begin && piece < inner_end) {
      CFFS_TRY_VOID(remove_between(piece, inner_end));
      at = inner_end * piece_bytes;
      continue;
    }
    const std::uint64_t within = at - piece * piece_bytes;
    const std::uint64_t n = std::min(end - at, piece_bytes - within);
    CFFS_TRY_VOID(zero_in_piece(piece, within, n));
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
  if (offset >= size_ || length == 0) return {};
  const std::uint64_t end = offset + std::min(length, size_ - offset);
  const Status done = punch_pieces(offset, end);
  // Also where only some pieces, or nobody knows which, are punched.
  shared_->cache->drop(id_, offset, end - offset);
  return done;
}

Status Body::remove_pieces(const std::atomic<bool>& stops) {
  {
    const MutexLock guard(mutex_);
    pending_.clear();
  }
  (void)flights_.wait();
  shared_->cache->forget(*this);
  const MutexLock guard(mutex_);  // nobody has it any more
  // From behind, and the first one last: it says which there are.
  while (written_.end() > 1) {
    if (stops.load()) {
      WriteOperation operation;
      operation.create(false);
      set_first_attributes(operation, written_);
      CFFS_TRY_VOID(shared_->pool->run(operation, piece_name(0)));
      return fail(ECANCELED);
    }
    const WrittenPieces::Span last = written_.spans().back();
    const std::uint64_t begin =
        std::max({std::uint64_t{1}, last.begin, last.end - std::min(last.end, kAtOnce)});
    CFFS_TRY_VOID(remove_between(begin, last.end));
    written_.cut(begin);
  }
  return remove_between(0, 1);
}

}  // namespace cffs::rados
