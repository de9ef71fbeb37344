// readdir: one range scan that yields names and attributes (TableFS §3.2).
//
// Cookies are made from the names' hashes, so they stay valid while entries come and go: an entry that stays
// is delivered exactly once by a listing, however many others are made or removed meanwhile.
//   1 "."   2 ".."   else ((hash >> 9) + 1) << 7 | n, for the n-th entry (from 0) with the same hash >> 9
#include <algorithm>

#include "core/fs/file_system.h"

namespace cffs {
namespace {

constexpr std::uint64_t kDot = 1;
constexpr std::uint64_t kDotDot = 2;
constexpr unsigned kDropped = 9;  // low bits of the hash that a cookie does not carry
constexpr unsigned kOrdinal = 7;  // bits for entries that agree in the others

}  // namespace

Status FileSystem::readdir(InodeId ino, std::uint64_t cookie, bool with_references,
                           const std::function<bool(const DirectoryEntry&)>& visit) {
  CFFS_TRY(const NodePtr self, directory(ino));
  if (cookie < kDotDot) {
    Attributes own, up;
    {
      const std::shared_lock guard(self->mutex);
      own = attributes_of(self->inode);
      up.ino = self->parent ? self->parent->ino : self->ino;
      up.mode = S_IFDIR;
    }
    if (cookie < kDot && !visit({".", kDot, own})) return {};
    if (!visit({"..", kDotDot, up})) return {};
    cookie = kDotDot;
  }

  const std::uint64_t resume_base = cookie >> kOrdinal;
  const std::uint64_t first_hash = resume_base == 0 ? 0 : (resume_base - 1) << kDropped;
  std::uint64_t base = 0;
  std::uint64_t ordinal = 0;
  Status problem;
  // Before the scan's snapshot: a row whose stripe is older than this is still what the scan saw.
  const std::uint64_t epoch = locks_.epoch();

  const auto deliver = [&](Key key, const Row& row, const Entry& entry, std::uint64_t at) -> Result<bool> {
    if (!with_references) {
      Attributes attributes;
      if (const NodePtr live = nodes_.find(entry.ino)) {
        const std::shared_lock guard(live->mutex);
        attributes = attributes_of(live->inode);
      } else if (entry.inode) {
        attributes = attributes_of(*entry.inode);
      } else {
        const auto inode = linked_inode(entry.ino);
        if (!inode && inode.error().errno_value == ESTALE) return true;  // gone since the snapshot
        if (!inode) return fail(inode.error());
        attributes = attributes_of(*inode);
      }
      return visit({entry.name, at, attributes});
    }
    NodePtr node;
    if (entry.inode) {
      const RowLocks::SharedGuard guard(locks_, key);
      if (guard.changed_since(epoch)) {
        CFFS_TRY(const Row fresh, table_->get_row(key));
        const Entry* now_there = fresh.find(entry.name);
        if (now_there == nullptr) return true;
        if (now_there->inode) {
          node = refer(*now_there->inode, key, fresh.entries.size() == 1, self, entry.name);
        }
      } else {
        node = refer(*entry.inode, key, row.entries.size() == 1, self, entry.name);
      }
    }
    if (!node) {  // a hard link, or one since the snapshot
      const auto found = lookup(ino, entry.name);
      if (!found && found.error().errno_value == ENOENT) return true;
      if (!found) return fail(found.error());
      node = nodes_.find(found->ino);
    }
    Attributes attributes;
    {
      const std::shared_lock guard(node->mutex);
      attributes = attributes_of(node->inode);
    }
    const InodeId referred = node->ino;
    node.reset();
    const bool more = visit({entry.name, at, attributes});
    if (!more) forget(referred, 1);
    return more;
  };

  CFFS_TRY_VOID(table_->scan(
      Key::entry(ino, first_hash), Key::entry(ino, ~std::uint64_t{0}), [&](Key key, std::string_view value) {
        const auto row = decode_row(value);
        if (!row) {
          problem = fail(row.error());
          return false;
        }
        const std::uint64_t this_base = (key.lower >> kDropped) + 1;
        if (this_base != base) {
          base = this_base;
          ordinal = 0;
        }
        for (const Entry& entry : row->entries) {
          if (entry.name.empty()) continue;  // the root's own row
          const std::uint64_t at =
              base << kOrdinal | std::min<std::uint64_t>(ordinal++, (1u << kOrdinal) - 1);
          if (at <= cookie) continue;
          const auto more = deliver(key, *row, entry, at);
          if (!more) problem = fail(more.error());
          if (!more || !*more) return false;
        }
        return true;
      }));
  return problem;
}

}  // namespace cffs
