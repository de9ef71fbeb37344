#include "core/region/recovery.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <unordered_map>

#include "core/base/bytes.h"
#include "core/base/checksum.h"

namespace cffs::region {
namespace {

constexpr std::size_t kMostRuns = 24;           // that a superblock has room for
constexpr std::uint32_t kOnodesAtATime = 1024;  // of which what lies on the medium is in memory: 4 MiB
constexpr std::uint64_t kMostSize = std::uint64_t{1} << 60;  // bytes of an object

void put(ByteWriter& w, const Body::Found& f) {
  w.varint(f.id.region);
  w.varint(f.id.index);
  w.u8(static_cast<std::uint8_t>(f.durable_sector));
  w.varint(f.durable_version);
  w.varint(f.onode.version);
  w.u8(f.onode.level);
  w.varint(f.onode.size);
  w.string(f.onode.name);
  w.varint(f.onode.entries.size());
  for (const Extent& e : f.onode.entries) {
    w.varint(e.logical);
    w.varint(e.block);
    w.varint(std::uint64_t{e.count} << 1 | (e.written ? 1 : 0));
  }
}

// nullopt: no onode could say so.
std::optional<Body::Found> take_found(ByteReader& r) {
  Body::Found f;
  f.id.region = static_cast<std::uint32_t>(r.varint());
  f.id.index = static_cast<std::uint32_t>(r.varint());
  f.durable_sector = r.u8();
  f.durable_version = r.varint();
  f.onode.version = r.varint();
  f.onode.level = r.u8();
  f.onode.size = r.varint();
  f.onode.name = r.string();
  const std::uint64_t entries = r.varint();
  if (f.onode.name.size() > kMaxName || entries > Onode::room(f.onode.name.size())) return std::nullopt;
  for (std::uint64_t i = 0; i < entries && r.ok(); ++i) {
    Extent e;
    e.logical = r.varint();
    e.block = r.varint();
    const std::uint64_t packed = r.varint();
    e.count = static_cast<std::uint32_t>(packed >> 1);
    e.written = (packed & 1) != 0;
    f.onode.entries.push_back(e);
  }
  return f;
}

// What the medium says, before names and blocks are compared.
struct Read {
  std::vector<std::pair<RegionHead, unsigned>> heads;
  std::vector<Body::Found> objects;
  std::map<OnodeId, Onode> committed;  // of those whose live sector is newer: what is durable
  std::vector<OnodeId> gone, damaged;
  std::vector<std::string> unread;  // what the medium does not give; a sentence each
  std::uint64_t version = 0;
};

std::pair<RegionHead, unsigned> read_head(const BlockDevice& device, const Geometry& g, std::uint64_t region,
                                          Status& problem) {
  std::string bytes(2 * kSectorBytes, '\0');
  if (auto read = device.read(g.first_block(region) * kBlock, as_writable_bytes(bytes)); !read)
    problem = read;
  std::pair<RegionHead, unsigned> newest{{}, 0};
  for (const unsigned copy : {0u, 1u}) {
    const auto head = decode_head(std::string_view(bytes).substr(copy * kSectorBytes), g, region);
    if (head && head->version > newest.first.version) newest = {*head, copy};
  }
  return newest;
}

// Of the three sectors of an onode: what is durable, and what a program that is gone has seen on this same device.
void judge(std::string_view sectors, const Epoch& epoch, const Geometry& g, OnodeId id,
           const RegionHead& head, Read& read) {
  Body::Found found;
  found.id = id;
  std::optional<Onode> newest, committed;
  bool is_half_gone = false;  // a cut tore its tombstone: only one sector has it
  for (unsigned sector = 0; sector < kOnodeSectors; ++sector) {
    auto onode = decode_onode(sectors.substr(sector * kSectorBytes), g, id);
    if (!onode || onode->version <= head.since) continue;
    read.version = std::max(read.version, onode->version);
    const bool live = sector == kLiveSector;
    is_half_gone = is_half_gone || (!live && !onode->is_free);
    if (live && onode->epoch != epoch.mark()) continue;
    if (!live && onode->version > found.durable_version) {
      found.durable_version = onode->version;
      found.durable_sector = sector;
      committed = onode;
    }
    if (!newest || onode->version > newest->version) newest = std::move(onode);
  }
  if (!newest) return;
  if (newest->is_free) {
    // Removed for good, or as the last program saw it: the durable sector may still have the object.
    if ((newest->epoch != 0 || is_half_gone) && found.durable_sector != kLiveSector) read.gone.push_back(id);
    return;
  }
  if (committed && newest->version > committed->version && !committed->is_free)
    read.committed.emplace(id, std::move(*committed));
  found.onode = std::move(*newest);
  read.objects.push_back(std::move(found));
}

// Of a region whose head the medium does not give: what lies in it may be objects' whose onodes are elsewhere, and those stay. Which of its own
// onodes are of an earlier life of it nobody knows.
RegionHead unread_head() { return {RegionKind::small, 0, 0, 0}; }

// Onodes [first, first + count) of a region one by one, where they could not be read together.
Status judge_each(const BlockDevice& device, const Epoch& epoch, const Geometry& g, std::uint64_t region,
                  std::uint32_t first, std::uint32_t count, const RegionHead& head, Read& read) {
  std::string block(kBlock, '\0');
  for (std::uint32_t index = first; index < first + count; ++index) {
    const OnodeId id{static_cast<std::uint32_t>(region), index};
    if (auto done = device.read(onode_offset(g, id, 0), as_writable_bytes(block)); !done) {
      if (!done.error().is_damage()) return done;
      read.damaged.push_back(id);
      read.unread.push_back(
          "onode " + std::to_string(index) + " of region " + std::to_string(region) +
          " cannot be read; an object may be missing, or shown as an earlier one of its name");
      continue;
    }
    judge(block, epoch, g, id, head, read);
  }
  return {};
}

Result<Read> scan(const BlockDevice& device, const Geometry& g, const Epoch& epoch) {
  Read read;
  constexpr std::uint64_t kAhead = 8;
  const auto ask = [&](std::uint64_t region) {
    if (region < g.regions) device.prefetch({g.first_block(region) * kBlock, g.table_blocks() * kBlock});
  };
  for (std::uint64_t region = 0; region < kAhead; ++region) ask(region);
  std::string table;
  std::uint64_t written = 0;  // where the next bytes are that somebody wrote
  for (std::uint64_t region = 0; region < g.regions; ++region) {
    const std::uint64_t at = g.first_block(region) * kBlock;
    if (written <= at) written = device.next_data(at);
    if (written >= at + kBlock) {
      read.heads.emplace_back();
      continue;
    }
    ask(region + kAhead);
    Status problem;
    read.heads.push_back(read_head(device, g, region, problem));
    if (!problem && problem.error().is_damage()) {
      read.heads.back() = {unread_head(), 0};
      read.unread.push_back("the head of region " + std::to_string(region) +
                            " cannot be read; objects whose onodes lie there are missing");
      continue;
    }
    CFFS_TRY_VOID(problem);
    const RegionHead& head = read.heads.back().first;
    if (head.kind == RegionKind::unused || head.onodes_begun == 0) continue;
    for (std::uint32_t first = 0; first < head.onodes_begun; first += kOnodesAtATime) {
      const std::uint32_t count = std::min(kOnodesAtATime, head.onodes_begun - first);
      const DeviceRange range{(g.first_block(region) + 1 + first) * kBlock, count * kBlock};
      if (device.next_data(range.offset) >= range.offset + range.length) continue;
      table.resize(range.length);
      if (const auto whole = device.read(range.offset, as_writable_bytes(table)); !whole) {
        if (!whole.error().is_damage()) return fail(whole.error());
        CFFS_TRY_VOID(judge_each(device, epoch, g, region, first, count, head, read));
        continue;
      }
      for (std::uint32_t i = 0; i < count; ++i) {
        judge(std::string_view(table).substr(i * kBlock), epoch, g,
              {static_cast<std::uint32_t>(region), first + i}, head, read);
      }
    }
  }
  return read;
}

// Whether what a superblock says of its checkpoint can be: runs of the device, each block once, as many as the bytes need, and all of
// them written. So what is read takes no more memory than what somebody has written.
bool may_be_checkpoint(const BlockDevice& device, const Superblock& s) {
  const std::uint64_t begin = s.geometry.first_block(0), end = s.geometry.first_block(s.geometry.regions);
  std::vector<Run> runs = s.checkpoint;
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.block < b.block; });
  std::uint64_t behind = begin, blocks = 0;
  for (const Run& run : runs) {
    if (run.count == 0 || run.block < behind || run.block >= end || run.count > end - run.block) return false;
    behind = run.block + run.count;
    blocks += run.count;
    if (device.next_hole(run.block * kBlock) <= (behind - 1) * kBlock) return false;
  }
  return s.checkpoint_bytes <= blocks * kBlock && blocks * kBlock - s.checkpoint_bytes < kBlock;
}

