#include "core/fs/homes.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "core/composite/large_member.h"
#include "core/fs/moment.h"

namespace cffs {
namespace {

// Staging: files up to so many times inline-max wait in the table for consolidation, so that creating one makes no object.
constexpr std::uint64_t kStagedPerInline = 16;
// Where nobody will move them, what grows in the table: each append writes a chunk anew (adr/0036).
constexpr std::uint64_t kGrownPerInline = 4;

// So many chunks are looked up one by one: an iterator has to be set up on each file of level 0 and each level, and costs as
// much as five of them.
constexpr std::uint64_t kChunksByKey = 4;

constexpr ReaderId kWhoChanges = 0;  // all of them together

bool is_large_member(const Inode& inode) {
  return inode.home == Home::composite && inode.size > kLargeMember;
}

Error sizes_differ(const Inode& inode) {
  return Error::corruption("inode " + std::to_string(inode.ino.value) + ": size and extent differ");
}

// `read` fills what it is given with all of the member.
template <typename Read>
Result<std::string> read_member(const Inode& inode, const Read& read) {
  if (inode.extent.length != inode.size) return fail(sizes_differ(inode));
  std::string bytes(inode.size, '\0');
  CFFS_TRY(const std::size_t n, read(as_writable_bytes(bytes)));
  CFFS_INVARIANT(n == bytes.size());
  return bytes;
}

}  // namespace

Status cut_tail(Object& blob, std::uint64_t size) {
  CFFS_TRY(const ObjectInfo info, blob.info());
  return info.size > size ? blob.truncate(size) : Status();
}

std::uint64_t Homes::inline_limit(const Inode& inode) const {
  const auto at_most = [&](std::uint64_t times) {
    return std::min(times * format_.inline_max, format_.composite_file_max);
  };
  if (makes_composites_.load(std::memory_order_relaxed)) return at_most(kStagedPerInline);
  return inode.size > 0 ? std::max(format_.inline_max, at_most(kGrownPerInline)) : format_.inline_max;
}

Status Homes::check_chunk(const Inode& inode, std::uint64_t chunk, std::size_t stored) const {
  const std::uint64_t wanted = std::min(kChunkBytes, inode.size - chunk * kChunkBytes);
  if (stored >= wanted || !format_.dense_inline) return {};
  return fail(Error::corruption("inode " + std::to_string(inode.ino.value) + ": " + std::to_string(stored) +
                                " of the " + std::to_string(wanted) + " bytes from " +
                                std::to_string(chunk * kChunkBytes) + " on are in the table"));
}

Result<std::string> Homes::read_chunks(const Inode& inode) const {
  std::string bytes(inode.size, '\0');
  if (bytes.empty()) return bytes;
  const std::uint64_t last = (inode.size - 1) / kChunkBytes;
  if (last < kChunksByKey) {
    CFFS_TRY_VOID(read_inline(inode, 0, as_writable_bytes(bytes)));
    return bytes;
  }
  std::uint64_t next = 0;  // the first that was not seen
  Status whole;
  CFFS_TRY_VOID(
      table_.scan(Key::data(inode.ino, 0), Key::data(inode.ino, last), [&](Key key, std::string_view v) {
        if (key.lower != next) whole = check_chunk(inode, next, 0);
        if (whole) whole = check_chunk(inode, key.lower, v.size());
        const std::uint64_t at = key.lower * kChunkBytes;
        v.copy(bytes.data() + at, std::min<std::uint64_t>(v.size(), inode.size - at));
        next = key.lower + 1;
        return whole.has_value();
      }));
  if (whole && next <= last) whole = check_chunk(inode, next, 0);
  CFFS_TRY_VOID(whole);
  return bytes;
}

Status Homes::read_inline(const Inode& inode, std::uint64_t offset, Bytes out) const {
  for (std::size_t done = 0; done < out.size();) {
    const std::uint64_t at = offset + done;
    const std::uint64_t within = at % kChunkBytes;
    const std::size_t wanted = std::min<std::uint64_t>(out.size() - done, kChunkBytes - within);
    CFFS_TRY(const auto chunk, table_.get(Key::data(inode.ino, at / kChunkBytes)));
    CFFS_TRY_VOID(check_chunk(inode, at / kChunkBytes, chunk ? chunk->size() : 0));
    const std::size_t stored = chunk && chunk->size() > within ? chunk->size() - within : 0;
    const std::size_t copied = std::min(stored, wanted);
    if (copied > 0) std::memcpy(out.data() + done, chunk->data() + within, copied);
    std::memset(out.data() + done + copied, 0, wanted - copied);
    done += wanted;
  }
  return {};
}

Status Homes::put_chunks(Batch& batch, const Inode& inode, std::uint64_t offset,
                         std::string_view data) const {
  const std::uint64_t old_size = inode.home == Home::inline_ ? inode.size : 0;
  std::string with_zeros;
  if (offset > old_size) {  // no hole: a missing row would look like one
    with_zeros.assign(offset - old_size, '\0');
    with_zeros += data;
    data = with_zeros;
    offset = old_size;
  }
  const std::uint64_t end = offset + data.size();
  for (std::uint64_t chunk = offset / kChunkBytes; chunk * kChunkBytes < end; ++chunk) {
    const std::uint64_t base = chunk * kChunkBytes;
    const std::uint64_t from = std::max(offset, base);
    const std::uint64_t to = std::min(end, base + kChunkBytes);
    const std::string_view piece = data.substr(from - offset, to - from);
    const bool replaces_all = from == base && (to == base + kChunkBytes || to >= old_size);
    if (base >= old_size && from == base) {
      batch.put_new(Key::data(inode.ino, chunk), piece);
      continue;
    }
    if (replaces_all) {
      batch.put(Key::data(inode.ino, chunk), piece);
      continue;
    }
    std::string merged;
    if (base < old_size) {
      CFFS_TRY(auto stored, table_.get(Key::data(inode.ino, chunk)));
      CFFS_TRY_VOID(check_chunk(inode, chunk, stored ? stored->size() : 0));
      if (stored) merged = std::move(*stored);
    }
    if (merged.size() < to - base) merged.resize(to - base);
    piece.copy(merged.data() + (from - base), piece.size());
    batch.put(Key::data(inode.ino, chunk), merged);
  }
  return {};
}

void Homes::erase_chunks(Batch& batch, const Inode& inode, std::uint64_t first_chunk) const {
  if (inode.home != Home::inline_) return;
  for (std::uint64_t chunk = first_chunk; chunk * kChunkBytes < inode.size; ++chunk) {
    batch.erase(Key::data(inode.ino, chunk), std::min(kChunkBytes, inode.size - chunk * kChunkBytes));
  }
}

Status Homes::cut_chunks(Batch& batch, const Inode& inode, std::uint64_t size) const {
  erase_chunks(batch, inode, (size + kChunkBytes - 1) / kChunkBytes);
  const std::uint64_t within = size % kChunkBytes;
  if (within == 0) return {};
  const Key last = Key::data(inode.ino, size / kChunkBytes);
  CFFS_TRY(const auto chunk, table_.get(last));
  if (chunk && chunk->size() > within) batch.put(last, std::string_view(*chunk).substr(0, within));
  return {};
}

Status Homes::leave(Batch& batch, CompositeAccounts& accounts, const Inode& inode) const {
  if (inode.home == Home::inline_) erase_chunks(batch, inode, 0);
  if (inode.home == Home::composite) accounts.free(inode.extent, inode.ino);
  if (inode.home == Home::blob) batch.put(PendingRemoval::of_blob(inode.ino).key(), {});
  return inode.home == Home::blob && inode.sealed ? sums_.erase_sealed(batch, inode.ino, inode.size)
                                                  : Status();
}

// Before memory is taken for it: a row may say anything.
Status Homes::check_small(const Inode& inode) const {
  if (inode.size <= std::max(format_.inline_max, format_.composite_file_max)) return {};
  if (inode.home == Home::composite) {
    // Earlier versions made members of files that grew while they were being moved.
    CFFS_TRY(const auto object, object_of(inode));
    CFFS_TRY(const ObjectInfo info, object->info());
    if (inode.size <= info.size) return {};
  }
  return fail(Error::corruption("inode " + std::to_string(inode.ino.value) + ": " +
                                std::to_string(inode.size) + " bytes are no small file's"));
}

// Who asks may be in the middle of a change, where no exception may come: a member may be large, and memory short.
Result<std::string> Homes::load_small(const Inode& inode) const {
  try {
    return load(inode);
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM);
  }
}

