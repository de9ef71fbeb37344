#include "grouping/evaluation.h"

#include <algorithm>

namespace cffs::grouping {

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
        unit = static_cast<std::uint32_t>(layout.unit_seeks.size());
        layout.unit_seeks.push_back(1);
      }
      layout.unit_of[i] = unit;
    }
  }
  layout.unit_request_bytes.assign(layout.unit_seeks.size(), kGroupRequestBytes);
  for (std::size_t i = 0; i < files.size(); ++i) {
    constexpr std::uint64_t kRowBytes = 200;
    const bool in_table = layout.unit_of[i] == kNone && files[i].size <= inline_max;
    layout.table_bytes += kRowBytes + (in_table ? files[i].size : 0);
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (layout.unit_of[i] != kNone) continue;
    layout.unit_of[i] = static_cast<std::uint32_t>(layout.unit_seeks.size());
    layout.unit_seeks.push_back(files[i].size > inline_max ? 1 : 0);
    layout.unit_request_bytes.push_back(kObjectRequestBytes);
  }
  return layout;
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
  explicit Cache(const std::vector<Candidate>& files)
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

  const std::vector<Candidate>& files_;
  const std::uint32_t end_;
  std::vector<Link> links_;
  std::uint64_t held_ = 0;
};

std::uint64_t requests(std::uint64_t bytes, std::uint64_t largest) {
  return std::max<std::uint64_t>(1, (bytes + largest - 1) / largest);
}

}  // namespace

Evaluation evaluate(const Layout& layout, const std::vector<Candidate>& files,
                    const std::vector<Item>& accesses, std::uint64_t cache_bytes, std::size_t warming) {
  Evaluation e;
  e.name = layout.name;
  std::vector<std::vector<std::uint32_t>> members(layout.unit_seeks.size());
  for (std::uint32_t i = 0; i < files.size(); ++i) members[layout.unit_of[i]].push_back(i);
  const bool table_in_memory = layout.table_bytes <= std::min(kSmallTable, cache_bytes / 2);
  if (table_in_memory) cache_bytes -= layout.table_bytes;
  Cache cache(files);
  std::vector<bool> unused(files.size());  // read while it counted, and not accessed since
  for (std::size_t a = 0; a < accesses.size(); ++a) {
    const Item item = accesses[a];
    const bool counts = a >= warming;
    if (counts) ++e.accesses;
    if (cache.has(item)) {
      if (counts) ++e.hits;
    } else {
      const std::uint32_t unit = layout.unit_of[item];
      std::uint64_t bytes = 0;
      for (const std::uint32_t member : members[unit]) {
        if (cache.has(member)) continue;
        bytes += files[member].size;
        unused[member] = counts;
        cache.put(member);
      }
      const bool from_memory = layout.unit_seeks[unit] == 0 && table_in_memory;
      if (counts && !from_memory) {
        e.seeks += 1;
        e.reads += requests(bytes, layout.unit_request_bytes[unit]);
        if (layout.unit_seeks[unit] == 0) e.bytes_read += kTableBlockBytes;  // at least, with its neighbours
      }
      if (counts) e.bytes_read += bytes;
    }
    cache.put(item);
    cache.shrink_to(cache_bytes);
    if (unused[item]) e.bytes_used += files[item].size;
    unused[item] = false;
  }
  return e;
}

}  // namespace cffs::grouping
