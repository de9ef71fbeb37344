#include "replay/analysis/evaluation.h"

#include <algorithm>

#include "core/composite/read_ahead.h"
#include "grouping/plan_groups.h"

namespace cffs::replay {
namespace {

// A store's default.
constexpr std::uint64_t kCompositeBytes = 4u << 20;

}  // namespace

const std::vector<DiskProfile>& disk_profiles() {
  static const std::vector<DiskProfile> profiles = {
      {"hdd", 6.7, 130e6}, {"ssd", 0.08, 500e6}, {"cloud", 0.5, 125e6}};
  return profiles;
}

const DiskProfile* find_disk(std::string_view name) {
  if (name == "network") name = "cloud";
  for (const DiskProfile& disk : disk_profiles()) {
    if (disk.name == name) return &disk;
  }
  return nullptr;
}

Layout layout_of(std::string name, const std::vector<grouping::Candidate>& files,
                 const std::vector<grouping::Group>& groups, const std::vector<double>& planned_shares,
                 std::uint64_t inline_max, std::uint64_t composite_file_max) {
  Layout layout;
  layout.name = std::move(name);
  layout.unit_of.assign(files.size(), Unit::kNowhere);
  std::uint32_t composite = 0;
  std::uint64_t composite_bytes = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    std::uint64_t bytes = 0;
    for (const std::size_t i : groups[g]) {
      if (files[i].size > composite_file_max) continue;
      bytes += files[i].size;
      layout.unit_of[i] = static_cast<std::uint32_t>(layout.units.size());
    }
    if (composite_bytes > 0 && composite_bytes + bytes > kCompositeBytes) {
      ++composite;
      composite_bytes = 0;
    }
    composite_bytes += bytes;
    layout.units.push_back({false, composite, g < planned_shares.size() ? planned_shares[g] : 0});
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    constexpr std::uint64_t kRowBytes = 200;
    layout.table_bytes += kRowBytes;
    if (layout.unit_of[i] != Unit::kNowhere) continue;
    const bool in_table = files[i].size <= inline_max;
    if (in_table) layout.table_bytes += files[i].size;
    layout.unit_of[i] = static_cast<std::uint32_t>(layout.units.size());
    layout.units.push_back({in_table, Unit::kNowhere, 0});
  }
  return layout;
}

Layout lay_out(std::string name, const grouping::Policy& policy,
               const std::vector<grouping::Candidate>& files, const grouping::ReadContent& read) {
  std::vector<grouping::Group> groups;
  std::vector<double> shares;
  if (policy.makes_composites())
    groups = grouping::group_larger(policy, files, policy.table_bytes(), grouping::kGroupBytes, read);
  if (const auto plan = policy.plan()) {
    for (const grouping::Group& group : groups) {
      const auto& first = files[group.front()];
      const auto at = plan->find(first.file, first.path);
      shares.push_back(at ? plan->share(at->group) : 0);
    }
  }
  return layout_of(std::move(name), files, groups, shares);
}

void Evaluation::add(const Evaluation& other) {
  accesses += other.accesses;
  hits += other.hits;
  seeks += other.seeks;
  reads += other.reads;
  bytes_read += other.bytes_read;
  bytes_used += other.bytes_used;
}

double Evaluation::ms_per_access(const DiskProfile& disk) const {
  if (accesses == 0) return 0;
  const double ms = static_cast<double>(seeks) * disk.seek_ms +
                    static_cast<double>(bytes_read) / disk.bytes_per_second * 1000;
  return ms / static_cast<double>(accesses);
}

namespace {

// Files by how recently they were used; a ring through all of them, kEnd at its seam.
class Cache {
 public:
  explicit Cache(const std::vector<grouping::Candidate>& files)
      : files_(files), end_(static_cast<std::uint32_t>(files.size())), links_(files.size() + 1) {
    links_[end_] = {end_, end_, true};
  }

  bool has(std::uint32_t file) const { return links_[file].in; }
  // As the latest.
  void put(std::uint32_t file) {
    if (links_[file].in) {
      unlink(file);
    } else {
      held_ += files_[file].size;
    }
    const std::uint32_t first = links_[end_].next;
    links_[file] = {end_, first, true};
    links_[end_].next = file;
    links_[first].before = file;
  }
  // One file stays, however large.
  void shrink_to(std::uint64_t bytes) {
    while (held_ > bytes && links_[end_].before != links_[end_].next) {
      const std::uint32_t oldest = links_[end_].before;
      unlink(oldest);
      links_[oldest].in = false;
      held_ -= files_[oldest].size;
    }
  }

