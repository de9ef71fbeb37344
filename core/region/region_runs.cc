// Which run of blocks somebody gets: by the region that is nearest, or the one with the longest; and which region is emptied.
#include <algorithm>

#include "core/region/bits.h"
#include "core/region/regions.h"

namespace cffs::region {
namespace {

constexpr std::uint64_t kForMetadata = 32;  // blocks that data leaves
constexpr std::uint64_t kFewPieces = 16;    // blocks: what is less than a long run comes in four at most

}  // namespace

std::optional<std::uint64_t> Regions::nearest(const std::set<std::uint64_t>& regions,
                                              std::uint64_t to) const {
  if (regions.empty()) return std::nullopt;
  const auto after = regions.lower_bound(to);
  if (after == regions.end()) return *regions.rbegin();
  if (after == regions.begin()) return *after;
  const std::uint64_t before = *std::prev(after);
  return to - before < *after - to ? before : *after;
}

std::uint64_t Regions::long_run(std::uint64_t number, std::uint64_t enough) {
  Region& region = regions_[number];
  if (region.longest_is_known) return region.longest;
  const std::uint64_t end = geometry_.region_blocks;
  std::uint64_t longest = 0;
  for (std::uint64_t at = next_clear(region.used, data_begin(region.head.kind), end); at < end;) {
    const std::uint64_t until = next_set(region.used, at, end);
    longest = std::max(longest, until - at);
    if (longest >= enough) return longest;
    at = next_clear(region.used, until, end);
  }
  region.longest = static_cast<std::uint32_t>(longest);
  region.longest_is_known = true;
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
    if (const std::uint64_t run = long_run(number, want); run > length) {
      best = number;
      length = run;
    }
  }
  return best;
}

// The free run behind `from` if there is one, else the first that holds all, else the longest.
std::optional<Run> Regions::take_in(std::uint64_t number, std::uint64_t want, std::uint64_t from) {
  Region& region = regions_[number];
  if (region.free_blocks == 0 || !has_room_below(number)) return std::nullopt;
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
  if (from >= begin && from < end && !bit(region.used, from)) {
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

std::uint64_t Regions::for_data(std::uint64_t want, std::uint64_t near_region) {
  while (sure_blocks() < want + kForMetadata && unprovided_ > 0 && !unused_.empty()) {
    std::uint64_t region = *nearest(unused_, near_region);
    if (provided_[region]) {
      const auto other =
          std::find_if(unused_.begin(), unused_.end(), [this](std::uint64_t r) { return !provided_[r]; });
      if (other == unused_.end()) break;
      region = *other;
    }
    if (!has_room_below(region)) break;
  }
  return sure_blocks() - std::min(sure_blocks(), kForMetadata);
}

std::optional<Run> Regions::take_small(std::uint64_t want, std::uint64_t near, bool metadata) {
  return while_withheld([&] { return small_run(want, near, metadata); });
}

std::optional<Run> Regions::small_run(std::uint64_t want, std::uint64_t near, bool metadata) {
  const std::uint64_t last = near >= kHeadBlocks ? geometry_.region_of(near - 1) : 0;
  if (!metadata) want = std::min(want, for_data(std::min(want, kLongRun), last));
  if (want == 0) return std::nullopt;
  // The block behind the last one, whatever the region's kind: one run more is what an object pays for everything else.
  if (near > kHeadBlocks && geometry_.region_of(near) == last &&
      regions_[last].head.kind == RegionKind::small && !closed_.contains(last)) {
    const std::uint64_t from = near - geometry_.first_block(last),
                        worth = std::min(geometry_.region_blocks, from + std::min(want, kLongRun));
    const bool follows = next_set(regions_[last].used, from, worth) == worth;
    if (const auto run = follows || want < kLongRun ? take_in(last, want, from) : std::nullopt) return run;
  }
  // Crumbs of a region that is nearly full are for when nothing else is left; but an unused region is begun only where no other
  // has a run that will do: those that are left are for onodes and large blocks.
  const std::uint64_t enough = want >= kLongRun ? want : std::min(want, kFewPieces);
  const auto small = roomiest(with_room_[index(RegionKind::small)], last, enough);
  if (small && regions_[*small].longest >= std::min(enough, kLongRun)) return take_in(*small, want, 0);
  if (const auto region = unused_for_data(last)) {
    return begin_anew(*region, RegionKind::small) ? take_in(*region, want, 0) : std::nullopt;
  }
  if (small) return take_in(*small, want, 0);
  if (turn_empty(RegionKind::large, RegionKind::small)) return small_run(want, near, metadata);
  if (const auto region = nearest(with_room_[index(RegionKind::large)], last))
    return take_in(*region, want, 0);
  if (const auto region = nearest(unused_, last)) {
    return begin_anew(*region, RegionKind::small) ? take_in(*region, want, 0) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> Regions::unused_for_data(std::uint64_t to) {
  if (const auto ready = idle(); keeps_none_ && !ready.empty()) return ready.front();
  if (!keeps_last()) return nearest(unused_, to);
  if (unused_.size() <= 1) return std::nullopt;
  if (!provide_) return nearest(unused_, to);
  // The one that stays has to have room.
  const auto kept = std::find_if(unused_.begin(), unused_.end(),
                                 [this](std::uint64_t region) { return provided_[region]; });
  const std::uint64_t stays = kept == unused_.end() ? *unused_.begin() : *kept;
  if (!has_room_below(stays)) return std::nullopt;
  std::set<std::uint64_t> others = unused_;
  others.erase(stays);
  return nearest(others, to);
}

// The first run of that many free large blocks, else the longest.
std::optional<Run> Regions::take_large_in(std::uint64_t number, std::uint64_t units) {
  if (!has_room_below(number)) return std::nullopt;
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
  return while_withheld([&] { return large_run(want, near); });
}

std::optional<Run> Regions::large_run(std::uint64_t want, std::uint64_t near) {
  const std::uint64_t unit = geometry_.large_blocks,
                      units = std::max<std::uint64_t>(1, (want + unit - 1) / unit);
  if (free_blocks_ < units * unit + kForMetadata) return std::nullopt;
  const std::uint64_t last = near >= kHeadBlocks ? geometry_.region_of(near - 1) : 0;
  const std::uint64_t most = data_blocks(RegionKind::large) / unit;  // that one region has
  const std::uint64_t now = std::min(units, most) * unit;
  if (for_data(now, last) < now) return std::nullopt;
  const auto& large = with_room_[index(RegionKind::large)];
  // By distance: the nearest with room for all of it, then a region of its own, then the longest run of the nearest.
  std::vector<std::uint64_t> by_distance(large.begin(), large.end());
  std::sort(by_distance.begin(), by_distance.end(), [last](std::uint64_t a, std::uint64_t b) {
    const auto far = [last](std::uint64_t r) { return r > last ? r - last : last - r; };
    return far(a) < far(b);
  });
  for (const std::uint64_t region : by_distance) {
    if (regions_[region].free_blocks < std::min(units, most) * unit) continue;
    const auto run = take_large_in(region, std::min(units, most));
    if (run && run->count >= std::min(units, most) * unit) return run;
    if (run) give(*run);
  }
  if (const auto region = unused_for_data(last)) {
    return begin_anew(*region, RegionKind::large) ? take_large_in(*region, std::min(units, most))
                                                  : std::nullopt;
  }
  if (turn_empty(RegionKind::small, RegionKind::large)) return large_run(want, near);
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
  if (unused_.size() > (keeps_last() ? 1 : 0)) return std::nullopt;
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

}  // namespace cffs::region
