#include "core/region/regions.h"

#include <algorithm>
#include <bit>

namespace cffs::region {
namespace {

constexpr std::uint64_t kForMetadata = 32;  // blocks that data leaves
constexpr std::uint32_t kOnodesAhead = 64;  // a head says that so many more are begun

std::size_t index(RegionKind kind) { return static_cast<std::size_t>(kind); }

bool bit(const std::vector<std::uint64_t>& bits, std::uint64_t at) {
  return (bits[at / 64] >> (at % 64) & 1) != 0;
}
void set(std::vector<std::uint64_t>& bits, std::uint64_t at) {
  bits[at / 64] |= std::uint64_t{1} << (at % 64);
}
void clear(std::vector<std::uint64_t>& bits, std::uint64_t at) {
  bits[at / 64] &= ~(std::uint64_t{1} << (at % 64));
}

// The first bit at or after `from` that is not set; `end` if there is none.
std::uint64_t next_clear(const std::vector<std::uint64_t>& bits, std::uint64_t from, std::uint64_t end) {
  while (from < end) {
    const std::uint64_t word = ~bits[from / 64] >> (from % 64);
    if (word != 0) return std::min(end, from + static_cast<std::uint64_t>(std::countr_zero(word)));
    from = (from / 64 + 1) * 64;
  }
  return end;
}

std::uint64_t next_set(const std::vector<std::uint64_t>& bits, std::uint64_t from, std::uint64_t end) {
  while (from < end) {
    const std::uint64_t word = bits[from / 64] >> (from % 64);
    if (word != 0) return std::min(end, from + static_cast<std::uint64_t>(std::countr_zero(word)));
    from = (from / 64 + 1) * 64;
  }
  return end;
}

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
  region.next = static_cast<std::uint32_t>(data_begin(kind));
  for (std::uint64_t block = 0; block < data_begin(kind); ++block) set(region.used, block);
  free_onodes_ += region.free_onodes;
  if (kind == RegionKind::onodes) free_blocks_ -= data_blocks(RegionKind::unused);
  note_room(number);
}

void Regions::begin_anew(std::uint64_t number, RegionKind kind) {
  begin(number, kind);
  regions_[number].head.since = now_;
  changed(number);
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
  region.head.kind = RegionKind::
      unused;  // the next kind says so on the medium; until then it is an empty region of this one
  region.used.clear();
  region.onodes_used.clear();
  region.free_blocks = region.free_onodes = 0;
  unused_.insert(number);
}

void Regions::note_room(std::uint64_t number) {
  const Region& region = regions_[number];
  if (region.free_blocks > 0 && !closed_.contains(number))
    with_room_[index(region.head.kind)].insert(number);
  else
    with_room_[index(region.head.kind)].erase(number);
  if (region.free_onodes > 0)
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
  free_blocks_ -= count;
}

std::optional<std::uint64_t> Regions::nearest(const std::set<std::uint64_t>& regions,
                                              std::uint64_t to) const {
  if (regions.empty()) return std::nullopt;
  const auto after = regions.lower_bound(to);
  if (after == regions.end()) return *regions.rbegin();
  if (after == regions.begin()) return *after;
  const std::uint64_t before = *std::prev(after);
  return to - before < *after - to ? before : *after;
}

std::uint64_t Regions::longest_run(std::uint64_t number) {
  Region& region = regions_[number];
  const std::uint64_t end = geometry_.region_blocks;
  std::uint64_t longest = 0;
  for (std::uint64_t at = next_clear(region.used, data_begin(region.head.kind), end); at < end;) {
    const std::uint64_t until = next_set(region.used, at, end);
    longest = std::max(longest, until - at);
    at = next_clear(region.used, until, end);
  }
  region.longest = static_cast<std::uint32_t>(longest);
  return longest;
}

std::optional<std::uint64_t> Regions::roomiest(const std::set<std::uint64_t>& regions, std::uint64_t to,
                                               std::uint64_t want) {
  constexpr int kLookedAt = 256;
  std::optional<std::uint64_t> best;
  std::uint64_t length = 0;
  auto up = regions.lower_bound(to), down = up;
  for (int i = 0; i < kLookedAt && length < want && (up != regions.end() || down != regions.begin()); ++i) {
    const bool above = down == regions.begin() || (up != regions.end() && *up - to < to - *std::prev(down));
    const std::uint64_t number = above ? *up++ : *--down;
    if (regions_[number].longest <= length) continue;
    if (const std::uint64_t run = longest_run(number); run > length) {
      best = number;
      length = run;
    }
  }
  return best;
}

// The free run behind `from` if there is one, else the first that holds all, else the longest.
std::optional<Run> Regions::take_in(std::uint64_t number, std::uint64_t want, std::uint64_t from) {
  Region& region = regions_[number];
  if (region.free_blocks == 0) return std::nullopt;
  const std::uint64_t end = geometry_.region_blocks, begin = data_begin(region.head.kind);
  std::uint64_t best = end, length = 0;
  const auto look = [&](std::uint64_t at) {
    const std::uint64_t until = std::min(end, next_set(region.used, at, std::min(end, at + want)));
    if (until - at > length) {
      best = at;
      length = until - at;
    }
    return until;
  };
  if (from >= begin && from < end && is_free(region, from)) {
    look(from);
  } else {
    const std::uint64_t start = std::clamp<std::uint64_t>(region.next, begin, end);
    for (std::uint64_t at = next_clear(region.used, start, end); at < end && length < want;
         at = next_clear(region.used, look(at), end)) {
    }
    for (std::uint64_t at = next_clear(region.used, begin, start); at < start && length < want;
         at = next_clear(region.used, look(at), start)) {
    }
  }
  if (length == 0) return std::nullopt;
  mark(region, best, length);
  region.next = static_cast<std::uint32_t>(best + length);
  note_room(number);
  return Run{geometry_.first_block(number) + best, static_cast<std::uint32_t>(length)};
}

std::optional<Run> Regions::take_small(std::uint64_t want, std::uint64_t near, bool metadata) {
  if (!metadata && free_blocks_ <= kForMetadata) return std::nullopt;
  const std::uint64_t last = near >= kHeadBlocks ? geometry_.region_of(near - 1) : 0;
  // The block behind the last one, whatever the region's kind: one run more is what an object pays for everything else.
  if (near > kHeadBlocks && geometry_.region_of(near) == last &&
      regions_[last].head.kind == RegionKind::small && !closed_.contains(last)) {
    const std::uint64_t from = near - geometry_.first_block(last),
                        worth = std::min(geometry_.region_blocks, from + std::min(want, kLongRun));
    const bool follows = next_set(regions_[last].used, from, worth) == worth;
    if (const auto run = follows || want < kLongRun ? take_in(last, want, from) : std::nullopt) return run;
  }
  if (want >= kLongRun) {
    const auto region = roomiest(with_room_[index(RegionKind::small)], last, want);
    if (region && (regions_[*region].longest >= kLongRun || unused_.empty()))
      return take_in(*region, want, 0);
  } else if (const auto region = nearest(with_room_[index(RegionKind::small)], last)) {
    // A region that is nearly full has room in crumbs: one that is unused is better, while there is one.
    const bool crumbs = regions_[*region].free_blocks < std::min(want, kLongRun) && !unused_.empty();
    if (!crumbs) return take_in(*region, want, 0);
  }
  if (const auto region = nearest(unused_, last)) {
    begin_anew(*region, RegionKind::small);
    return take_in(*region, want, 0);
  }
  if (const auto region = nearest(with_room_[index(RegionKind::small)], last))
    return take_in(*region, want, 0);
  if (turn_empty(RegionKind::large, RegionKind::small)) return take_small(want, near, metadata);
  if (const auto region = nearest(with_room_[index(RegionKind::large)], last))
    return take_in(*region, want, 0);
  return std::nullopt;
}

// The first run of that many free large blocks, else the longest.
std::optional<Run> Regions::take_large_in(std::uint64_t number, std::uint64_t units) {
  Region& region = regions_[number];
  const std::uint64_t unit = geometry_.large_blocks, begin = data_begin(RegionKind::large);
  const std::uint64_t count = (geometry_.region_blocks - begin) / unit;
  std::uint64_t best = 0, length = 0, run = 0;
  for (std::uint64_t i = 0; i < count && length < units; ++i) {
    const std::uint64_t at = begin + i * unit;
    run = next_set(region.used, at, at + unit) == at + unit ? run + 1 : 0;
    if (run > length) {
      length = run;
      best = at - (run - 1) * unit;
    }
  }
  if (length == 0) return std::nullopt;
  mark(region, best, length * unit);
  note_room(number);
  return Run{geometry_.first_block(number) + best, static_cast<std::uint32_t>(length * unit)};
}

std::optional<Run> Regions::take_large(std::uint64_t want, std::uint64_t near) {
  const std::uint64_t unit = geometry_.large_blocks,
                      units = std::max<std::uint64_t>(1, (want + unit - 1) / unit);
  if (free_blocks_ < units * unit + kForMetadata) return std::nullopt;
  const std::uint64_t last = near >= kHeadBlocks ? geometry_.region_of(near - 1) : 0;
  const auto& large = with_room_[index(RegionKind::large)];
  // By distance: the nearest with room for all of it, then a region of its own, then the longest run of the nearest.
  std::vector<std::uint64_t> by_distance(large.begin(), large.end());
  std::sort(by_distance.begin(), by_distance.end(), [last](std::uint64_t a, std::uint64_t b) {
    const auto far = [last](std::uint64_t r) { return r > last ? r - last : last - r; };
    return far(a) < far(b);
  });
  const std::uint64_t most = data_blocks(RegionKind::large) / unit;
  for (const std::uint64_t region : by_distance) {
    if (regions_[region].free_blocks < std::min(units, most) * unit) continue;
    const auto run = take_large_in(region, std::min(units, most));
    if (run && run->count >= std::min(units, most) * unit) return run;
    if (run) give(*run);
  }
  if (const auto region = nearest(unused_, last)) {
    begin_anew(*region, RegionKind::large);
    return take_large_in(*region, std::min(units, most));
  }
  if (turn_empty(RegionKind::small, RegionKind::large)) return take_large(want, near);
  for (const std::uint64_t region : by_distance) {
    if (const auto run = take_large_in(region, units)) return run;
  }
  return std::nullopt;
}

bool Regions::turn_empty(RegionKind from, RegionKind to) {
  for (const std::uint64_t number : with_room_[index(from)]) {
    Region& region = regions_[number];
    if (region.free_blocks != data_blocks(from)) continue;
    with_room_[index(from)].erase(number);
    region.head.kind = to;
    region.next = static_cast<std::uint32_t>(data_begin(to));
    changed(number);
    note_room(number);
    return true;
  }
  return false;
}

std::optional<std::uint64_t> Regions::close_sparsest() {
  if (!unused_.empty()) return std::nullopt;
  const std::uint64_t all = data_blocks(RegionKind::small);
  std::uint64_t room = 0;
  std::optional<std::uint64_t> sparsest;
  for (const std::uint64_t number : with_room_[index(RegionKind::small)]) {
    const std::uint64_t free = regions_[number].free_blocks;
    room += free;
    if (!sparsest || free > regions_[*sparsest].free_blocks) sparsest = number;
  }
  if (!sparsest) return std::nullopt;
  const std::uint64_t free = regions_[*sparsest].free_blocks, used = all - free;
  if (used > all / 2 || room - free < used + used / 4 + kForMetadata) return std::nullopt;
  closed_.insert(*sparsest);
  note_room(*sparsest);
  return sparsest;
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
  free_blocks_ += run.count;
  note_room(number);
  end_if_empty(number);
}

std::optional<OnodeId> Regions::take_onode(std::uint64_t near) {
  constexpr std::uint64_t kFew = 16;
  // While there is a region to be had: a full table must not be what ends creation on a medium with room.
  if (free_onodes_ <= kFew) {
    if (const auto region = nearest(unused_, 0)) {
      begin_anew(*region, RegionKind::onodes);
    }
  }
  const auto region = nearest(with_onodes_, near >= kHeadBlocks ? geometry_.region_of(near) : 0);
  if (!region) return std::nullopt;
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

std::vector<Regions::Head> Regions::take_changed() {
  std::vector<Head> heads;
  for (const std::uint64_t number : changed_) {
    Region& region = regions_[number];
    if (region.head.kind == RegionKind::unused) continue;  // empty again before anybody needed to know
    Head written{number, {region.head, region.head}};
    written.sectors[region.durable_copy] = region.durable;
    heads.push_back(written);
  }
  changed_.clear();
  return heads;
}

void Regions::durable(std::uint64_t number, std::uint64_t version) {
  Region& region = regions_[number];
  if (region.head.version != version || undurable_.erase(number) == 0) return;
  region.durable = region.head;
  region.durable_copy = 1 - region.durable_copy;
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