 private:
  struct Link {
    std::uint32_t before = 0, next = 0;
    bool in = false;
  };
  void unlink(std::uint32_t file) {
    links_[links_[file].before].next = links_[file].next;
    links_[links_[file].next].before = links_[file].before;
  }

  const std::vector<grouping::Candidate>& files_;
  const std::uint32_t end_;
  std::vector<Link> links_;
  std::uint64_t held_ = 0;
};

std::uint64_t requests(std::uint64_t bytes, std::uint64_t largest) {
  return std::max<std::uint64_t>(1, (bytes + largest - 1) / largest);
}

// Files in the order in which they lie, and what the mount's read-ahead knows of them.
class Composites {
 public:
  struct Range {
    std::uint32_t first = 0, end = 0;  // of in_order
    std::uint64_t bytes = 0;
  };

  Composites(const Layout& layout, const std::vector<grouping::Candidate>& files)
      : units_(layout.units.size()), extents_(files.size()) {
    std::vector<std::uint32_t> members(layout.units.size() + 1);  // counts, then where the next one goes
    for (const std::uint32_t unit : layout.unit_of) ++members[unit + 1];
    for (std::size_t u = 1; u < members.size(); ++u) members[u] += members[u - 1];
    for (std::size_t u = 0; u < units_.size(); ++u) units_[u] = {members[u], members[u + 1], 0};
    in_order_.resize(files.size());
    for (std::uint32_t i = 0; i < files.size(); ++i) in_order_[members[layout.unit_of[i]]++] = i;
    for (std::uint32_t u = 0; u < units_.size(); ++u) place(layout.units[u], u, files);
  }

  const std::vector<std::uint32_t>& in_order() const { return in_order_; }
  const Range& unit(std::uint32_t number) const { return units_[number]; }
  const Range& composite(std::uint32_t number) const { return composites_[number]; }
  std::size_t size() const { return composites_.size(); }
  // Of a file in a composite.
  const Extent& extent(std::uint32_t file) const { return extents_[file]; }

 private:
  void place(const Unit& unit, std::uint32_t number, const std::vector<grouping::Candidate>& files) {
    Range& range = units_[number];
    for (std::uint32_t at = range.first; at < range.end; ++at) range.bytes += files[in_order_[at]].size;
    if (unit.composite == Unit::kNowhere) return;
    if (unit.composite >= composites_.size())
      composites_.resize(unit.composite + 1, {range.first, range.first, 0});
    Range& whole = composites_[unit.composite];
    const std::uint64_t group_offset = whole.bytes;
    for (std::uint32_t at = range.first; at < range.end; ++at) {
      const std::uint64_t length = files[in_order_[at]].size;
      Extent& extent = extents_[in_order_[at]];
      extent.composite = CompositeId{unit.composite + 1};
      extent.offset = whole.bytes;
      extent.length = extent.capacity = length;
      extent.group_offset = group_offset;
      extent.group_length = range.bytes;
      whole.bytes += length;
    }
    whole.end = range.end;
  }

  std::vector<std::uint32_t> in_order_;
  std::vector<Range> units_, composites_;
  std::vector<Extent> extents_;  // index: file
};

class Run {
 public:
  Run(const Layout& layout, const std::vector<grouping::Candidate>& files, const Model& model)
      : layout_(layout),
        files_(files),
        model_(model),
        composites_(layout, files),
        cache_(files),
        fresh_(files.size()),
        unused_(files.size()) {
    table_in_memory_ = layout.table_bytes <= std::min(kSmallTable, model.cache_bytes / 2);
    cache_bytes_ = model.cache_bytes - (table_in_memory_ ? layout.table_bytes : 0);
    // As it measures a medium when a store is opened.
    const auto time = [&](std::uint64_t bytes) -> ReadAhead::Sample {
      return {bytes, static_cast<std::uint64_t>(1e6 * model.disk.seek_ms + 1e9 * static_cast<double>(bytes) /
                                                                               model.disk.bytes_per_second)};
    };
    if (model.disk.bytes_per_second > 0) ahead_.measured(time(4096), time(512 * 1024));
    e_.name = layout.name;
  }

