// The regions of a device: which kind each is, which of its blocks and onodes are free. The paper's region heads, bitmaps and
// region head list.
//
// A region has no kind until somebody needs it, and loses it when nothing is left in it. Runs come from the region nearest to where
// the object's last ones lie. Large regions give whole large blocks; only where nothing else is left do small allocations take what
// they have, so no block is ever lost to the wrong kind.
//
// Not safe for several threads: the store's mutex is held around every call.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "core/region/layout.h"

namespace cffs::region {

class Regions {
 public:
  explicit Regions(const Geometry& geometry);
  const Geometry& geometry() const { return geometry_; }

  // The version of the newest change of an onode; a region that begins a new life notes it.
  void now(std::uint64_t version) { now_ = version; }

  // --- as recovery finds it
  void restore_head(std::uint64_t region, const RegionHead& head, unsigned copy);
  // False: somebody has one of these blocks, or they lie where no data can: nothing is marked.
  bool claim(Run run);
  bool claim(OnodeId id);  // False: somebody has it, or there is none
  // Regions in which nothing was found lose their kind.
  void end_empty();

  // --- blocks
  // A run that is worth a seek, in blocks: for who asks for as many several regions are looked at.
  static constexpr std::uint64_t kLongRun = 64;
  // At most `want` blocks in one run, at least one; nullopt: none is free. `near`: a block that it should follow, 0: anywhere.
  // Metadata may take the last ones.
  std::optional<Run> take_small(std::uint64_t want, std::uint64_t near, bool metadata = false);
  // Whole large blocks, one run; nullopt: none is free.
  std::optional<Run> take_large(std::uint64_t want, std::uint64_t near);
  void give(Run run);
  std::uint64_t free_blocks() const { return free_blocks_; }  // those of regions without a kind too

  // --- room below, where the device may have less than it says
  // Asked once for each region, before the first run or onode is taken in it; `empty`: nothing lies there. False: there is no room for
  // it, and nothing is taken from it until release(). Without it all regions have theirs.
  using Provide = std::function<bool(std::uint64_t region, bool empty)>;
  void provided_by(Provide provide);
  // Those that had no room may be asked for again. False: there are none.
  bool release();
  // Whether one without a kind was refused room the last time; and that one asked for again: all that had none may be, where it has some.
  bool was_refused() const { return first_refused().has_value(); }
  void ask_again();
  std::uint64_t sure_blocks() const;  // free, and there is room for them
  std::uint64_t maybe_blocks() const {
    return unprovided_ * blocks_of_one();
  }  // where room was not asked for yet
  std::uint64_t blocks_of_one() const { return data_blocks(RegionKind::unused); }
  std::uint64_t blocks_of_all() const;  // that have data, or may have some
  // Regions that have room and no kind; without the one that stays for onodes, where those are short.
  std::vector<std::uint64_t> idle() const;
  // For what lies there only until somebody needs the room: nothing is kept for anybody, and what has room comes first.
  void keep_none() { keeps_none_ = true; }
  // Their room is gone.
  void give_back(std::uint64_t region);

  // --- cleaning, where holes are in regions of the wrong kind
  // The small region with the least in it, if that is at most half of it and others have room for it; nothing is taken from it until
  // open(). nullopt: none, or regions without a kind are left.
  std::optional<std::uint64_t> close_sparsest();
  void open(std::uint64_t region);

  // --- onodes
  // Near a block, 0: anywhere. The last ones are for who must not fail.
  static constexpr std::uint64_t kOnodesKept = 128;
  std::optional<OnodeId> take_onode(std::uint64_t near, bool must);
  // Of all that could be begun, too.
  std::uint64_t free_onodes() const { return free_onodes_ + unused_.size() * onodes_in(RegionKind::onodes); }
  void give(OnodeId id);

  // --- heads that changed and are not known to be durable
  struct Head {
    std::uint64_t region = 0;
    std::array<RegionHead, 2> sectors;  // the one that is durable stays
  };
  // Heads to write, now that they are needed; each until it is written. Those of regions that are empty again are needed by nobody.
  std::vector<Head> changed_heads() const;
  void written(std::uint64_t region) { changed_.erase(region); }
  // Regions whose heads were written and may not be durable.
  std::vector<std::uint64_t> undurable() const;
  // Those were flushed as they were at that version.
  void durable(std::uint64_t region, std::uint64_t version);
  const RegionHead& head(std::uint64_t region) const { return regions_[region].head; }
  // Which of the two sectors is durable.
  unsigned durable_copy(std::uint64_t region) const { return regions_[region].durable_copy; }

