#include "core/region/body.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace cffs::region {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 60;
constexpr std::uint64_t kMostAhead = (std::uint64_t{16} << 20) / kBlock;  // blocks given to who grows

std::uint64_t blocks_for(std::uint64_t bytes) { return (bytes + kBlock - 1) / kBlock; }

}  // namespace

Body::Body(std::shared_ptr<Shared> shared, OnodeId id, const Onode& onode, Mapping mapping,
           unsigned durable_sector, std::uint64_t durable_version, bool is_block_known)
    : shared_(std::move(shared)),
      id_(id),
      name_(onode.name),
      size_(onode.size),
      mapping_(std::move(mapping)),
      live_version_(onode.version),
      durable_version_(durable_version),
      durable_sector_(durable_sector),
      is_block_known_(is_block_known),
      may_be_durable_(durable_sector != kLiveSector) {}

std::string Body::name() const {
  const ReadLock guard(mutex_);
  return name_;
}

Result<std::size_t> Body::read_with(const std::function<Status(std::uint64_t, Bytes)>& read_device,
                                    std::uint64_t offset, Bytes out) const {
  if (offset >= size_) return 0;
  const std::size_t all = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size_ - offset));
  for (std::size_t done = 0; done < all;) {
    const std::uint64_t at = offset + done, within = at % kBlock;
    const auto piece = mapping_.at(at / kBlock, blocks_for(within + all - done));
    const std::size_t bytes =
        static_cast<std::size_t>(std::min<std::uint64_t>(all - done, piece.count * kBlock - within));
    const Bytes part = out.subspan(done, bytes);
    if (piece.block != 0 && piece.written) {
      CFFS_TRY_VOID(read_device(piece.block * kBlock + within, part));
    } else {
      std::memset(part.data(), 0, part.size());
    }
    done += bytes;
  }
  return all;
}

Result<std::size_t> Body::read(std::uint64_t offset, Bytes out) const {
  const ReadLock guard(mutex_);
  return read_with([this](std::uint64_t at, Bytes part) { return shared_->device.read(at, part); }, offset,
                   out);
}

Result<std::size_t> Body::read_medium(std::uint64_t offset, Bytes out) const {
  const ReadLock guard(mutex_);
  return read_with([this](std::uint64_t at, Bytes part) { return shared_->device.read_medium(at, part); },
                   offset, out);
}

Result<std::optional<std::size_t>> Body::try_read(std::uint64_t offset, Bytes out) const {
  const ReadLock guard(mutex_);
  bool waits = false;
  const auto n = read_with(
      [&](std::uint64_t at, Bytes part) -> Status {
        if (waits) return {};
        CFFS_TRY(const bool there, shared_->device.try_read(at, part));
        waits = !there;
        return {};
      },
      offset, out);
  if (!n) return fail(n.error());
  if (waits) return std::optional<std::size_t>();
  return std::optional<std::size_t>(*n);
}

Status Body::writable(std::uint64_t offset, std::uint64_t length) const {
  if (offset > kMostBytes || length > kMostBytes - offset) return fail(EFBIG);
  if (shared_->device.is_read_only()) return fail(EROFS);
  if (shared_->ended.load(std::memory_order_acquire)) return fail(EBADF);
  return {};
}

void Body::note_dirty(std::uint64_t offset, std::uint64_t length) {
  const MutexLock guard(dirty_mutex_);
  dirty_from_ = std::min(dirty_from_, offset);
  dirty_to_ = std::max(dirty_to_, offset + length);
}

// Bytes that the object has already, in blocks that it has already: beside others that do the same. False: nothing is done.
Result<bool> Body::write_in_place(std::uint64_t offset, ConstBytes data) {
  const ReadLock guard(mutex_);
  if (offset + data.size() > size_ || live_is_behind_) return false;
  for (std::uint64_t at = offset / kBlock; at < blocks_for(offset + data.size());) {
    const auto piece = mapping_.at(at, blocks_for(offset + data.size()) - at);
    if (piece.block == 0 || !piece.written) return false;
    at += piece.count;
  }
  for (std::size_t done = 0; done < data.size();) {
    const std::uint64_t at = offset + done, within = at % kBlock;
    const auto piece = mapping_.at(at / kBlock, blocks_for(within + data.size() - done));
    const std::size_t bytes =
        static_cast<std::size_t>(std::min<std::uint64_t>(data.size() - done, piece.count * kBlock - within));
    note_dirty(at, bytes);
    CFFS_TRY_VOID(shared_->device.write(piece.block * kBlock + within, data.subspan(done, bytes)));
    done += bytes;
  }
  note_dirty(offset, data.size());
  return true;
}

