#include "core/region/regions.h"

#include <algorithm>
#include <iterator>

#include "core/region/bits.h"

namespace cffs::region {
namespace {

constexpr std::uint32_t kOnodesAhead = 64;  // a head says that so many more are begun

std::vector<std::uint64_t> bits_for(std::uint64_t count) {
  return std::vector<std::uint64_t>((count + 63) / 64);
}

}  // namespace

Regions::Regions(const Geometry& geometry) : geometry_(geometry), regions_(geometry.regions) {
  for (std::uint64_t region = 0; region < geometry.regions; ++region) unused_.insert(unused_.end(), region);
  free_blocks_ = geometry.regions * data_blocks(RegionKind::unused);
}

std::uint64_t Regions::onodes_in(RegionKind kind) const {
  return kind == RegionKind::onodes ? geometry_.onodes_in_onode_region() : geometry_.onodes;
}

std::uint64_t Regions::data_begin(RegionKind kind) const {
  if (kind == RegionKind::onodes) return geometry_.region_blocks;
  // The same for both, so that a region without a kind holds what it will hold whatever it becomes.
  return (geometry_.table_blocks() + geometry_.large_blocks - 1) / geometry_.large_blocks *
         geometry_.large_blocks;
}

std::uint64_t Regions::data_blocks(RegionKind kind) const {
  return geometry_.region_blocks - data_begin(kind);
}

void Regions::changed(std::uint64_t region) {
  regions_[region].head.version += 1;
  changed_.insert(region);
  undurable_.insert(region);
}

void Regions::begin(std::uint64_t number, RegionKind kind) {
  Region& region = regions_[number];
  unused_.erase(number);
  region.head.kind = kind;
  // What was begun once stays so: its onodes say themselves that they are free.
  region.head.onodes_begun =
      std::min<std::uint32_t>(region.head.onodes_begun, static_cast<std::uint32_t>(onodes_in(kind)));
  region.used = bits_for(geometry_.region_blocks);
  region.onodes_used = bits_for(onodes_in(kind));
  region.free_blocks = region.longest = static_cast<std::uint32_t>(data_blocks(kind));
  region.free_onodes = static_cast<std::uint32_t>(onodes_in(kind));
  region.longest_is_known = false;
  region.next = static_cast<std::uint32_t>(data_begin(kind));
  for (std::uint64_t block = 0; block < data_begin(kind); ++block) set(region.used, block);
  free_onodes_ += region.free_onodes;
  if (kind == RegionKind::onodes) free_blocks_ -= data_blocks(RegionKind::unused);
  note_room(number);
}

bool Regions::begin_anew(std::uint64_t number, RegionKind kind) {
  if (!has_room_below(number)) return false;
  begin(number, kind);
  regions_[number].head.since = now_;
  changed(number);
  return true;
}

void Regions::end_empty() {
  for (std::uint64_t region = 0; region < regions_.size(); ++region) end_if_empty(region);
}

void Regions::end_if_empty(std::uint64_t number) {
  Region& region = regions_[number];
  const RegionKind kind = region.head.kind;
  if (kind == RegionKind::unused || region.free_blocks != data_blocks(kind) ||
      region.free_onodes != onodes_in(kind))
    return;
  free_onodes_ -= region.free_onodes;
  if (kind == RegionKind::onodes) free_blocks_ += data_blocks(RegionKind::unused);
  with_room_[index(kind)].erase(number);
  with_onodes_.erase(number);
  const bool withheld = withheld_.contains(number);
  if (withheld) withheld_blocks_ -= region.free_blocks;
  if (provide_ && !provided_[number]) ++unprovided_;
  region.head.kind = RegionKind::
      unused;  // the next kind says so on the medium; until then it is an empty region of this one
  region.used.clear();
  region.onodes_used.clear();
  region.free_blocks = region.free_onodes = 0;
  if (!withheld) unused_.insert(number);
}

void Regions::note_room(std::uint64_t number) {
  const Region& region = regions_[number];
  const bool withheld = withheld_.contains(number);
  if (region.free_blocks > 0 && !withheld && !closed_.contains(number))
    with_room_[index(region.head.kind)].insert(number);
  else
    with_room_[index(region.head.kind)].erase(number);
  if (region.free_onodes > 0 && !withheld)
    with_onodes_.insert(number);
  else
    with_onodes_.erase(number);
}

void Regions::restore_head(std::uint64_t number, const RegionHead& head, unsigned copy) {
  Region& region = regions_[number];
  region.head = region.durable = head;
  region.durable_copy = copy;
  if (head.kind != RegionKind::unused) begin(number, head.kind);
}

bool Regions::claim(Run run) {
  if (run.block < kHeadBlocks || run.count == 0) return false;
  const std::uint64_t number = geometry_.region_of(run.block),
                      from = run.block - geometry_.first_block(number);
  if (number >= geometry_.regions) return false;
  Region& region = regions_[number];
  if (region.head.kind == RegionKind::unused || region.head.kind == RegionKind::onodes) return false;
  if (from < data_begin(region.head.kind) || from + run.count > geometry_.region_blocks) return false;
  if (next_set(region.used, from, from + run.count) != from + run.count) return false;
  mark(region, from, run.count);
  note_room(number);
  return true;
}

bool Regions::claim(OnodeId id) {
  if (id.region >= regions_.size()) return false;
  Region& region = regions_[id.region];
  if (region.head.kind == RegionKind::unused || id.index >= onodes_in(region.head.kind) ||
      bit(region.onodes_used, id.index))
    return false;
  set(region.onodes_used, id.index);
  --region.free_onodes;
  --free_onodes_;
  note_room(id.region);
  return true;
}

void Regions::mark(Region& region, std::uint64_t from, std::uint64_t count) {
  for (std::uint64_t block = from; block < from + count; ++block) set(region.used, block);
  region.free_blocks -= static_cast<std::uint32_t>(count);
  region.longest_is_known = false;
  free_blocks_ -= count;
}

void Regions::open(std::uint64_t number) {
  closed_.erase(number);
  if (regions_[number].head.kind != RegionKind::unused) note_room(number);
}

void Regions::give(Run run) {
  const std::uint64_t number = geometry_.region_of(run.block),
                      from = run.block - geometry_.first_block(number);
  Region& region = regions_[number];
  for (std::uint64_t block = from; block < from + run.count; ++block) {
    CFFS_INVARIANT(bit(region.used, block));
    clear(region.used, block);
  }
  region.free_blocks += run.count;
  region.longest = region.free_blocks;
  region.longest_is_known = false;
  free_blocks_ += run.count;
  if (withheld_.contains(number)) withheld_blocks_ += run.count;
  note_room(number);
  end_if_empty(number);
}

std::optional<OnodeId> Regions::take_onode(std::uint64_t near, bool must) {
  return while_withheld([&] { return an_onode(near, must); });
}

std::optional<OnodeId> Regions::an_onode(std::uint64_t near, bool must) {
  // While there is a region to be had: a full table must not be what ends creation on a medium with room.
  if (free_onodes_ <= kOnodesKept) {
    if (const auto region = nearest(unused_, 0)) (void)begin_anew(*region, RegionKind::onodes);
  }
  if (!must && free_onodes_ <= kOnodesKept) return std::nullopt;
  const auto region = nearest(with_onodes_, near >= kHeadBlocks ? geometry_.region_of(near) : 0);
  if (!region || !has_room_below(*region)) return std::nullopt;
  Region& r = regions_[*region];
  const std::uint64_t at = next_clear(r.onodes_used, 0, onodes_in(r.head.kind));
  set(r.onodes_used, at);
  --r.free_onodes;
  --free_onodes_;
  note_room(*region);
  if (at >= r.head.onodes_begun) {
    const std::uint64_t begun = std::min<std::uint64_t>(onodes_in(r.head.kind), at + kOnodesAhead);
    r.head.onodes_begun = static_cast<std::uint32_t>(begun);
    changed(*region);
  }
  return OnodeId{static_cast<std::uint32_t>(*region), static_cast<std::uint32_t>(at)};
}

void Regions::give(OnodeId id) {
  Region& region = regions_[id.region];
  CFFS_INVARIANT(bit(region.onodes_used, id.index));
  clear(region.onodes_used, id.index);
  ++region.free_onodes;
  ++free_onodes_;
  note_room(id.region);
  end_if_empty(id.region);
}

std::vector<Regions::Head> Regions::changed_heads() const {
  std::vector<Head> heads;
  for (const std::uint64_t number : changed_) {
    const Region& region = regions_[number];
    if (region.head.kind == RegionKind::unused) continue;  // empty again before anybody needed to know
    Head head{number, {region.head, region.head}};
    head.sectors[region.durable_copy] = region.durable;
    heads.push_back(head);
  }
  return heads;
}

std::vector<std::uint64_t> Regions::undurable() const {
  std::vector<std::uint64_t> written;
  std::set_difference(undurable_.begin(), undurable_.end(), changed_.begin(), changed_.end(),
                      std::back_inserter(written));
  return written;
}

void Regions::durable(std::uint64_t number, std::uint64_t version) {
  Region& region = regions_[number];
  if (region.head.version != version || undurable_.erase(number) == 0) return;
  region.durable = region.head;
  region.durable_copy = 1 - region.durable_copy;
}

// --- room below, on a device that may have less than it says: an image with holes

void Regions::provided_by(Provide provide) {
  provide_ = std::move(provide);
  provided_.assign(regions_.size(), false);
  had_room_.resize(regions_.size());
  for (std::size_t i = 0; i < regions_.size(); ++i) had_room_[i] = regions_[i].head.version > 0;
  unprovided_ = unused_.size();
}

bool Regions::has_room_below(std::uint64_t number) {
  if (!provide_ || provided_[number]) return true;
  const bool empty = regions_[number].head.kind == RegionKind::unused;
  if (!provide_(number, empty)) {
    withhold(number);
    return false;
  }
  provided_[number] = had_room_[number] = true;
  if (empty) --unprovided_;
  return true;
}

// All regions are as large: where there is no room for one that never had any there is none for the others.
void Regions::withhold(std::uint64_t number) {
  if (regions_[number].head.kind == RegionKind::unused && had_room_[number]) {
    withheld_.insert(number);
    unused_.erase(number);
    return;
  }
  if (regions_[number].head.kind != RegionKind::unused) {
    withheld_.insert(number);
    withheld_blocks_ += regions_[number].free_blocks;
    note_room(number);
    return;
  }
  std::erase_if(unused_, [this](std::uint64_t region) {
    const bool goes = !provided_[region] && !had_room_[region];
    if (goes) withheld_.insert(region);
    return goes;
  });
}

bool Regions::release() {
  if (withheld_.empty()) return false;
  withheld_blocks_ = 0;
  for (const std::uint64_t number : std::exchange(withheld_, {})) {
    if (regions_[number].head.kind == RegionKind::unused)
      unused_.insert(number);
    else
      note_room(number);
  }
  return true;
}

std::optional<std::uint64_t> Regions::first_refused() const {
  const auto found = std::find_if(withheld_.begin(), withheld_.end(), [this](std::uint64_t region) {
    return regions_[region].head.kind == RegionKind::unused;
  });
  return found == withheld_.end() ? std::nullopt : std::optional(*found);
}

void Regions::ask_again() {
  const auto region = first_refused();
  if (!region || !provide_(*region, true)) return;
  provided_[*region] = had_room_[*region] = true;
  --unprovided_;
  (void)release();
}

std::uint64_t Regions::blocks_of_all() const {
  std::uint64_t blocks = 0;
  for (const Region& region : regions_) blocks += data_blocks(region.head.kind);
  return blocks;
}

std::uint64_t Regions::sure_blocks() const { return free_blocks_ - withheld_blocks_ - maybe_blocks(); }

std::vector<std::uint64_t> Regions::idle() const {
  std::vector<std::uint64_t> regions;
  if (!provide_) return regions;
  for (const std::uint64_t region : unused_)
    if (provided_[region]) regions.push_back(region);
  if (!regions.empty() && keeps_last()) regions.erase(regions.begin());
  return regions;
}

void Regions::give_back(std::uint64_t region) {
  provided_[region] = had_room_[region] = false;
  ++unprovided_;
}

Regions::Census Regions::census(RegionKind kind) const {
  Census c;
  for (const Region& region : regions_) {
    if (region.head.kind != kind) continue;
    c.regions += 1;
    c.blocks += data_blocks(kind);
    if (kind == RegionKind::unused) {
      c.free_blocks += data_blocks(kind);
      continue;
    }
    c.free_blocks += region.free_blocks;
    c.onodes += onodes_in(kind) - region.free_onodes;
    for (std::uint64_t at = next_clear(region.used, 0, geometry_.region_blocks); at < geometry_.region_blocks;
         at = next_clear(region.used, next_set(region.used, at, geometry_.region_blocks),
                         geometry_.region_blocks)) {
      c.free_runs += 1;
    }
  }
  return c;
}

}  // namespace cffs::region