Result<std::string> Homes::load(const Inode& inode) const {
  CFFS_TRY_VOID(check_small(inode));
  if (inode.home == Home::inline_) return read_chunks(inode);
  if (inode.home == Home::composite) {
    CFFS_TRY(const auto object, object_of(inode));
    return read_member(inode, [&](Bytes out) { return CompositeStore::read(*object, inode.extent, 0, out); });
  }
  if (inode.size > 0) {
    return fail(Error::corruption("inode " + std::to_string(inode.ino.value) + " has " +
                                  std::to_string(inode.size) + " bytes and no home"));
  }
  return std::string();
}

Result<std::string> Homes::load_small(const Node& node) const {
  CFFS_TRY_VOID(node.check_kept());
  if (node.orphan_bytes) return node.orphan_bytes->bytes;
  if (node.inode.home != Home::composite) return load_small(node.inode);
  try {
    return load_member(node);
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM);
  }
}

Result<std::string> Homes::load_head(const Node& node, std::uint64_t bytes) const {
  const Inode& inode = node.inode;
  if (!is_large_member(inode)) {
    CFFS_TRY(std::string content, load_small(node));
    content.resize(std::min<std::uint64_t>(content.size(), bytes));
    return content;
  }
  CFFS_TRY(const auto composite, composite_of(node));
  std::string content;
  CFFS_TRY_VOID(visit_member(*composite, inode.extent, [&](std::uint64_t at, ConstBytes piece) {
    const std::size_t wanted = std::min<std::uint64_t>(piece.size(), bytes - std::min(bytes, at));
    content.append(reinterpret_cast<const char*>(piece.data()), wanted);
    return Status();
  }));
  return content;
}