// The blocks that these bytes touch get them, and zeros around.
Status Body::write_new(std::uint64_t offset, ConstBytes data, const Run& run) {
  const std::uint64_t within = offset % kBlock, end = within + data.size();
  std::string padded;
  std::size_t done = 0;
  std::uint64_t at = run.block * kBlock;
  while (done < data.size()) {
    const std::uint64_t skip = done == 0 ? within : 0;
    std::size_t bytes = data.size() - done;
    if (skip == 0 && bytes >= kBlock) {
      bytes -= bytes % kBlock;
      CFFS_TRY_VOID(shared_->device.write(at, data.subspan(done, bytes)));
      at += bytes;
    } else {
      bytes = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, kBlock - skip));
      padded.assign(kBlock, '\0');
      std::memcpy(padded.data() + skip, data.data() + done, bytes);
      CFFS_TRY_VOID(shared_->device.write(at, as_bytes(padded)));
      at += kBlock;
    }
    done += bytes;
  }
  CFFS_INVARIANT(blocks_for(end) == run.count);
  return {};
}

Result<Run> Body::take(std::uint64_t logical, std::uint64_t want) {
  Allocation::Wish wish;
  wish.who = this;
  wish.logical = logical;
  wish.want = want;
  wish.near = mapping_.follows(logical);
  if (wish.near == 0) wish.near = shared_->geometry.first_block(id_.region) + 1;
  const std::uint64_t unit = shared_->geometry.large_blocks;
  const std::uint64_t expected = blocks_for(expected_.load(std::memory_order_relaxed));
  if (logical >= mapping_.end()) {  // it grows
    const std::uint64_t total = std::max(expected, logical + want);
    wish.large = total >= unit - unit / 4;
    const std::uint64_t comes = expected > logical + want ? expected - logical - want : 0;
    const std::uint64_t grows = std::min(mapping_.blocks(), wish.large ? kMostAhead : unit / 4);
    wish.ahead = std::min(kMostAhead, comes > 0 ? comes : grows);
  } else {
    wish.large = want >= unit;
  }
  return shared_->allocation.take(wish);
}

Status Body::write_blocks(std::uint64_t offset, ConstBytes data) {
  for (std::size_t done = 0; done < data.size();) {
    const std::uint64_t at = offset + done, within = at % kBlock, logical = at / kBlock;
    auto piece = mapping_.at(logical, blocks_for(within + data.size() - done));
    Run run{piece.block, static_cast<std::uint32_t>(std::min<std::uint64_t>(piece.count, kMaxExtent))};
    if (piece.block == 0) {
      CFFS_TRY(run, take(logical, std::min<std::uint64_t>(piece.count, kMaxExtent)));
    }
    const std::size_t bytes =
        static_cast<std::size_t>(std::min<std::uint64_t>(data.size() - done, run.count * kBlock - within));
    const ConstBytes part = data.subspan(done, bytes);
    note_dirty(at / kBlock * kBlock, blocks_for(within + bytes) * kBlock);
    if (piece.block != 0 && piece.written) {
      CFFS_TRY_VOID(shared_->device.write(run.block * kBlock + within, part));
    } else {
      const Status written = write_new(at, part, run);
      if (!written && piece.block == 0) shared_->allocation.give(std::vector<Run>{run});
      if (!written) return written;
      mapping_.put(logical, run, true);
    }
    done += bytes;
  }
  return {};
}

// Zeros where the object has blocks; holes stay what they are.
Status Body::zero(std::uint64_t offset, std::uint64_t length) {
  const std::string zeros(kBlock, '\0');
  while (length > 0) {
    const std::uint64_t within = offset % kBlock, bytes = std::min(length, kBlock - within);
    const auto piece = mapping_.at(offset / kBlock, 1);
    if (piece.block != 0 && piece.written) {
      note_dirty(offset, bytes);
      CFFS_TRY_VOID(shared_->device.write(piece.block * kBlock + within, as_bytes(zeros).first(bytes)));
    }
    offset += bytes;
    length -= bytes;
  }
  return {};
}