std::optional<Read> read_checkpoint(const BlockDevice& device, const Superblock& s) {
  if (!may_be_checkpoint(device, s)) return std::nullopt;
  std::string bytes;
  for (const Run& run : s.checkpoint) {
    const std::size_t at = bytes.size();
    bytes.resize(at + run.count * kBlock);
    const DeviceRange range{run.block * kBlock, run.count * kBlock};
    device.prefetch(range);
    if (!device.read(range.offset, as_writable_bytes(bytes).subspan(at))) return std::nullopt;
  }
  bytes.resize(s.checkpoint_bytes);
  if (checksum(bytes) != s.checkpoint_sum) return std::nullopt;
  Read read;
  ByteReader r(bytes);
  read.version = r.varint();
  if (r.varint() != s.geometry.regions) return std::nullopt;
  std::uint64_t begun = 0;  // onodes: no more objects can there be
  for (std::uint64_t region = 0; region < s.geometry.regions && r.ok(); ++region) {
    RegionHead head;
    head.kind = static_cast<RegionKind>(r.u8() & 3);
    head.version = r.varint();
    head.onodes_begun = static_cast<std::uint32_t>(r.varint());
    head.since = r.varint();
    const unsigned copy = r.u8() & 1u;
    read.heads.emplace_back(head, copy);
    if (head.kind == RegionKind::unused) continue;
    if (head.onodes_begun > most_onodes(s.geometry, head.kind)) return std::nullopt;
    begun += head.onodes_begun;
  }
  const std::uint64_t damaged = r.varint();
  if (damaged > begun) return std::nullopt;
  for (std::uint64_t left = damaged; left > 0 && r.ok(); --left) {
    OnodeId id;
    id.region = static_cast<std::uint32_t>(r.varint());
    id.index = static_cast<std::uint32_t>(r.varint());
    read.damaged.push_back(id);
  }
  const std::uint64_t objects = r.varint();
  if (objects > begun - damaged) return std::nullopt;
  for (std::uint64_t left = objects; left > 0 && r.ok(); --left) {
    auto found = take_found(r);
    if (!found) return std::nullopt;
    read.objects.push_back(std::move(*found));
  }
  if (!r.ok()) return std::nullopt;
  return read;
}

