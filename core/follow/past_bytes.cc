#include "core/follow/past_bytes.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string>

#include "core/fs/kept_bytes.h"
#include "core/table/checkpoint.h"

namespace cffs {
namespace {

tl::unexpected<Error> gone() { return fail(ESTALE, "what this file had is not kept any more"); }

// The part of `piece` within [offset, offset + out.size()) that nobody has filled.
void fill(Bytes out, std::vector<bool>& filled, std::uint64_t offset, std::uint64_t piece_offset,
          std::string_view piece) {
  const std::uint64_t begin = std::max(offset, piece_offset);
  const std::uint64_t end = std::min(offset + out.size(), piece_offset + piece.size());
  for (std::uint64_t at = begin; at < end; ++at) {
    if (filled[at - offset]) continue;
    filled[at - offset] = true;
    out[at - offset] = static_cast<std::byte>(piece[at - piece_offset]);
  }
}

}  // namespace

// A record is whole once its object is long enough: it is written in one piece, at the end.
Status PastBytes::look_at(Epoch& epoch) {
  CFFS_TRY(const ObjectInfo info, epoch.object->info());
  while (epoch.read + kKeptHeader <= info.size) {
    std::string head(kKeptHeader, '\0');
    CFFS_TRY(const std::size_t n, epoch.object->read_at(epoch.read, as_writable_bytes(head)));
    const auto found = n == head.size() ? kept_head(head) : std::nullopt;
    if (!found) return fail(Error::corruption("kept: a record is damaged"));
    const auto& [ino, offset, length] = *found;
    if (epoch.read + kKeptHeader + length > info.size) return {};
    epoch.files[ino].push_back({offset, length, epoch.read});
    epoch.read += kKeptHeader + length;
  }
  return {};
}

Status PastBytes::look() {
  CFFS_TRY_VOID(store_.look_again(kKeptFolder));
  CFFS_TRY(const auto names, store_.list(kKeptFolder));
  std::set<std::uint64_t> there;
  for (const std::string& name : names) {
    const auto number = kept_epoch(name);
    if (!number) continue;
    there.insert(*number);
    Epoch& epoch = epochs_[*number];
    auto object = store_.open(name);  // anew: a handle may not see how it has grown
    if (!object && object.error().errno_value == ENOENT) continue;
    if (!object) return fail(object.error());
    epoch.object = std::move(*object);
    CFFS_TRY_VOID(look_at(epoch));
  }
  std::erase_if(epochs_, [&](const auto& entry) { return !there.contains(entry.first); });
  return {};
}

// What goes is said before it goes: so of what was not there nothing had been.
Status PastBytes::still_kept(std::uint64_t checkpoint, bool published) const {
  CFFS_TRY(const Checkpoint last, read_checkpoint(store_));
  // The writer took us for gone, or what it published is lost.
  const bool forgotten =
      (!last.kept && last.sequence >= checkpoint) || (published && last.sequence < checkpoint);
  if (last.oldest > checkpoint || forgotten) return gone();
  return {};
}

Result<bool> PastBytes::has(InodeId ino, std::uint64_t checkpoint, bool published) {
  const MutexLock guard(mutex_);
  CFFS_TRY_VOID(look());
  CFFS_TRY_VOID(still_kept(checkpoint, published));
  return std::any_of(epochs_.lower_bound(checkpoint), epochs_.end(),
                     [ino](const auto& entry) { return entry.second.files.contains(ino); });
}

Result<std::size_t> PastBytes::restore(InodeId ino, std::uint64_t checkpoint, bool published,
                                       std::uint64_t offset, Bytes out, std::size_t have) {
  std::vector<bool> filled;
  const MutexLock guard(mutex_);
  CFFS_TRY_VOID(look());
  for (auto it = epochs_.lower_bound(checkpoint); it != epochs_.end(); ++it) {
    const auto file = it->second.files.find(ino);
    if (file == it->second.files.end()) continue;
    for (const Piece& piece : file->second) {
      if (piece.length == 0) return gone();
      if (piece.offset >= offset + out.size() || piece.offset + piece.length <= offset) continue;
      std::string record(kKeptHeader + piece.length, '\0');
      CFFS_TRY(const std::size_t n, it->second.object->read_at(piece.at, as_writable_bytes(record)));
      const auto kept = decode_kept(std::string_view(record).substr(0, n));
      if (!kept) return fail(Error::corruption("kept: a record is damaged"));
      filled.resize(out.size());
      fill(out, filled, offset, piece.offset, kept->first.bytes);
      have = std::max<std::size_t>(have, std::min(out.size(), piece.offset + piece.length - offset));
    }
  }
  CFFS_TRY_VOID(still_kept(checkpoint, published));
  return have;
}

}  // namespace cffs
