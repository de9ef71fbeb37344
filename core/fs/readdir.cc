// readdir: one range scan that yields names and attributes (TableFS §3.2).
//
// Cookies are made from the names' hashes, so they stay valid while entries come and go: an entry that stays is delivered
// exactly once by a listing, however many others are made or removed meanwhile.
//   1 "."   2 ".."   else ((hash >> 9) + 1) << 7 | n, for the n-th entry (from 0) with the same hash >> 9
#include <algorithm>

#include "core/base/within_memory.h"
#include "core/fs/engine.h"

namespace cffs {
namespace {

constexpr std::uint64_t kDot = 1;
constexpr std::uint64_t kDotDot = 2;
constexpr unsigned kDropped = 9;  // low bits of the hash that a cookie does not carry
constexpr unsigned kOrdinal = 7;  // bits for entries that agree in the others

}  // namespace

// One call of readdir.
class Engine::Listing {
  // The cookies of a scan's entries, in order.
  class Cookies {
   public:
    std::uint64_t next(std::uint64_t hash) {
      const std::uint64_t base = (hash >> kDropped) + 1;
      if (base != base_) {
        base_ = base;
        ordinal_ = 0;
      }
      return base << kOrdinal | std::min<std::uint64_t>(ordinal_++, (1u << kOrdinal) - 1);
    }
    // The hash from which a scan must go on to meet everything after the cookie.
    static std::uint64_t first_hash(std::uint64_t cookie) {
      const std::uint64_t base = cookie >> kOrdinal;
      return base == 0 ? 0 : (base - 1) << kDropped;
    }

   private:
    std::uint64_t base_ = 0;
    std::uint64_t ordinal_ = 0;
  };

 public:
  using Visit = std::function<bool(const DirectoryEntry&)>;
  Listing(Engine& engine, const NodePtr& directory, const Visit& visit)
      : e_(engine), directory_(directory), visit_(visit), epoch_(engine.locks_.epoch()) {}

  // False: the visitor has enough.
  bool dots(std::uint64_t& cookie) const {
    if (cookie >= kDotDot) return true;
    Attributes own, up;
    {
      const ReadLock guard(directory_->mutex);
      own = attributes_of(directory_->inode);
      up.ino = directory_->parent ? directory_->parent->ino : directory_->ino;
      up.mode = S_IFDIR;
    }
    if (cookie < kDot && !visit_({".", kDot, own})) return false;
    cookie = kDotDot;
    return visit_({"..", kDotDot, up});
  }

  // Whether the visitor has all.
  Result<bool> entries(std::uint64_t cookie, bool refer, std::optional<ListedEntries::Listed>& counted) {
    Cookies cookies;
    bool all = true;
    Status problem;
    const auto on_row = [&](Key key, const Row& row) {
      for (const Entry& entry : row.entries) {
        const std::uint64_t at = cookies.next(key.lower);
        if (at <= cookie) continue;
        const auto more = refer ? deliver_referred(key, row, entry, at) : deliver(key, entry, at);
        if (!more) problem = fail(more.error());
        if (!more || !*more) return all = false;
        if (counted) {  // also what has gone since the snapshot, and what leads nowhere: the rows have it
          counted->seen += 1;
          counted->cookie = at;
        }
      }
      return true;
    };
    CFFS_TRY_VOID(e_.table_->scan_directory(directory_->ino, Cookies::first_hash(cookie), on_row));
    if (!problem) return fail(problem.error());
    return all;
  }

 private:
  // Each returns whether the visitor wants more.
  Result<bool> deliver(Key key, const Entry& entry, std::uint64_t cookie) const {
    CFFS_TRY(const auto attributes, look_now(key, entry));
    if (!attributes) return true;  // gone since the snapshot
    return visit_({entry.name, cookie, *attributes});
  }

  Result<bool> deliver_referred(Key key, const Row& row, const Entry& entry, std::uint64_t cookie) {
    CFFS_TRY(const auto attributes, refer_now(key, row, entry));
    if (!attributes) return true;  // gone since the snapshot
    // What is not delivered is not referred to; nor where memory ends in the visitor.
    const auto more = within_memory([&]() -> Result<bool> {
      return visit_({entry.name, cookie, *attributes});
    });
    if (!more || !*more) e_.forget(attributes->ino, 1);
    return more;
  }

  using Referred = std::optional<Attributes>;
  // Without a node the row is the truth; not the one that the scan saw, if a node has gone to sleep since and left its times there.
  Result<Referred> look_now(Key key, const Entry& entry) const {
    if (const NodePtr live = e_.nodes_.find(entry.ino)) {
      const ReadLock guard(live->mutex);
      return Referred(attributes_of(live->inode));
    }
    InodeId linked = entry.ino;
    if (entry.inode) {
      const RowLocks::SharedGuard guard(e_.locks_, key);
      if (!guard.changed_since(epoch_)) return Referred(attributes_of(*entry.inode));
      CFFS_TRY(const Row fresh, e_.table_->get_row(key));
      const Entry* now_there = fresh.find(entry.name);
      if (now_there == nullptr) return Referred();
      if (now_there->inode) return Referred(attributes_of(*now_there->inode));
      linked = now_there->ino;
    }
    const auto inode = e_.rows_.linked_inode(linked);
    if (!inode && inode.error().errno_value == ESTALE) return Referred();
    if (!inode) return fail(inode.error());
    return Referred(attributes_of(*inode));
  }
  Result<Referred> refer(const Inode& inode, Key key, bool row_alone, std::string_view name)
      CFFS_REQUIRES_SHARED(row_stripes) {
    CFFS_TRY(const NodePtr node, e_.rows_.refer(inode, key, row_alone, directory_, name));
    CFFS_TRY(const Attributes attributes, e_.attributes_at(node, key, name));
    return Referred(attributes);
  }

  // The entry's inode, with a reference: of the row that the scan saw, or, where that was written since, of what is there
  // now. None: the name is gone.
  Result<Referred> refer_now(Key key, const Row& row, const Entry& entry) {
    if (entry.inode) {
      const RowLocks::SharedGuard guard(e_.locks_, key);
      if (!guard.changed_since(epoch_)) {
        return refer(*entry.inode, key, row.entries.size() == 1, entry.name);
      }
      CFFS_TRY(const Row fresh, e_.table_->get_row(key));
      const Entry* now_there = fresh.find(entry.name);
      if (now_there == nullptr) return Referred();
      if (now_there->inode) {
        return refer(*now_there->inode, key, fresh.entries.size() == 1, entry.name);
      }
    }
    const auto found = e_.lookup(directory_->ino, entry.name);  // a hard link, or one since the snapshot
    if (!found && found.error().errno_value == ENOENT) return Referred();
    if (!found) return fail(found.error());
    return Referred(*found);
  }

  Engine& e_;
  const NodePtr& directory_;
  const Visit& visit_;
  // Before the scan's snapshot: a row whose stripe is older than this is still what the scan saw.
  const std::uint64_t epoch_;
};

Status Engine::readdir(InodeId ino, std::uint64_t cookie, bool refer,
                       const std::function<bool(const DirectoryEntry&)>& visit) {
  CFFS_TRY(const NodePtr self, rows_.directory(ino));
  auto listed = listed_.begin(self, cookie);
  Listing listing(*this, self, visit);
  if (!listing.dots(cookie)) return {};
  if (listed) listed->cookie = cookie;
  CFFS_TRY(const bool all, listing.entries(cookie, refer, listed));
  if (listed && all) ListedEntries::finish(*listed);
  if (listed && !all) listed_.pause(std::move(*listed));
  return {};
}

}  // namespace cffs