Status Body::write_growing(std::uint64_t offset, ConstBytes data) {
  // What lies behind the end in its last block is anything.
  if (offset > size_ && size_ % kBlock != 0)
    CFFS_TRY_VOID(zero(size_, std::min(offset, blocks_for(size_) * kBlock) - size_));
  const std::uint64_t size = size_, before = std::max(mapping_.end(), blocks_for(size));
  Status done = write_blocks(offset, data);
  if (done) {
    size_ = std::max<std::uint64_t>(size, offset + data.size());
    done = write_live();
  }
  if (done) return done;
  // Blocks behind the end that hold a part of it would be found by who makes it longer. A node may name them already, until the
  // live sector is written.
  size_ = size;
  if (mapping_.end() > before) {
    const std::vector<Run> runs = mapping_.remove(before, mapping_.end() - before);
    given_up_.insert(given_up_.end(), runs.begin(), runs.end());
  }
  // What was reserved there is again what nobody has written.
  for (std::uint64_t at = blocks_for(size); at < before;) {
    const auto piece = mapping_.at(at, before - at);
    if (piece.block != 0 && piece.written)
      mapping_.put(at, {piece.block, static_cast<std::uint32_t>(piece.count)}, false);
    at += piece.count;
  }
  (void)write_live();  // holes before the end may have blocks now
  return done;
}

Status Body::write(std::uint64_t offset, ConstBytes data) {
  CFFS_TRY_VOID(writable(offset, data.size()));
  if (data.empty()) return {};
  CFFS_TRY(const bool done, write_in_place(offset, data));
  if (done) return {};
  const WriteLock guard(mutex_);
  CFFS_TRY_VOID(begin_change());
  return write_growing(offset, data);
}

Result<std::uint64_t> Body::append(ConstBytes data) {
  CFFS_TRY_VOID(writable());
  const WriteLock guard(mutex_);
  CFFS_TRY_VOID(begin_change());
  const std::uint64_t at = size_;
  if (!data.empty()) CFFS_TRY_VOID(write_growing(at, data));
  return at;
}

// The block that the new end lies in is another one from now on: what is written behind the end must not come to light where the
// cut does not survive. On a full medium it stays.
Status Body::cut_block(std::uint64_t size) {
  const std::uint64_t within = size % kBlock, logical = size / kBlock;
  const auto piece = mapping_.at(logical, 1);
  if (within == 0 || piece.block == 0 || !piece.written || !may_be_durable_) return {};
  Allocation::Wish wish;
  wish.who = &mapping_;  // nobody's spare
  wish.near = piece.block;
  wish.metadata = true;
  const auto run = shared_->allocation.take(wish);
  if (!run) return run.error().errno_value == ENOSPC ? Status() : fail(run.error());
  std::string bytes(kBlock, '\0');
  Status done = shared_->device.read(piece.block * kBlock, as_writable_bytes(bytes).first(within));
  if (done) done = shared_->device.write(run->block * kBlock, as_bytes(bytes));
  if (!done) {
    shared_->allocation.give(std::vector<Run>{*run});
    return done;
  }
  free(mapping_.remove(logical, 1));
  mapping_.put(logical, *run, true);
  note_dirty(logical * kBlock, kBlock);
  return {};
}

Status Body::truncate(std::uint64_t size) {
  CFFS_TRY_VOID(writable(size, 0));
  const WriteLock guard(mutex_);
  if (size == size_ && mapping_.end() <= blocks_for(size) && !live_is_behind_) return {};
  CFFS_TRY_VOID(begin_change());
  if (size > size_) {
    if (size_ % kBlock != 0) CFFS_TRY_VOID(zero(size_, std::min(size, blocks_for(size_) * kBlock) - size_));
  } else {
    CFFS_TRY_VOID(cut_block(size));
    const std::uint64_t end = mapping_.end();
    if (end > blocks_for(size)) free(mapping_.remove(blocks_for(size), end - blocks_for(size)));
    shared_->allocation.drop_spare(this);
  }
  size_ = size;
  return write_live();
}

Status Body::punch(std::uint64_t offset, std::uint64_t length) {
  CFFS_TRY_VOID(writable());
  const WriteLock guard(mutex_);
  const std::uint64_t end = std::min(size_, length > ~offset ? ~std::uint64_t{0} : offset + length);
  if (offset >= end) return {};
  CFFS_TRY_VOID(begin_change());
  // The last block counts as whole where nothing is behind it.
  const std::uint64_t first = blocks_for(offset), last = end == size_ ? blocks_for(end) : end / kBlock;
  if (first >= last) {
    CFFS_TRY_VOID(zero(offset, end - offset));
  } else {
    CFFS_TRY_VOID(zero(offset, first * kBlock - offset));
    if (end > last * kBlock) CFFS_TRY_VOID(zero(last * kBlock, end - last * kBlock));
    free(mapping_.remove(first, last - first));
  }
  return write_live();
}