// What holds the member, which is all there and as long as its file.
Result<std::shared_ptr<Object>> Homes::composite_of(const Node& node) const {
  CFFS_TRY_VOID(node.check_kept());
  if (!node.pinned) CFFS_TRY_VOID(check_small(node.inode));
  if (node.inode.extent.length != node.inode.size) return fail(sizes_differ(node.inode));
  return object_of(node);
}

// Who changes one file may never come to another of its group: what comes with it is for what such readers wanted lately to say.
Result<std::string> Homes::load_member(const Node& node) const {
  const Inode& inode = node.inode;
  CFFS_TRY(const auto object, composite_of(node));
  const CompositeStore::Wish wish{kWhoChanges, inode.ino};
  return read_member(inode, [&, extent = inode.extent](Bytes out) {
    return composites_.read_for(wish, *object, extent, 0, out);
  });
}

Result<std::shared_ptr<Object>> Homes::object_of(const Inode& inode) const {
  auto object = inode.home == Home::blob ? blobs_.open(inode.ino) : composites_.open(inode.extent.composite);
  if (!object && object.error().errno_value == ENOENT) {
    return fail(Error::corruption("object " + object.error().context + " is missing"));
  }
  return object;
}

Result<std::shared_ptr<Object>> Homes::object_of(const Node& node) const {
  if (node.pinned) return node.pinned;
  return object_of(node.inode);
}

bool Homes::hold(Node& node, std::string& content) {
  const std::uint64_t size = content.size();
  if (!node.orphan_bytes) {
    HeldContent held;
    if (!held.share.resize(nameless_.bytes, size)) return false;
    node.orphan_bytes = std::move(held);
  } else if (!node.orphan_bytes->share.resize(nameless_.bytes, size)) {
    return false;
  }
  node.orphan_bytes->bytes = std::move(content);
  node.orphan_lost = false;
  node.pinned.reset();
  node.pinned_share.reset();
  node.pinned_record.reset();
  node.inode.home = size > 0 ? Home::inline_ : Home::none;
  node.inode.extent = {};
  node.inode.size = size;
  return true;
}