  // --- what it looks like
  struct Census {
    std::uint64_t regions = 0, blocks = 0, free_blocks = 0, onodes = 0, free_runs = 0;
  };
  Census census(RegionKind kind) const;

 private:
  struct Region {
    RegionHead head, durable;
    unsigned durable_copy = 0;
    std::vector<std::uint64_t> used;         // a bit for each block; empty: no kind
    std::vector<std::uint64_t> onodes_used;  // the same for onodes
    std::uint32_t free_blocks = 0, free_onodes = 0;
    std::uint32_t next = 0;         // where the last run ended
    std::uint32_t longest = 0;      // no free run is longer
    bool longest_is_known = false;  // one is as long
  };
  static std::size_t index(RegionKind kind) { return static_cast<std::size_t>(kind); }
  std::uint64_t onodes_in(RegionKind kind) const;
  std::uint64_t data_begin(RegionKind kind) const;  // blocks of the region before its data
  std::uint64_t data_blocks(RegionKind kind) const;
  void begin(std::uint64_t region, RegionKind kind);
  // False: there is no room below for it.
  bool begin_anew(std::uint64_t region, RegionKind kind);
  bool has_room_below(std::uint64_t region);
  std::optional<std::uint64_t> first_refused() const;  // region without a kind
  void withhold(std::uint64_t region);
  // Blocks that data may take, so that metadata has what it needs: at least `want` if there is room for them.
  std::uint64_t for_data(std::uint64_t want, std::uint64_t near_region);
  // One try each; what met a region without room is tried again without that.
  std::optional<Run> small_run(std::uint64_t want, std::uint64_t near, bool metadata);
  std::optional<Run> large_run(std::uint64_t want, std::uint64_t near);
  std::optional<OnodeId> an_onode(std::uint64_t near, bool must);
  template <typename Try>
  auto while_withheld(const Try& attempt) -> decltype(attempt()) {
    for (;;) {
      const std::size_t before = withheld_.size();
      auto taken = attempt();
      if (taken || withheld_.size() == before) return taken;
    }
  }
  void end_if_empty(std::uint64_t region);
  void changed(std::uint64_t region);
  void mark(Region& region, std::uint64_t from, std::uint64_t count);
  std::optional<std::uint64_t> nearest(const std::set<std::uint64_t>& regions, std::uint64_t to) const;
  std::optional<Run> take_in(std::uint64_t region, std::uint64_t want, std::uint64_t from);
  // Of at least `enough` blocks, else the longest.
  std::uint64_t long_run(std::uint64_t region, std::uint64_t enough);
  // The last region without a kind stays for onodes where those run short.
  bool keeps_last() const { return !keeps_none_ && free_onodes_ < 4 * kOnodesKept; }
  std::optional<std::uint64_t> unused_for_data(std::uint64_t to);
  // Of those regions the nearest with a free run of that many blocks, else the one with the longest; of the nearest few.
  std::optional<std::uint64_t> roomiest(const std::set<std::uint64_t>& regions, std::uint64_t to,
                                        std::uint64_t want);
  std::optional<Run> take_large_in(std::uint64_t region, std::uint64_t units);
  void note_room(std::uint64_t region);
  // A region of the other kind without data gets this one; its onodes stay.
  bool turn_empty(RegionKind from, RegionKind to);

  const Geometry geometry_;
  std::vector<Region> regions_;
  std::set<std::uint64_t> unused_;
  std::array<std::set<std::uint64_t>, 4> with_room_;  // by kind: regions with free blocks
  std::set<std::uint64_t> with_onodes_;
  std::set<std::uint64_t> closed_;     // from which no blocks are taken
  std::set<std::uint64_t> changed_;    // and not written since
  std::set<std::uint64_t> undurable_;  // those, and what is written and not flushed
  Provide provide_;
  std::vector<bool> provided_;         // by region; empty: all are
  std::vector<bool> had_room_;         // a region without a kind may have it still, from an earlier life
  std::set<std::uint64_t> withheld_;   // that have no room below
  std::uint64_t unprovided_ = 0;       // regions without a kind that were not provided
  std::uint64_t withheld_blocks_ = 0;  // free ones of withheld regions that have a kind
  bool keeps_none_ = false;
  std::uint64_t now_ = 0;
  std::uint64_t free_blocks_ = 0;
  std::uint64_t free_onodes_ = 0;
};

}  // namespace cffs::region