Status Body::reserve(std::uint64_t offset, std::uint64_t length) {
  CFFS_TRY_VOID(writable(offset, length));
  const WriteLock guard(mutex_);
  CFFS_TRY_VOID(begin_change());
  const std::uint64_t end = blocks_for(offset + length);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> made;
  for (std::uint64_t at = offset / kBlock; at < end;) {
    const auto piece = mapping_.at(at, end - at);
    std::uint64_t count = piece.count;
    if (piece.block == 0) {
      auto run = take(at, std::min<std::uint64_t>(count, kMaxExtent));
      if (!run) {
        for (const auto& [logical, blocks] : made) shared_->allocation.give(mapping_.remove(logical, blocks));
        return fail(run.error());
      }
      mapping_.put(at, *run, false);
      made.emplace_back(at, run->count);
      count = run->count;
    }
    at += count;
  }
  return made.empty() && !live_is_behind_ ? Status() : write_live();
}

Result<bool> Body::move_out(const Run& region) {
  const WriteLock guard(mutex_);
  if (removed_) return false;
  const std::vector<Mapping::Piece> pieces = mapping_.pieces_in(region);
  if (pieces.empty() && !mapping_.has_nodes_in(region)) return false;
  CFFS_TRY_VOID(begin_change());  // which writes what is durable, so before any node is to be elsewhere
  mapping_.leave(region);
  // What has moved has moved, whatever comes of the rest.
  const Status moved = move_pieces(pieces);
  CFFS_TRY_VOID(write_live());
  CFFS_TRY_VOID(moved);
  return true;
}

Status Body::move_pieces(const std::vector<Mapping::Piece>& pieces) {
  std::string bytes;
  for (const Mapping::Piece& piece : pieces) {
    for (std::uint64_t done = 0; done < piece.count;) {
      Allocation::Wish wish;
      wish.who = &mapping_;  // nobody's spare
      wish.want = piece.count - done;
      wish.near = mapping_.follows(piece.logical + done);
      CFFS_TRY(const Run run, shared_->allocation.take(wish));
      if (piece.written) {
        bytes.resize(run.count * kBlock);
        Status copied = shared_->device.read((piece.block + done) * kBlock, as_writable_bytes(bytes));
        if (copied) copied = shared_->device.write(run.block * kBlock, as_bytes(bytes));
        if (!copied) {
          shared_->allocation.give(std::vector<Run>{run});
          return copied;
        }
      }
      free(mapping_.remove(piece.logical + done, run.count));
      mapping_.put(piece.logical + done, run, piece.written);
      note_dirty((piece.logical + done) * kBlock, run.count * kBlock);
      done += run.count;
    }
  }
  return {};
}

ObjectInfo Body::info() const {
  const ReadLock guard(mutex_);
  return {size_, mapping_.blocks() * kBlock};
}

std::uint64_t Body::extents() const {
  const ReadLock guard(mutex_);
  return mapping_.extents();
}

std::uint64_t Body::next(std::uint64_t offset, bool data) const {
  const ReadLock guard(mutex_);
  while (offset < size_) {
    const auto piece = mapping_.at(offset / kBlock, blocks_for(size_) - offset / kBlock);
    if ((piece.block != 0 && piece.written) == data) return offset;
    offset = (piece.logical + piece.count) * kBlock;
  }
  return size_;
}

std::vector<DeviceRange> Body::ranges_locked(std::uint64_t offset, std::uint64_t length) const {
  std::vector<DeviceRange> ranges;
  const std::uint64_t most = mapping_.end() * kBlock;
  if (offset >= most) return ranges;
  const std::uint64_t end = length == 0 || length > most - offset ? most : offset + length;
  for (std::uint64_t at = offset / kBlock; at < blocks_for(end);) {
    const auto piece = mapping_.at(at, blocks_for(end) - at);
    if (piece.block != 0 && piece.written) ranges.push_back({piece.block * kBlock, piece.count * kBlock});
    at += piece.count;
  }
  return ranges;
}

std::vector<DeviceRange> Body::ranges(std::uint64_t offset, std::uint64_t length) const {
  const ReadLock guard(mutex_);
  return ranges_locked(offset, length);
}

}  // namespace cffs::region
