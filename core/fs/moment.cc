#include "core/fs/moment.h"

#include "core/base/undisturbed.h"
#include "core/fs/engine.h"
#include "core/fs/long_parts.h"
#include "core/fs/removals.h"
#include "core/object/blocking_section.h"

namespace cffs {

void MomentHold::enter() {
  announce_blocking();  // what has to be kept is written somewhere first
  const MutexLock guard(gate_);
  while (closed_) gate_changed_.wait(gate_);
  ++inside_;
}

void MomentHold::leave() {
  const MutexLock guard(gate_);
  if (--inside_ == 0) gate_changed_.notify_all();
}

void MomentHold::Passage::keep(InodeId ino, const std::shared_ptr<Object>& object, std::uint64_t size,
                               std::uint64_t offset, std::uint64_t length) {
  if (BlobKeeper* const followers = hold_.followers_keeper_.load(std::memory_order_acquire)) {
    followers->keep(ino, object, size, offset, length);
  }
  BlobKeeper* const keeper = hold_.keeper_.load(std::memory_order_acquire);
  if (keeper == nullptr || ino.value >= hold_.first_new_.load(std::memory_order_relaxed)) return;
  {
    const MutexLock guard(hold_.objects_);
    if (hold_.anew_.contains(ino)) return;
  }
  keeper->keep(ino, object, size, offset, length);
}

std::string MomentHold::held_name(const PendingRemoval& object) {
  std::string name(kFolder);
  name += '/';
  name += object_name(object);
  return name;
}

Result<bool> MomentHold::set_aside(const PendingRemoval& object) {
  if (!watched()) return false;
  const MutexLock guard(objects_);
  if (!taken_ || full_.load() || let_go_.contains(object) || aside_.contains(object)) return false;
  const Status moved = store_.rename(object_name(object), held_name(object));
  if (!moved && moved.error().errno_value == ENOENT) return false;
  if (!moved) return fail(moved.error());
  aside_.insert(object);
  return true;
}

void MomentHold::made_anew(InodeId ino) {
  if (!watched()) return;
  const MutexLock guard(objects_);
  if (taken_) anew_.insert(ino);
}

bool MomentHold::give_up() {
  if (!watched()) return false;
  const MutexLock guard(objects_);
  if (aside_.empty()) return false;
  full_.store(true);
  remove_held();
  return true;
}

void MomentHold::remove_held() {
  for (const PendingRemoval& object : aside_) (void)store_.remove(held_name(object));
  aside_.clear();
}

// What the medium would not remove when an earlier moment ended.
void MomentHold::remove_left() {
  const auto left = store_.list(kFolder);
  if (!left) return;
  for (const std::string& name : *left) (void)store_.remove(name);
}

Status MomentHold::begin() {
  {
    const MutexLock guard(gate_);
    if (begun_) return fail(EBUSY, "a backup is under way");
    begun_ = true;
    full_.store(false);
    watched_.store(true);
  }
  remove_left();  // nothing is moved aside before take()
  return {};
}

void MomentHold::close() {
  const MutexLock guard(gate_);
  while (closed_) gate_changed_.wait(gate_);  // a checkpoint is being cut, or a backup begins
  closed_ = true;
  while (inside_ > 0) gate_changed_.wait(gate_);
}

// Who stopped naming an object did so before it goes, and who has an earlier blob of a file go before a new one is made: so in the
// order that this mutex makes, an object that goes before the snapshot is not in it, and one that goes later may be.
void MomentHold::take(const std::function<void()>& snapshot) {
  const MutexLock guard(objects_);
  snapshot();
  taken_ = true;
}

void MomentHold::ask_for_followers(BlobKeeper* keeper) {
  const MutexLock guard(gate_);
  followers_keeper_.store(keeper, std::memory_order_release);
  watched_.store(begun_ || keeper != nullptr);
}

void MomentHold::reopen() {
  const MutexLock guard(gate_);
  closed_ = false;
  gate_changed_.notify_all();
}

void MomentHold::open(BlobKeeper* keeper, std::uint64_t first_new_number) {
  const MutexLock guard(gate_);
  first_new_.store(first_new_number, std::memory_order_relaxed);
  keeper_.store(keeper, std::memory_order_release);
  closed_ = false;
  gate_changed_.notify_all();
}

void MomentHold::end() {
  close();
  open(nullptr, 0);
  {
    const MutexLock guard(objects_);
    taken_ = false;
    remove_held();
    let_go_.clear();
    anew_.clear();
  }
  const MutexLock guard(gate_);
  begun_ = false;
  watched_.store(followers_keeper_.load(std::memory_order_relaxed) != nullptr);
}

Result<std::shared_ptr<Object>> MomentHold::open_object(const PendingRemoval& object) {
  const MutexLock guard(objects_);
  return store_.open(aside_.contains(object) ? held_name(object) : object_name(object));
}

void MomentHold::let_go(const PendingRemoval& object) {
  const MutexLock guard(objects_);
  let_go_.insert(object);
  if (aside_.erase(object) > 0) (void)store_.remove(held_name(object));
}

Status MomentHold::good() const {
  if (!full_.load()) return {};
  return fail(
      ENOSPC,
      "the medium is full, and the room of what was removed meanwhile had to be given back to its users");
}

// A moment of the engine's.
class HeldMoment final : public Moment {
 public:
  HeldMoment(MomentHold& hold, std::unique_ptr<TableSnapshot> rows, std::unordered_map<InodeId, Inode> newer,
             std::int64_t at_ns, std::int64_t paused_us)
      : hold_(hold), rows_(std::move(rows)), newer_(std::move(newer)), at_ns_(at_ns), paused_us_(paused_us) {}
  ~HeldMoment() override { hold_.end(); }