// As every backend's: components, none of them empty, "." or "..".
bool is_name(std::string_view name) {
  if (name.empty() || name.find('\0') != std::string_view::npos) return false;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return false;
    begin = end + 1;
  }
  return true;
}

}  // namespace

Result<Superblock> read_superblock(const BlockDevice& device) {
  std::optional<Superblock> newest;
  unsigned copies = 0;
  std::string sector(kSectorBytes, '\0');
  if (device.size() < kHeadBlocks * kBlock)
    return fail(Error::usage(device.description() + " is no region store: it has " +
                             std::to_string(device.size()) + " bytes"));
  std::optional<Error> unread;
  for (const std::uint64_t copy : {0u, 1u}) {
    if (auto read = device.read(copy * kBlock, as_writable_bytes(sector)); !read) {
      if (!read.error().is_damage()) return fail(read.error());
      unread = std::move(read).error();
      continue;
    }
    CFFS_TRY(auto found, decode_superblock(sector));
    copies += found ? 1 : 0;
    if (found && (!newest || found->version > newest->version)) newest = std::move(found);
  }
  if (!newest && unread) return fail(std::move(*unread));  // it may be one
  if (!newest) {
    return fail(Error::usage(device.description() +
                             " is no region store; cffs format --backend=region makes one of it"));
  }
  if (!newest->geometry.is_sane(device.size())) {
    return fail(Error::corruption(device.description() + ": the superblock describes a larger device (" +
                                  std::to_string(newest->geometry.regions) + " regions) than this one of " +
                                  std::to_string(device.size()) + " bytes"));
  }
  if (copies < 2) {
    newest->clean = false;
    newest->checkpoint.clear();
  }
  return *newest;
}

