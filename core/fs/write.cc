// Writing.
//
// A write is settled when it is acknowledged: small files in the table's log, blobs in the backing store. That is what lets
// the mount do without FLUSH, and so without a request at close (docs/CONSISTENCY.md). A subfile is never changed in place: a
// write takes the file out of its composite, into the table or to a blob, and frees the extent. Rewriting a few KB costs what
// staging costs anyway, and a torn in-place write could not be told from rot.
#include <algorithm>
#include <optional>

#include "core/base/clock.h"
#include "core/base/within_memory.h"
#include "core/fs/content_change.h"
#include "core/fs/engine.h"
#include "core/fs/locking.h"
#include "core/fs/long_parts.h"
#include "core/fs/set_id.h"
#include "core/object/blocking_section.h"

namespace cffs {
namespace {

// A blob overwritten in place gets its new times written at once where the old ones are older than this, or yet to come, and
// with the next commit where they are not: after a crash a changed file shows a changed time.
constexpr std::int64_t kTimesSettledNs = 1'000'000'000;

std::string_view text(ConstBytes data) { return {reinterpret_cast<const char*>(data.data()), data.size()}; }

}  // namespace

void Engine::content_changed(Inode& inode, std::int64_t at, const Caller& caller) {
  inode.mtime_ns = inode.ctime_ns = at;
  inode.version += 1;
  const mode_t mode = inode.mode;
  if (!caller.is_privileged()) drop_set_id(inode, caller);
  if (inode.mode != mode) set_ids_dropped_.fetch_add(1, std::memory_order_relaxed);
  drop_capabilities(inode);
}

Status Engine::write(InodeId ino, std::uint64_t offset, ConstBytes data, const Caller& caller) {
  if (data.empty()) return {};
  if (offset > kFileMax || data.size() > kFileMax - offset) return fail(EFBIG);
  CFFS_TRY(const NodePtr found, rows_.node(ino));
  Node& node = *found;
  if (!S_ISREG(node.type)) return fail(EINVAL);
  const std::uint64_t bytes = bytes_to_find(node, offset, data.size());
  if (bytes > 0) CFFS_TRY_VOID(space_.charge(bytes));
  CFFS_TRY_VOID(table_->begin_changes());
  Status done = with_room([&] { return write_to_home(node, offset, data, caller); });
  homes_.limit_dirty();
  return done;
}

// What is changed in place has its room already, as who reserved some (fallocate) may count on; pages of a mapping are written when nobody
// can be told. Where the medium copies what is changed it says itself that it has none; but where nothing holds the table's room either, it
// would be the table that is told.
std::uint64_t Engine::bytes_to_find(Node& node, std::uint64_t offset, std::uint64_t length) {
  const std::uint64_t end = offset + length;
  const ReadLock guard(node.mutex);
  const std::uint64_t size = node.inode.size, allocated = node.inode.allocated;
  const bool dense = node.inode.home == Home::blob && allocated >= size;
  if (!dense || !space_.holds_room()) return length;
  return end <= allocated ? 0 : end - std::min(end, std::max(offset, size));
}

Status Engine::write_to_home(Node& node, std::uint64_t offset, ConstBytes data, const Caller& caller) {
  const std::int64_t at = now();
  std::optional<MomentHold::Passage> passage;
  for (;;) {
    CFFS_TRY(Written written, write_blob(node, offset, data, at, caller, passage.has_value()));
    if (written == Written::watched) {
      passage.emplace(moments_);
      CFFS_TRY_VOID(keep_for_moment(node, *passage, offset, data.size()));
      continue;
    }
    if (written == Written::sealed) {
      CFFS_TRY_VOID(break_seal(node));
      continue;
    }
    if (written == Written::elsewhere) {
      CFFS_TRY(written, write_small(node, offset, data, at, caller));
    }
    if (written == Written::done) return {};
  }
}

Result<Engine::Written> Engine::write_blob(Node& node, std::uint64_t offset, ConstBytes data, std::int64_t at,
                                           const Caller& caller, bool passed) {
  bool settle_now = false;
  Inode before;
  std::uint64_t version = 0;
  {
    const WriteLock guard(node.mutex);
    if (node.inode.home != Home::blob) return Written::elsewhere;
    if (moments_.watched() && !passed) return Written::watched;
    if (!node.open_to_change()) return Written::sealed;
    CFFS_TRY(const auto object, homes_.object_of(node));
    if (offset > node.inode.size) CFFS_TRY_VOID(cut_tail(*object, node.inode.size));
    before = node.inode;
    const Status written = object->write_at(offset, data);
    if (written) blobs_.wrote(data.size());
    if (node.dirty_epoch != dirty_objects_->epoch()) {
      const std::uint64_t epoch = dirty_objects_->epoch();
      const Status noted = within_memory([&]() -> Status {
        dirty_objects_->note(node.ino, object);
        return {};
      });
      if (!noted) {
        note_part_of_change(node);
        return fail(noted.error());
      }
      node.dirty_epoch = epoch;
    }
    if (!written) {
      note_part_of_change(node);
      return fail(written.error());
    }
    const std::uint64_t end = offset + data.size();
    const std::int64_t ago = time_between(node.inode.mtime_ns, at);
    settle_now = end > node.inode.size || ago < 0 || ago > kTimesSettledNs;
    if (end > node.inode.size || node.inode.allocated < node.inode.size) {
      if (const auto info = object->info()) node.inode.allocated = info->allocated;
    }
    if (options_.background && offset <= before.size) early_writeback_.grew(object, before.size, end);
    node.inode.size = std::max(node.inode.size, end);
    const mode_t mode = node.inode.mode;
    const bool capable = has_capability(node.inode);
    content_changed(node.inode, at, caller);
    // Rights that the change took away must not come back with a crash.
    settle_now = settle_now || node.inode.mode != mode || capable;
    version = node.inode.version;
    rows_.mark_stale(node);
  }
  if (!settle_now) return Written::done;
  Status settled = rows_.flush(node);
  if (settled) return Written::done;
  const WriteLock guard(node.mutex);
  Inode& inode = node.inode;
  if (inode.version == version && inode.home == Home::blob) {
    // That alone: links, owners and modes that others changed meanwhile are no part of the version. Rights that went stay away.
    inode.size = before.size;
    inode.allocated = before.allocated;
    if (inode.mtime_ns == at) inode.mtime_ns = before.mtime_ns;
    if (inode.ctime_ns == at) inode.ctime_ns = before.ctime_ns;
    inode.version = version + 1;
    rows_.mark_stale(node);
  }
  return fail(std::move(settled).error());
}

// A blob is changed in place: of a call that failed part may be there. Who moves or seals data sees it, when the node is gone, too.
void Engine::note_part_of_change(Node& node) {
  node.inode.version += 1;
  if (!options_.read_only) rows_.mark_stale(node);
}

// Bytes behind the file's end are nobody's: a truncation has kept what the moment had there.
Status Engine::keep_for_moment(Node& node, MomentHold::Passage& passage, std::uint64_t offset,
                               std::uint64_t length) {
  std::shared_ptr<Object> object;
  std::uint64_t size = 0;
  {
    const ReadLock guard(node.mutex);
    if (node.inode.home != Home::blob) return {};
    CFFS_TRY(object, homes_.object_of(node));
    size = node.inode.size;
  }
  passage.keep(node.ino, object, size, offset, length);
  return {};
}

// The row says durably that the sums are void before the first byte changes: what a crash tears after that is not taken for
// rot. One sync of the log for the first change after a quiet time.
Status Engine::break_seal(Node& node) {
  std::uint64_t broken = 0;
  {
    const NodeUpdate update(locks_, node);
    if (node.inode.home != Home::blob || node.open_to_change()) return {};
    if (node.inode.sealed) {
      const Inode before = node.inode;
      Batch batch;
      CFFS_TRY_VOID(homes_.sums().erase_sealed(batch, node.ino, node.inode.size));
      node.inode.sealed = false;
      rows_.note_staged(batch, node);  // to be sealed again
      Status done = rows_.put(batch, node);
      if (done) done = table_->write(batch);
      if (!done) {
        node.inode = before;
        return done;
      }
      if (!node.unlinked) node.row_stale = false;
      node.seals_broken += 1;
    }
    broken = node.seals_broken;
  }
  announce_blocking();
  CFFS_TRY_VOID(sync_table());
  const WriteLock guard(node.mutex);
  node.seals_broken_durably = std::max(node.seals_broken_durably, broken);
  return {};
}

Result<Engine::Written> Engine::write_small(Node& node, std::uint64_t offset, ConstBytes data,
                                            std::int64_t at, const Caller& caller) {
  const NodeUpdate update(locks_, node);
  if (node.inode.home == Home::blob) return Written::elsewhere;
  const std::uint64_t new_size = std::max(node.inode.size, offset + data.size());
  ContentChange change(*table_, node.inode);
  const auto build = [&]() CFFS_REQUIRES(node.mutex, row_stripes) -> Status {
    bool in_blob = new_size > homes_.inline_limit(node.inode);
    if (!in_blob && node.unlinked) {
      CFFS_TRY(const bool held, write_orphan(node, offset, data));
      in_blob = !held;
    } else if (!in_blob) {
      CFFS_TRY_VOID(build_small(node, change, offset, data));
    }
    if (in_blob) {
      blobs_.wrote(data.size());
      return move_to_blob(node, change, [&](Object& blob) { return blob.write_at(offset, data); });
    }
    node.inode.home = Home::inline_;
    node.inode.size = new_size;
    node.inode.extent = {};
    return {};
  };
  const Status built = build();
  CFFS_TRY_VOID(finish_change(node, change, built, at, caller));
  return Written::done;
}

Status Engine::move_to_blob(Node& node, ContentChange& change, const std::function<Status(Object&)>& then,
                            std::uint64_t most) {
  CFFS_TRY(change.new_blob, homes_.make_blob_of(node, most));
  CFFS_TRY_VOID(then(*change.new_blob));
  return homes_.take_blob(node.inode, change.batch, change.accounts, change.new_blob, !node.unlinked);
}

// A file without a name keeps its bytes in memory, within what all of them may.
Result<bool> Engine::write_orphan(Node& node, std::uint64_t offset, ConstBytes data) {
  const std::uint64_t size = std::max<std::uint64_t>(node.inode.size, offset + data.size());
  if (!node.orphan_bytes) {
    CFFS_TRY(std::string content, homes_.load_small(node));
    content.resize(size);
    if (!homes_.hold(node, content)) return false;
  } else if (!node.orphan_bytes->share.resize(homes_.nameless().bytes, size)) {
    return false;
  }
  std::string& bytes = node.orphan_bytes->bytes;
  bytes.resize(size);
  text(data).copy(bytes.data() + offset, data.size());
  return true;
}

Status Engine::put_small(Node& node, ContentChange& change, std::string content) {
  if (!node.unlinked) return homes_.replace_small(node, change.batch, change.accounts, content);
  if (homes_.hold(node, content)) return {};
  CFFS_TRY(change.new_blob, homes_.make_blob(node.inode, content));
  return homes_.take_blob(node.inode, change.batch, change.accounts, change.new_blob, false);
}

Status Engine::build_small(Node& node, ContentChange& change, std::uint64_t offset, ConstBytes data) {
  if (node.inode.home != Home::composite) {
    return homes_.put_chunks(change.batch, node.inode, offset, text(data));
  }
  CFFS_TRY(std::string content, homes_.load_small(node));
  content.resize(std::max<std::uint64_t>(content.size(), offset + data.size()));
  text(data).copy(content.data() + offset, data.size());
  CFFS_TRY_VOID(homes_.leave(change.batch, change.accounts, node.inode));
  node.inode.home = Home::none;  // its chunks start from nothing
  return homes_.put_chunks(change.batch, node.inode, 0, content);
}

Status Engine::finish_change(Node& node, ContentChange& change, Status built, std::int64_t at,
                             const Caller& caller) {
  content_changed(node.inode, at, caller);
  return write_change(node, change, std::move(built));
}

Status Engine::write_change(Node& node, ContentChange& change, Status built) {
  if (built && !node.unlinked) {
    if (node.inode.size > 0 || node.inode.home == Home::blob) rows_.note_staged(change.batch, node);
    built = rows_.put(change.batch, node);
    if (built) built = rows_.write(change.batch, change.accounts);
    if (built) {
      node.row_stale = false;
      node.verified.store(0, std::memory_order_relaxed);
    }
  }
  if (!built) {
    if (change.new_blob) homes_.drop_blob(node.ino);
    node.inode = change.before;
    if (node.inode.home == Home::blob) note_part_of_change(node);
    return built;
  }
  if (change.new_blob && node.unlinked) {
    node.let_go_of_content();
  }
  return {};
}

}  // namespace cffs