Status Homes::replace_small(Node& node, Batch& batch, CompositeAccounts& accounts,
                            const std::string& content) const {
  Inode& inode = node.inode;
  CFFS_TRY_VOID(leave(batch, accounts, inode));
  inode.home = Home::none;  // its chunks start from nothing
  inode.extent = {};
  CFFS_TRY_VOID(put_chunks(batch, inode, 0, content));
  inode.home = content.empty() ? Home::none : Home::inline_;
  inode.size = content.size();
  return {};
}

Result<std::shared_ptr<Object>> Homes::make_blob(const Inode& replaced, std::string_view content) {
  CFFS_TRY_VOID(removals_.finish_blob(replaced.ino));
  // The intent comes first: a crash between here and the caller's batch leaves an object that recovery removes.
  Batch intent;
  intent.put(PendingRemoval::of_blob(replaced.ino).key(), {});
  CFFS_TRY_VOID(table_.write(intent));
  moments_.made_anew(replaced.ino);
  auto blob = blobs_.create(replaced.ino);
  Status done = blob ? Status() : Status(fail(blob.error()));
  if (done && !content.empty()) done = (*blob)->write_at(0, as_bytes(content));
  if (done) blobs_.wrote(content.size());
  if (done) return blob;
  drop_blob(replaced.ino);
  return fail(std::move(done).error());
}

Result<std::shared_ptr<Object>> Homes::make_blob_of(const Node& node, std::uint64_t most) {
  const Inode& inode = node.inode;
  if (!is_large_member(inode)) {
    CFFS_TRY(const std::string content, load_small(node));
    return make_blob(inode, std::string_view(content).substr(0, most));
  }
  CFFS_TRY(const auto composite, composite_of(node));
  const bool cuts = most < inode.size;  // to cut must always work, as far as there is any room
  if (!cuts && !has_room_for(inode.size)) return fail(space_.refusal().error());
  CFFS_TRY(auto blob, make_blob(inode, {}));
  const auto copy = [&](std::uint64_t at, ConstBytes piece) -> Status {
    if (at >= most) return {};
    piece = piece.first(std::min<std::uint64_t>(piece.size(), most - at));
    blobs_.wrote(piece.size());
    return blob->write_at(at, piece);
  };
  const Status done = visit_member(*composite, inode.extent, copy);
  if (done) return blob;
  drop_blob(inode.ino);
  return fail(done.error());
}

// An fsync or a commit was since the file was made; one made since has no durable content to lose.
bool Homes::may_be_durable(const Inode& inode) const {
  return inode.size > 0 && inode.ino.value < durable_below_.load();
}

// The batch drops the old copy of this content. Where that copy may be durable already the new one must be too.
Status Homes::settle_blob(const Inode& replaced, Object& blob) {
  if (!may_be_durable(replaced)) return {};
  Status done = blob.sync();
  if (!done) table_.poison();
  return done;
}

Status Homes::take_blob(Inode& inode, Batch& batch, CompositeAccounts& accounts,
                        const std::shared_ptr<Object>& blob, bool named) {
  // Before any row names it, and before the look whether it must be durable now: a commit says first that it must, and then takes what
  // was noted.
  dirty_.note(inode.ino, blob);
  CFFS_TRY_VOID(settle_blob(inode, *blob));
  CFFS_TRY(const ObjectInfo info, blob->info());
  if (named) {
    CFFS_TRY_VOID(leave(batch, accounts, inode));
    batch.erase(PendingRemoval::of_blob(inode.ino).key());
  }
  inode.home = Home::blob;
  inode.sealed = false;
  inode.size = info.size;
  inode.allocated = info.allocated;
  inode.extent = {};
  return {};
}

}  // namespace cffs