  const TableSnapshot& rows() const override { return *rows_; }
  // Of one whose row could not be written. A row that was written after that, and before the snapshot, is the newer one.
  void complete(Inode& inode) const override {
    const auto it = newer_.find(inode.ino);
    if (it == newer_.end()) return;
    const Inode& node = it->second;
    if (node.version > inode.version && node.home == inode.home) {
      Inode whole = node;
      take_long_parts(whole, inode);
      inode = std::move(whole);
      return;
    }
    if (node.version < inode.version || node.ctime_ns < inode.ctime_ns) return;
    inode.mtime_ns = node.mtime_ns;
    inode.ctime_ns = node.ctime_ns;
    inode.atime_ns = node.atime_ns;
    inode.allocated = node.allocated;
  }
  Result<std::shared_ptr<Object>> open(const PendingRemoval& object) override {
    return hold_.open_object(object);
  }
  void let_go(const PendingRemoval& object) override { hold_.let_go(object); }
  Status good() const override { return hold_.good(); }
  std::int64_t at_ns() const override { return at_ns_; }
  std::int64_t paused_us() const override { return paused_us_; }

 private:
  MomentHold& hold_;
  const std::unique_ptr<TableSnapshot> rows_;
  const std::unordered_map<InodeId, Inode> newer_;
  const std::int64_t at_ns_;
  const std::int64_t paused_us_;
};

std::unordered_map<InodeId, Inode> Engine::unsettled() {
  std::unordered_map<InodeId, Inode> nodes;
  for (const InodeId ino : rows_.stale()) {
    const NodePtr node = nodes_.find(ino);
    if (!node) continue;
    const ReadLock guard(node->mutex);
    if (node->row_stale) nodes.emplace(ino, node->inode);
  }
  return nodes;
}

// Once every node's lock was had, whoever changes a blob has seen that it must pass; a node that is made later is made by somebody
// who has seen it. Then the gate is closed, for as long as it takes those who are inside to end, to write the rows that are
// behind their nodes, few since they were written just before, and to take the snapshot. Who cannot have its row written, as after a
// failed sync, is remembered.
Result<std::unique_ptr<Moment>> Engine::hold_moment(BlobKeeper& keeper) {
  const Undisturbed or_the_gate_would_stay_closed;
  CFFS_TRY_VOID(moments_.begin());
  nodes_.visit([](const Node& node) {
    if (S_ISREG(node.type)) const ReadLock had(node.mutex);
  });
  {
    const MutexLock no_commit_meanwhile(settling_);
    (void)settle_rows();
  }
  using Steady = std::chrono::steady_clock;
  const auto began = Steady::now();
  moments_.close();
  std::unordered_map<InodeId, Inode> newer;
  std::unique_ptr<TableSnapshot> rows;
  {
    // A commit takes the list first, and writes the rows after that.
    const MutexLock no_commit_meanwhile(settling_);
    if (!settle_rows()) newer = unsettled();
    moments_.take([&] { rows = table_->snapshot(); });
  }
  const std::int64_t at_ns = now();
  moments_.open(&keeper, counter_.peek());
  const auto paused = std::chrono::duration_cast<std::chrono::microseconds>(Steady::now() - began);
  return std::unique_ptr<Moment>(
      std::make_unique<HeldMoment>(moments_, std::move(rows), std::move(newer), at_ns, paused.count()));
}

}  // namespace cffs
