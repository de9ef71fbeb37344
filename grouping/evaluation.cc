#include "grouping/evaluation.h"

#include <algorithm>
#include <list>

namespace cffs::grouping {

const std::vector<DiskProfile>& disk_profiles() {
  static const std::vector<DiskProfile> profiles = {
      {"hdd", 6.7, 130e6}, {"ssd", 0.08, 500e6}, {"network", 0.5, 125e6}};
  return profiles;
}

Layout layout_of(std::string name, const std::vector<Candidate>& files, const std::vector<Group>& groups,
                 std::uint64_t inline_max, std::uint64_t composite_file_max) {
  constexpr std::uint32_t kNone = ~std::uint32_t{0};
  Layout layout;
  layout.name = std::move(name);
  layout.unit_of.assign(files.size(), kNone);
  for (const Group& group : groups) {
    std::uint32_t unit = kNone;
    for (const std::size_t i : group) {
      if (files[i].size > composite_file_max) continue;
      if (unit == kNone) {
        unit = static_cast<std::uint32_t>(layout.unit_bytes.size());
        layout.unit_bytes.push_back(0);
        layout.unit_seeks.push_back(1);
      }
      layout.unit_of[i] = unit;
      layout.unit_bytes[unit] += files[i].size;
    }
  }
  const auto requests = [](std::uint64_t bytes, std::uint64_t largest) {
    return std::max<std::uint64_t>(1, (bytes + largest - 1) / largest);
  };
  for (const std::uint64_t bytes : layout.unit_bytes)
    layout.unit_reads.push_back(requests(bytes, kGroupRequestBytes));
  std::uint64_t table_bytes = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    constexpr std::uint64_t kRowBytes = 200;
    const bool in_table = layout.unit_of[i] == kNone && files[i].size <= inline_max;
    table_bytes += kRowBytes + (in_table ? files[i].size : 0);
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (layout.unit_of[i] != kNone) continue;
    layout.unit_of[i] = static_cast<std::uint32_t>(layout.unit_bytes.size());
    layout.unit_bytes.push_back(files[i].size);
    layout.unit_seeks.push_back(files[i].size > inline_max || table_bytes > kSmallTable ? 1 : 0);
    layout.unit_reads.push_back(layout.unit_seeks.back() == 0 ? 0
                                                              : requests(files[i].size, kObjectRequestBytes));
  }
  return layout;
}

double Evaluation::ms_per_access(const DiskProfile& disk) const {
  if (accesses == 0) return 0;
  const double ms = static_cast<double>(seeks) * disk.seek_ms +
                    static_cast<double>(bytes_read) / disk.bytes_per_second * 1000;
  return ms / static_cast<double>(accesses);
}

Evaluation evaluate(const Layout& layout, const std::vector<Candidate>& files,
                    const std::vector<Item>& accesses, std::uint64_t cache_bytes) {
  struct Cached {
    std::list<std::uint32_t>::iterator place;
    bool in = false;
    std::uint32_t stay = 0;  // how often it has been brought in
  };
  Evaluation e;
  e.name = layout.name;
  std::list<std::uint32_t> recent;  // first: the latest
  std::vector<Cached> units(layout.unit_bytes.size());
  std::vector<std::uint32_t> used_in(files.size());  // the stay in which a file was last used
  std::uint64_t held = 0;
  for (const Item item : accesses) {
    const std::uint32_t unit = layout.unit_of[item];
    Cached& cached = units[unit];
    ++e.accesses;
    if (cached.in) {
      ++e.hits;
      recent.splice(recent.begin(), recent, cached.place);
    } else {
      e.seeks += layout.unit_seeks[unit];
      e.reads += layout.unit_reads[unit];
      e.bytes_read += layout.unit_bytes[unit];
      held += layout.unit_bytes[unit];
      recent.push_front(unit);
      cached = {recent.begin(), true, cached.stay + 1};
      while (held > cache_bytes && recent.size() > 1) {
        const std::uint32_t oldest = recent.back();
        recent.pop_back();
        units[oldest].in = false;
        held -= layout.unit_bytes[oldest];
      }
    }
    if (used_in[item] != cached.stay) {
      used_in[item] = cached.stay;
      e.bytes_used += files[item].size;
    }
  }
  return e;
}

}  // namespace cffs::grouping
