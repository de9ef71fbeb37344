// How a region store makes things durable, and comes by room that waits for that.
#include <algorithm>
#include <set>
#include <utility>

#include "core/base/undisturbed.h"
#include "core/region/region_store.h"

namespace cffs {

using namespace region;

Status RegionStore::judged(Shared& shared, Status done) {
  int none = 0;
  if (!done && shared.failed.compare_exchange_strong(none, done.error().errno_value))
    end_epoch(shared.device, shared.geometry, shared.epoch);
  return done;
}

Status RegionStore::flush(Shared& shared, std::span<const DeviceRange> ranges) {
  if (const int failed = shared.failed.load(); failed != 0) return fail(failed);
  return judged(shared, shared.device.flush(ranges));
}

namespace {

// Commits of bodies that have begun; those that do not end are given up.
class Begun {
 public:
  explicit Begun(const std::vector<BodyPtr>& bodies) : bodies_(bodies) {}
  ~Begun() {
    for (std::size_t i = 0; i < commits_.size(); ++i) bodies_[i]->give_up_commit(commits_[i]);
  }
  Begun(const Begun&) = delete;
  Begun& operator=(const Begun&) = delete;

  Status begin() {
    for (const BodyPtr& body : bodies_) {
      CFFS_TRY(Body::Commit commit, body->begin_commit());
      commits_.push_back(std::move(commit));
    }
    return {};
  }
  const std::vector<Body::Commit>& commits() const { return commits_; }
  void end() {
    for (std::size_t i = 0; i < commits_.size(); ++i) bodies_[i]->end_commit(std::move(commits_[i]));
    commits_.clear();
  }

