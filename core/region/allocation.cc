#include "core/region/allocation.h"

#include <algorithm>

namespace cffs::region {
namespace {

constexpr std::uint64_t kMostAheadInSmall = 256;  // blocks

}  // namespace

Allocation::Allocation(BlockDevice& device, Regions regions) : device_(device), regions_(std::move(regions)) {
  if (!device.room()) return;
  const Geometry g = regions_.geometry();
  regions_.provided_by([&device, g](std::uint64_t region, bool empty) {
    const DeviceRange range = g.bytes_of(region);
    if (device.provide(range)) return true;
    if (empty) device.give_back(range);  // it may have got a part of it
    return false;
  });
}

bool Allocation::says_to_have_room() const {
  const auto room = device_.room();
  return room && *room >= regions_.geometry().region_blocks * kBlock;
}

bool Allocation::may_have_room_again() { return says_to_have_room() && regions_.release(); }

void Allocation::ask_again() {
  const MutexLock guard(mutex_);
  if (says_to_have_room()) regions_.ask_again();
}

void Allocation::give_back_idle(std::size_t kept) {
  const MutexLock guard(mutex_);
  std::vector<std::uint64_t> idle = regions_.idle();
  for (; idle.size() > kept; idle.pop_back()) {
    device_.give_back(regions_.geometry().bytes_of(idle.back()));
    regions_.give_back(idle.back());
  }
}

Status Allocation::write_heads() {
  for (const Regions::Head& head : regions_.changed_heads()) {
    const Geometry& g = regions_.geometry();
    std::string block;
    for (const RegionHead& sector : head.sectors) block += encode(sector, g, head.region);
    block.resize(kBlock, '\0');
    CFFS_TRY_VOID(device_.write(g.first_block(head.region) * kBlock, as_bytes(block)));
    regions_.written(head.region);
  }
  return {};
}

Status Allocation::write_changed_heads() {
  const MutexLock guard(mutex_);
  return write_heads();
}

void Allocation::drop_all_spares() {
  for (const auto& [who, spare] : spares_) regions_.give(spare.run);
  spares_.clear();
}

void Allocation::drop_spare(const void* who) {
  const MutexLock guard(mutex_);
  const auto it = spares_.find(who);
  if (it == spares_.end()) return;
  regions_.give(it->second.run);
  spares_.erase(it);
}

Result<Run> Allocation::take(const Wish& wish) {
  const MutexLock guard(mutex_);
  if (const auto it = spares_.find(wish.who); it != spares_.end()) {
    Spare& spare = it->second;
    if (spare.logical == wish.logical) {
      const Run run{spare.run.block,
                    static_cast<std::uint32_t>(std::min<std::uint64_t>(wish.want, spare.run.count))};
      spare.logical += run.count;
      spare.run.block += run.count;
      spare.run.count -= run.count;
      if (spare.run.count == 0) spares_.erase(it);
      return run;
    }
    if (!wish.metadata) {  // it grew elsewhere
      regions_.give(spare.run);
      spares_.erase(it);
    }
  }
  const std::uint64_t want = std::min<std::uint64_t>(wish.want, kMaxExtent / 2);
  std::optional<Run> run;
  if (wish.large) run = regions_.take_large(want + wish.ahead, wish.near);
  // In small blocks, what is large gets runs that are long, and no more of them at once than a few would be.
  const std::uint64_t ahead = wish.large ? std::min(wish.ahead, kMostAheadInSmall) : wish.ahead;
  if (!run) run = regions_.take_small(want + ahead, wish.near, wish.metadata);
  if (wish.large &&
      (!run || run->count < std::min<std::uint64_t>(want + ahead, regions_.geometry().large_blocks)))
    wants_cleaning_.store(true, std::memory_order_relaxed);
  if (!run && !spares_.empty()) {
    drop_all_spares();
    run = regions_.take_small(want, wish.near, wish.metadata);
  }
  if (!run && may_have_room_again()) run = regions_.take_small(want, wish.near, wish.metadata);
  if (!run) return fail(ENOSPC);
  if (Status done = write_heads(); !done) {
    regions_.give(*run);
    return fail(std::move(done).error());
  }
  last_block_ = run->block;
  if (run->count > want) {
    const auto kept = static_cast<std::uint32_t>(want);
    spares_[wish.who] = {wish.logical + kept, {run->block + kept, run->count - kept}};
    run->count = kept;
  }
  return *run;
}

void Allocation::give(const std::vector<Run>& runs) {
  const MutexLock guard(mutex_);
  for (const Run& run : runs) regions_.give(run);
}

std::optional<Run> Allocation::close_sparsest() {
  const MutexLock guard(mutex_);
  wants_cleaning_.store(false, std::memory_order_relaxed);
  drop_all_spares();
  const auto region = regions_.close_sparsest();
  if (!region) return std::nullopt;
  const Geometry& g = regions_.geometry();
  return Run{g.first_block(*region), static_cast<std::uint32_t>(g.region_blocks)};
}

void Allocation::open(const Run& region) {
  const MutexLock guard(mutex_);
  regions_.open(regions_.geometry().region_of(region.block));
}

Result<OnodeId> Allocation::take_onode(bool must) {
  const MutexLock guard(mutex_);
  auto id = regions_.take_onode(last_block_, must);
  if (!id && !spares_.empty()) {
    drop_all_spares();
    id = regions_.take_onode(last_block_, must);
  }
  if (!id && may_have_room_again()) id = regions_.take_onode(last_block_, must);
  if (!id) return fail(ENOSPC);
  if (Status done = write_heads(); !done) {
    regions_.give(*id);
    return fail(std::move(done).error());
  }
  return *id;
}

void Allocation::give(OnodeId id) {
  const MutexLock guard(mutex_);
  regions_.give(id);
}

std::uint64_t Allocation::next_version() {
  const MutexLock guard(mutex_);
  regions_.now(++version_);
  return version_;
}

std::uint64_t Allocation::version() const {
  const MutexLock guard(mutex_);
  return version_;
}

void Allocation::set_version(std::uint64_t version) {
  const MutexLock guard(mutex_);
  version_ = version;
  regions_.now(version);
}

Allocation::Heads Allocation::undurable_heads() const {
  const MutexLock guard(mutex_);
  Heads heads;
  for (const std::uint64_t region : regions_.undurable()) {
    heads.versions.emplace_back(region, regions_.head(region).version);
    heads.ranges.push_back({regions_.geometry().first_block(region) * kBlock, kBlock});
  }
  return heads;
}

void Allocation::durable(const Heads& heads) {
  const MutexLock guard(mutex_);
  for (const auto& [region, version] : heads.versions) regions_.durable(region, version);
}

std::uint64_t Allocation::free_blocks() const {
  const MutexLock guard(mutex_);
  return free_now();
}

std::uint64_t Allocation::free_now() const {
  std::uint64_t blocks = regions_.sure_blocks();
  for (const auto& [who, spare] : spares_) blocks += spare.run.count;
  return blocks;
}

Allocation::Room Allocation::room() const {
  const MutexLock guard(mutex_);
  return {regions_.blocks_of_all(), free_now(),
          regions_.maybe_blocks(),  regions_.blocks_of_one(),
          regions_.free_onodes(),   regions_.was_refused()};
}

Regions Allocation::regions() const {
  const MutexLock guard(mutex_);
  Regions copy = regions_;
  for (const auto& [who, spare] : spares_) copy.give(spare.run);
  return copy;
}

}  // namespace cffs::region