  void access(std::uint32_t file, bool counts) {
    counts_ = counts;
    if (counts) ++e_.accesses;
    const Unit& unit = layout_.units[layout_.unit_of[file]];
    const bool hit = cache_.has(file);
    if (hit && counts) ++e_.hits;
    if (unit.composite != Unit::kNowhere && model_.reading == Reading::mount) {
      // Those that the kernel has already given out do not come to the mount.
      if (!hit || fresh_[file]) come_to(file, unit, hit);
    } else if (!hit) {
      const bool from_memory = unit.in_table && table_in_memory_;
      const std::uint64_t bytes = bring(composites_.unit(layout_.unit_of[file]));
      if (from_memory) {
        if (counts) e_.bytes_read += bytes;
      } else {
        // A row's block at least, with its neighbours.
        read(bytes + (unit.in_table ? kTableBlockBytes : 0),
             unit.composite != Unit::kNowhere ? kGroupRequestBytes : kObjectRequestBytes);
      }
    }
    cache_.put(file);
    cache_.shrink_to(cache_bytes_);
    fresh_[file] = false;
    if (unused_[file]) e_.bytes_used += files_[file].size;
    unused_[file] = false;
  }

  const Evaluation& result() const { return e_; }

 private:
  static constexpr ReaderId kReader = 1;
  void come_to(std::uint32_t file, const Unit& unit, bool hit) {
    const Extent& extent = composites_.extent(file);
    const auto& whole = composites_.composite(unit.composite);
    const auto advice =
        ahead_.touch(kReader, extent, hit ? ReadAhead::Found::in_memory : ReadAhead::Found::absent,
                     whole.bytes, unit.planned_share);
    if (!hit) {
      switch (advice.scope) {
        case ReadAhead::Scope::member:
          read(bring_one(file), extent.length + 1);
          break;
        case ReadAhead::Scope::group:
          read(bring(composites_.unit(layout_.unit_of[file])), ReadAhead::kPiece);
          break;
        case ReadAhead::Scope::composite:
          read(bring(whole), ReadAhead::kPiece);
          break;
      }
      if (advice.scope != ReadAhead::Scope::member) ahead_.asked(extent.composite);
    }
    auto next = static_cast<std::int64_t>(unit.composite);
    Lead::walk(advice.ahead, [&]() -> std::optional<bool> {
      next += advice.next;
      if (next < 0 || next >= static_cast<std::int64_t>(composites_.size())) return std::nullopt;
      return take_whole(static_cast<std::uint32_t>(next));
    });
  }
  bool take_whole(std::uint32_t composite) {
    const auto& range = composites_.composite(composite);
    const CompositeId id{std::uint64_t{composite} + 1};
    if (!ahead_.take_whole(id, range.bytes, kReader)) return false;
    const std::uint64_t bytes = bring(range);
    if (bytes > 0) read(bytes, ReadAhead::kPiece);
    ahead_.asked(id);
    return true;
  }

  // Bytes.
  std::uint64_t bring_one(std::uint32_t file) {
    if (cache_.has(file)) return 0;
    cache_.put(file);
    fresh_[file] = true;
    unused_[file] = counts_;
    return files_[file].size;
  }
  std::uint64_t bring(const Composites::Range& range) {
    std::uint64_t bytes = 0;
    for (std::uint32_t at = range.first; at < range.end; ++at) bytes += bring_one(composites_.in_order()[at]);
    return bytes;
  }
  void read(std::uint64_t bytes, std::uint64_t largest_request) {
    if (!counts_) return;
    ++e_.seeks;
    e_.reads += requests(bytes, largest_request);
    e_.bytes_read += bytes;
  }

  const Layout& layout_;
  const std::vector<grouping::Candidate>& files_;
  const Model& model_;
  const Composites composites_;
  Cache cache_;
  std::uint64_t cache_bytes_ = 0;
  bool table_in_memory_ = false;
  ReadAhead ahead_;
  std::vector<bool> fresh_;   // brought, and not accessed since
  std::vector<bool> unused_;  // the same, of what was read while it counted
  bool counts_ = false;
  Evaluation e_;
};

}  // namespace

Evaluation evaluate(const Layout& layout, const std::vector<grouping::Candidate>& files,
                    const std::vector<grouping::Item>& accesses, const Model& model, std::size_t warming) {
  Run run(layout, files, model);
  for (std::size_t a = 0; a < accesses.size(); ++a) run.access(accesses[a], a >= warming);
  return run.result();
}

}  // namespace cffs::replay