Result<DeviceRange> put_superblock(BlockDevice& device, const Superblock& superblock) {
  const std::uint64_t offset = superblock.version % 2 * kBlock;
  std::string block = encode(superblock);
  block.resize(kBlock, '\0');  // whole: so that nothing is read for it
  CFFS_TRY_VOID(device.write(offset, as_bytes(block)));
  return DeviceRange{offset, kBlock};
}

Status write_superblock(BlockDevice& device, const Superblock& superblock) {
  CFFS_TRY(const DeviceRange range, put_superblock(device, superblock));
  return device.flush({&range, 1});
}

Result<Epoch> read_epoch(const BlockDevice& device, const Geometry& geometry) {
  std::string sector(kSectorBytes, '\0');
  const Epoch now{device.incarnation(), 0};
  if (auto read = device.read(kEpochOffset, as_writable_bytes(sector)); !read) {
    if (!read.error().is_damage()) return fail(std::move(read).error());
    // It may have said that a flush failed: live sectors are believed as little as if it had, whatever their mark.
    std::random_device random;
    return Epoch{now.incarnation, std::uint64_t{random() | 1u} << 32};
  }
  const auto noted = decode_epoch(sector, geometry);
  return noted && noted->incarnation == now.incarnation ? *noted : now;
}

void end_epoch(BlockDevice& device, const Geometry& geometry, Epoch epoch) {
  epoch.failures += 1;
  const DeviceRange sector{kEpochOffset, kSectorBytes};
  // The kernel keeps it for whoever opens the store next, whether the medium takes it or not.
  if (device.write(sector.offset, as_bytes(encode(epoch, geometry)))) (void)device.flush({&sector, 1});
}

