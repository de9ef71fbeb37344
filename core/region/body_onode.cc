// What of a body goes to its onode: every change to the live sector, a commit to a durable one, its end to both.
#include <algorithm>
#include <array>
#include <utility>

#include "core/region/body.h"

namespace cffs::region {

void Body::free(std::vector<Run> runs) {
  auto& to = may_be_durable_ ? freed_ : given_up_;
  if (&to == &freed_)
    for (const Run& run : runs) shared_->freed += run.count;
  to.insert(to.end(), runs.begin(), runs.end());
}

// Level and entries; the name and the size are set.
Status Body::fill(Onode& onode, std::vector<Run>& unneeded) {
  onode.name = name_;
  onode.size = size_;
  const Mapping::Medium medium{shared_->geometry, id_,
                               [this]() -> std::optional<std::uint64_t> {
                                 Allocation::Wish wish;
                                 wish.who = &mapping_;
                                 wish.near = shared_->geometry.first_block(id_.region) + 1;
                                 wish.metadata = true;
                                 const auto run = shared_->allocation.take(wish);
                                 return run ? std::optional(run->block) : std::nullopt;
                               },
                               [this](std::uint64_t block, const std::string& bytes) {
                                 return shared_->device.write(block * kBlock, as_bytes(bytes));
                               }};
  std::vector<Run> freed;
  const Status stored = mapping_.store(medium, onode, freed, unneeded);
  freed_.insert(freed_.end(), freed.begin(), freed.end());
  shared_->freed += freed.size();
  return stored;
}

Status Body::begin_change() {
  if (is_block_known_ || removed_) return {};  // one that is gone has a tombstone there, which is to stay
  const Geometry& g = shared_->geometry;
  std::array<std::string, 2> sectors;
  if (durable_sector_ == kLiveSector) {
    // Nobody has it: what an earlier object left there must not come back, whichever of these sectors survive.
    Onode nobody;
    nobody.version = shared_->allocation.next_version();
    nobody.is_free = true;
    sectors[0] = sectors[1] = encode(nobody, g, id_);
  } else {
    // As the checkpoint said, and the same bytes as before.
    Onode durable;
    std::vector<Run> unneeded;
    CFFS_TRY_VOID(fill(durable, unneeded));
    durable.version = durable_version_;
    sectors[durable_sector_] = encode(durable, g, id_);
  }
  std::string block;
  for (std::string& sector : sectors) {
    sector.resize(kSectorBytes, '\0');
    block += sector;
  }
  block.resize(kBlock, '\0');
  CFFS_TRY_VOID(shared_->device.write(onode_offset(g, id_, 0), as_bytes(block)));
  is_block_known_ = true;
  return {};
}

Status Body::write_live() {
  if (removed_) {  // its live sector says that it is gone
    shared_->allocation.give(std::exchange(given_up_, {}));
    return {};
  }
  live_is_behind_ = true;
  Onode onode;
  onode.version = shared_->allocation.next_version();
  onode.epoch = shared_->epoch.mark();
  std::vector<Run> unneeded;
  const Status filled = fill(onode, unneeded);
  given_up_.insert(given_up_.end(), unneeded.begin(), unneeded.end());
  if (!filled) return filled;
  CFFS_TRY_VOID(shared_->device.write(onode_offset(shared_->geometry, id_, kLiveSector),
                                      as_bytes(encode(onode, shared_->geometry, id_))));
  live_version_ = onode.version;
  live_is_behind_ = false;
  mapping_.now_live();
  shared_->allocation.give(std::exchange(given_up_, {}));
  return {};
}

Status Body::be_called(const std::string& name) {
  CFFS_TRY_VOID(writable());
  const WriteLock guard(mutex_);
  CFFS_TRY_VOID(begin_change());
  const std::string before = std::exchange(name_, name);
  Status done = write_live();
  if (!done) name_ = before;
  return done;
}

Status Body::write_removal() {
  CFFS_TRY_VOID(begin_change());
  Onode gone;
  gone.version = shared_->allocation.next_version();
  gone.epoch = shared_->epoch.mark();
  gone.is_free = true;
  CFFS_TRY_VOID(shared_->device.write(onode_offset(shared_->geometry, id_, kLiveSector),
                                      as_bytes(encode(gone, shared_->geometry, id_))));
  live_version_ = gone.version;
  return {};
}

Status Body::remove() {
  CFFS_TRY_VOID(writable());
  const WriteLock guard(mutex_);
  CFFS_TRY_VOID(write_removal());
  removed_ = true;
  return {};
}

void Body::be_replaced() {
  const WriteLock guard(mutex_);
  if (!write_removal()) may_be_durable_ = true;
  removed_ = true;
}

bool Body::is_removed() const {
  const ReadLock guard(mutex_);
  return removed_;
}

bool Body::may_be_durable() const {
  const ReadLock guard(mutex_);
  return may_be_durable_;
}

bool Body::needs_commit() const {
  const ReadLock guard(mutex_);
  return !removed_ && (live_is_behind_ || live_version_ != durable_version_);
}

bool Body::has_freed() const {
  const ReadLock guard(mutex_);
  return !freed_.empty();
}

Result<Body::Commit> Body::begin_commit() {
  const WriteLock guard(mutex_);
  Commit commit;
  if (removed_) return commit;
  if (live_is_behind_) CFFS_TRY_VOID(write_live());
  const bool changed = live_version_ != durable_version_;
  Onode onode;
  if (changed) {  // before anything is taken out of the body: it may fail
    std::vector<Run> unneeded;
    const Status filled = fill(onode, unneeded);
    given_up_.insert(given_up_.end(), unneeded.begin(), unneeded.end());
    CFFS_TRY_VOID(filled);
  }
  {
    const MutexLock dirty(dirty_mutex_);
    commit.dirty_from = std::exchange(dirty_from_, ~std::uint64_t{0});
    commit.dirty_to = std::exchange(dirty_to_, 0);
  }
  if (commit.dirty_from < commit.dirty_to)
    commit.ranges = ranges_locked(commit.dirty_from, commit.dirty_to - commit.dirty_from);
  if (!changed) return commit;
  onode.version = live_version_;
  commit.nodes = mapping_.freeze();
  for (const std::uint64_t block : commit.nodes) commit.ranges.push_back({block * kBlock, kBlock});
  commit.sector_number = durable_sector_ == 0 ? 1 : 0;
  commit.sector = encode(onode, shared_->geometry, id_);
  commit.sector_offset = onode_offset(shared_->geometry, id_, commit.sector_number);
  commit.version = onode.version;
  commit.freed = std::exchange(freed_, {});
  may_be_durable_ = true;
  return commit;
}

void Body::give_up_commit(const Commit& commit) {
  const WriteLock guard(mutex_);
  {
    const MutexLock dirty(dirty_mutex_);
    dirty_from_ = std::min(dirty_from_, commit.dirty_from);
    dirty_to_ = std::max(dirty_to_, commit.dirty_to);
  }
  mapping_.unflushed(commit.nodes);
  freed_.insert(freed_.end(), commit.freed.begin(), commit.freed.end());
}

void Body::end_commit(Commit commit) {
  if (commit.sector.empty()) return;
  const WriteLock guard(mutex_);
  durable_sector_ = commit.sector_number;
  durable_version_ = commit.version;
  for (const Run& run : commit.freed) shared_->freed -= run.count;
  shared_->allocation.give(commit.freed);
}

std::pair<std::uint64_t, std::string> Body::tombstone() {
  const WriteLock guard(mutex_);
  Onode gone;
  gone.version = live_version_ = shared_->allocation.next_version();
  gone.is_free = true;
  const std::string sector = encode(gone, shared_->geometry, id_);
  return {onode_offset(shared_->geometry, id_, 0), sector + sector};
}

void Body::release() {
  const WriteLock guard(mutex_);
  if (std::exchange(released_, true)) return;
  shared_->allocation.drop_spare(this);
  std::vector<Run> runs = mapping_.all_runs();
  for (const Run& run : freed_) shared_->freed -= run.count;
  for (const std::vector<Run>& more :
       {mapping_.node_runs(), std::exchange(freed_, {}), std::exchange(given_up_, {})})
    runs.insert(runs.end(), more.begin(), more.end());
  mapping_ = {};
  size_ = 0;
  shared_->allocation.give(runs);
  shared_->allocation.give(id_);
}

Result<Body::Found> Body::found() {
  const WriteLock guard(mutex_);
  Found found;
  found.id = id_;
  std::vector<Run> unneeded;
  CFFS_TRY_VOID(fill(found.onode, unneeded));
  found.onode.version = live_version_;
  found.durable_sector = durable_sector_;
  found.durable_version = durable_version_;
  return found;
}

}  // namespace cffs::region