 private:
  const std::vector<BodyPtr>& bodies_;
  std::vector<Body::Commit> commits_;
};

}  // namespace

// Bytes, nodes and region heads first, then the onodes: one flush where no onode has changed, two where one has.
Status RegionStore::commit(Shared& shared, std::vector<BodyPtr> bodies) {
  if (const int failed = shared.failed.load(); failed != 0) return fail(failed);
  const Undisturbed whole;  // what has been taken out of a body on the way is in no other place
  std::sort(bodies.begin(), bodies.end());
  bodies.erase(std::unique(bodies.begin(), bodies.end()), bodies.end());
  const CommitTurns<Body>::Turn one_at_a_time(commit_turns_, bodies);
  Begun begun(bodies);
  CFFS_TRY_VOID(begun.begin());
  std::vector<DeviceRange> ranges, sectors;
  for (const Body::Commit& commit : begun.commits()) {
    ranges.insert(ranges.end(), commit.ranges.begin(), commit.ranges.end());
    // The whole onode: a sector of it that somebody else wrote, and no cut took, would be newer than this one.
    if (!commit.sector.empty()) sectors.push_back({commit.sector_offset / kBlock * kBlock, kBlock});
  }
  Allocation::Heads heads;
  if (!sectors.empty()) {
    CFFS_TRY_VOID(
        shared.allocation.write_changed_heads());  // one whose write failed is no head of what lies there
    heads = shared.allocation.undurable_heads();
  }
  ranges.insert(ranges.end(), heads.ranges.begin(), heads.ranges.end());
  if (!ranges.empty()) CFFS_TRY_VOID(flush(shared, ranges));
  shared.allocation.durable(heads);
  for (const Body::Commit& commit : begun.commits()) {
    if (!commit.sector.empty())
      CFFS_TRY_VOID(shared.device.write(commit.sector_offset, as_bytes(commit.sector)));
  }
  if (!sectors.empty()) CFFS_TRY_VOID(flush(shared, sectors));
  begun.end();
  return {};
}

// That an object is gone is durable before its blocks are anybody else's. What took the name of one of these is durable by now.
Status RegionStore::commit_removals(Shared& shared, std::vector<BodyPtr> removed) {
  const MutexLock one_at_a_time(removals_mutex_);
  const Undisturbed whole;
  {
    const MutexLock guard(names_mutex_);
    const std::set<BodyPtr> waiting(removed_.begin(), removed_.end());  // somebody else may have been first
    std::erase_if(removed, [&](const BodyPtr& body) { return !waiting.contains(body); });
  }
  if (removed.empty()) return {};
  std::sort(removed.begin(), removed.end());
  {
    const CommitTurns<Body>::Turn no_commit_beside(commit_turns_, removed);
    std::vector<DeviceRange> sectors;
    for (const BodyPtr& body : removed) {
      if (!body->may_be_durable()) continue;
      const auto [offset, sector] = body->tombstone();
      CFFS_TRY_VOID(shared.device.write(offset, as_bytes(sector)));
      sectors.push_back({offset, sector.size()});
    }
    if (!sectors.empty()) CFFS_TRY_VOID(flush(shared, sectors));
  }
  const MutexLock guard(names_mutex_);
  const std::set<BodyPtr> done(removed.begin(), removed.end());
  std::erase_if(removed_, [&](const BodyPtr& body) { return done.contains(body); });
  removed_bytes_ = 0;
  for (const BodyPtr& body : removed_) removed_bytes_ += body->info().allocated;
  for (const BodyPtr& body : removed)
    if (body->handles.load() == 0) body->release();
  constexpr std::size_t kKept = 1;  // who fills and empties a region by turns need not ask each time
  shared.allocation.give_back_idle(kKept);
  return {};
}

Status RegionStore::sync(Shared& shared, const BodyPtr& body) {
  // Nobody else may ask for it, and what was removed keeps its room till then.
  constexpr std::size_t kManyRemoved = 256;
  constexpr std::uint64_t kMuchRemoved = 64u << 20;
  bool names = false;
  {
    const MutexLock guard(names_mutex_);
    // A name that was given away and is another object's now must not be that one's alone after a power cut.
    names = !renamed_.empty() || removed_.size() >= kManyRemoved || removed_bytes_ >= kMuchRemoved;
  }
  if (names) CFFS_TRY_VOID(sync_names(shared));
  return commit(shared, {body});
}

Status RegionStore::sync_names(Shared& shared) {
  for (;;) {
    // At one moment: of an object that is replaced while the others become durable only the name that is not would be left.
    std::vector<BodyPtr> renamed, removed;
    std::uint64_t last = 0;
    {
      const MutexLock guard(names_mutex_);
      last = renames_;
      for (const Renamed& one : renamed_)
        if (!one.body->is_removed()) renamed.push_back(one.body);
      removed = removed_;
    }
    CFFS_TRY_VOID(commit(shared, renamed));
    {
      const MutexLock guard(names_mutex_);
      std::erase_if(renamed_, [last](const Renamed& one) { return one.number <= last; });
    }
    // One that is gone by now may never have been durable under its name: what it replaced may be all that there is of that.
    const bool is_settled =
        std::none_of(renamed.begin(), renamed.end(), [](const BodyPtr& body) { return body->is_removed(); });
    if (is_settled) return commit_removals(shared, std::move(removed));
  }
}

bool RegionStore::was_given_away(std::string_view name) const {
  return std::any_of(renamed_.begin(), renamed_.end(), [name](const Renamed& one) {
    return one.from == name && one.body->may_be_durable() && !one.body->is_removed();
  });
}

Status RegionStore::sync_names() {
  CFFS_TRY(const auto shared, state(false));
  if (shared->device.is_read_only()) return {};
  return sync_names(*shared);
}

std::vector<BodyPtr> RegionStore::uncommitted() {
  const MutexLock guard(names_mutex_);
  std::vector<BodyPtr> bodies;
  for (const auto& [name, body] : names_)
    if (body->needs_commit()) bodies.push_back(body);
  return bodies;
}

Status RegionStore::sync_everything() {
  CFFS_TRY(const auto shared, state(false));
  if (shared->device.is_read_only()) return {};
  CFFS_TRY_VOID(sync_names(*shared));
  CFFS_TRY_VOID(judged(*shared, shared->device.flush_everything()));
  return commit(*shared, uncommitted());
}

bool RegionStore::make_room(Shared& shared) {
  const std::uint64_t before = shared.allocation.free_blocks();
  if (!sync_names(shared)) return false;
  if (shared.freed.load() > 0) {
    std::vector<BodyPtr> bodies;
    {
      const MutexLock guard(names_mutex_);
      for (const auto& [name, body] : names_)
        if (body->has_freed()) bodies.push_back(body);
    }
    if (!commit(shared, bodies)) {
      // One that finds no room for its nodes, say, must not keep what the others lost from coming free.
      for (const BodyPtr& body : bodies) (void)commit(shared, {body});
    }
  }
  return shared.allocation.free_blocks() > before;
}

void RegionStore::clean(Shared& shared) {
  if (cleaning_.exchange(true)) return;  // one at a time
  clean_one(shared);
  cleaning_.store(false);
}

void RegionStore::clean_one(Shared& shared) {
  // What waits for a commit may be all that is in the way.
  if (shared.failed.load() != 0 || !sync_names(shared)) return;
  const auto region = shared.allocation.close_sparsest();
  if (!region) return;
  std::vector<BodyPtr> bodies, moved;
  {
    const MutexLock guard(names_mutex_);
    for (const auto& [name, body] : names_) bodies.push_back(body);
  }
  for (const BodyPtr& body : bodies) {
    const auto done = body->move_out(*region);
    if (!done || *done) moved.push_back(body);
    if (!done) break;  // no room, or the medium: what has been moved is whole
  }
  (void)commit(shared, std::move(moved));
  shared.allocation.open(*region);
}

}  // namespace cffs