Result<Recovered> recover(const BlockDevice& device, const Superblock& superblock) {
  const Geometry& g = superblock.geometry;
  std::optional<Read> read;
  if (superblock.clean && !superblock.checkpoint.empty()) read = read_checkpoint(device, superblock);
  CFFS_TRY(const Epoch epoch, read_epoch(device, g));
  Recovered result{Regions(g), {}, {}, {}, {}, {}, {}, 0, epoch, !read, false};
  if (!read) {
    CFFS_TRY(read, scan(device, g, epoch));
  }
  result.version = read->version;
  result.hides_something = !read->unread.empty();
  result.damaged = std::move(read->unread);
  result.gone = std::move(read->gone);
  for (std::uint64_t region = 0; region < g.regions; ++region)
    result.regions.restore_head(region, read->heads[region].first, read->heads[region].second);
  for (const OnodeId id : read->damaged) (void)result.regions.claim(id);
  result.damaged_onodes = std::move(read->damaged);
  std::erase_if(result.gone, [&](OnodeId id) { return !result.regions.claim(id); });
  // The newest first: of two that have a name, or say that they have a block, it is right.
  const auto newer = [](const Body::Found& a, const Body::Found& b) {
    return a.onode.version > b.onode.version;
  };
  std::sort(read->objects.begin(), read->objects.end(), newer);
  std::set<std::string, std::less<>> names;
  std::map<OnodeId, std::uint64_t> fallen_back;  // and the version of their live sectors
  for (std::size_t i = 0; i < read->objects.size(); ++i) {
    Body::Found found = std::move(read->objects[i]);
    const auto before = fallen_back.find(found.id);
    if (!is_name(found.onode.name) || found.durable_sector > kLiveSector || found.onode.size > kMostSize ||
        (before == fallen_back.end() && !result.regions.claim(found.id))) {
      result.damaged.push_back("an onode of region " + std::to_string(found.id.region) + " makes no sense");
      continue;
    }
    if (names.contains(found.onode.name)) {
      result.superseded.push_back(std::move(found));
      continue;
    }
    auto mapping = Mapping::load(device, g, found.id, found.onode);
    if (!mapping && mapping.error().is_shortage()) return fail(mapping.error());
    // Where the medium does not give a node nobody knows what the object has: nothing may be given away, nor may an older one show.
    if (!mapping && mapping.error().kind != ErrorKind::corruption) {
      result.hides_something = true;
      result.damaged.push_back(found.onode.name + ": " + mapping.error().message());
      names.insert(found.onode.name);
      continue;
    }
    std::string problem = mapping ? "" : mapping.error().message();
    std::vector<Run> claimed;
    if (mapping) {
      std::vector<Run> runs = mapping->all_runs();
      for (const Run& run : mapping->node_runs()) runs.push_back(run);
      for (const Run& run : runs) {
        if (result.regions.claim(run)) {
          claimed.push_back(run);
          continue;
        }
        problem = "block " + std::to_string(run.block) + " is another object's, or no object can have it";
        break;
      }
    }
    if (!problem.empty()) {
      for (const Run& run : claimed) result.regions.give(run);
      result.damaged.push_back(found.onode.name + ": " + problem);
      auto committed = read->committed.extract(found.id);
      if (committed.empty()) {
        result.damaged_onodes.push_back(found.id);
        continue;
      }
      // What is durable is older: its turn comes.
      result.damaged.back() += "; it is looked at as it was committed last";
      fallen_back.emplace(found.id, found.onode.version);
      found.onode = std::move(committed.mapped());
      const auto rest = read->objects.begin() + static_cast<std::ptrdiff_t>(i) + 1;
      read->objects.insert(std::upper_bound(rest, read->objects.end(), found, newer), found);
      continue;
    }
    names.insert(found.onode.name);  // one that cannot be shown takes nobody's place
    // The next commit says that this is newer than the live sector, for who comes next and finds that one whole.
    if (before != fallen_back.end()) found.onode.version = before->second;
    result.mappings.push_back(std::move(*mapping));
    result.objects.push_back(std::move(found));
  }
  result.regions.end_empty();
  return result;
}

std::string encode_checkpoint(const Regions& regions, const std::vector<Body::Found>& objects,
                              const std::vector<OnodeId>& damaged, std::uint64_t version) {
  std::string bytes;
  ByteWriter w(bytes);
  const std::uint64_t count = regions.geometry().regions;
  w.varint(version);
  w.varint(count);
  for (std::uint64_t region = 0; region < count; ++region) {
    const RegionHead& head = regions.head(region);
    w.u8(static_cast<std::uint8_t>(head.kind));
    w.varint(head.version);
    w.varint(head.onodes_begun);
    w.varint(head.since);
    w.u8(static_cast<std::uint8_t>(regions.durable_copy(region)));
  }
  w.varint(damaged.size());
  for (const OnodeId id : damaged) {
    w.varint(id.region);
    w.varint(id.index);
  }
  w.varint(objects.size());
  for (const Body::Found& found : objects) put(w, found);
  return bytes;
}

std::vector<Run> room_for_checkpoint(Regions regions, std::uint64_t bytes) {
  regions.keep_none();
  std::vector<Run> runs;
  for (std::uint64_t left = (bytes + kBlock - 1) / kBlock; left > 0;) {
    const auto run = regions.take_small(left, 0, true);
    if (!run || runs.size() >= kMostRuns) return {};
    runs.push_back(*run);
    left -= run->count;
  }
  return runs;
}

}  // namespace cffs::region
