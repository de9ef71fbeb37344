#include "core/region/mapping.h"

#include <algorithm>

#include "core/base/checksum.h"

namespace cffs::region {
namespace {

constexpr std::size_t kHalfLeaf =
    160;  // entries of each part of a leaf that was split: room for what comes between

}  // namespace

Mapping::Piece Mapping::at(std::uint64_t logical, std::uint64_t most) const {
  auto next = extents_.upper_bound(logical);
  if (next != extents_.begin()) {
    const auto& [begin, run] = *std::prev(next);
    if (logical < begin + run.count) {
      const std::uint64_t skipped = logical - begin;
      return {logical, std::min<std::uint64_t>(most, run.count - skipped), run.block + skipped, run.written};
    }
  }
  return {logical, next == extents_.end() ? most : std::min(most, next->first - logical), 0, false};
}

std::uint64_t Mapping::end() const {
  return extents_.empty() ? 0 : extents_.rbegin()->first + extents_.rbegin()->second.count;
}

std::uint64_t Mapping::follows(std::uint64_t logical) const {
  const auto next = extents_.lower_bound(logical);
  if (next == extents_.begin()) return 0;
  const auto& [begin, run] = *std::prev(next);
  return run.block + std::min<std::uint64_t>(run.count, logical - begin);
}

std::vector<Run> Mapping::all_runs() const {
  std::vector<Run> runs;
  for (const auto& [logical, run] : extents_) runs.push_back({run.block, run.count});
  return runs;
}

std::vector<Run> Mapping::node_runs() const {
  std::vector<Run> runs;
  for (const auto& [first, leaf] : leaves_)
    if (leaf.stored.block != 0) runs.push_back({leaf.stored.block, 1});
  for (const auto& level : above_)
    for (const Stored& stored : level)
      if (stored.block != 0) runs.push_back({stored.block, 1});
  return runs;
}

std::vector<Mapping::Piece> Mapping::pieces_in(const Run& region) const {
  std::vector<Piece> pieces;
  const std::uint64_t begin = region.block, end = region.block + region.count;
  for (const auto& [logical, run] : extents_) {
    const std::uint64_t from = std::max(run.block, begin), to = std::min(run.block + run.count, end);
    if (from < to) pieces.push_back({logical + (from - run.block), to - from, from, run.written});
  }
  return pieces;
}

bool Mapping::has_nodes_in(const Run& region) const {
  const std::vector<Run> nodes = node_runs();
  return std::any_of(nodes.begin(), nodes.end(), [&region](const Run& node) {
    return node.block >= region.block && node.block < region.block + region.count;
  });
}

void Mapping::leave(const Run& region) {
  const auto leaves_it = [&](Stored& stored) {
    if (stored.block < region.block || stored.block >= region.block + region.count) return false;
    // As if the durable onode had it: it is not changed in place, and what it takes is freed with the next commit.
    stored.frozen = true;
    stored.sum = 0;
    return true;
  };
  for (auto& [first, leaf] : leaves_)
    if (leaves_it(leaf.stored)) leaf.dirty = true;
  for (auto& level : above_)
    for (Stored& stored : level) (void)leaves_it(stored);
}

// The leaves whose entries may be others now: an extent belongs to the leaf that holds its first block.
void Mapping::touch(std::uint64_t logical, std::uint64_t count) {
  if (leaves_.empty()) return;
  auto it = leaves_.upper_bound(logical == 0 ? 0 : logical - 1);
  if (it != leaves_.begin()) --it;
  for (; it != leaves_.end() && it->first <= logical + count; ++it) it->second.dirty = true;
}

// The extent that begins there; one that lies across is cut.
Mapping::Extents::iterator Mapping::split(std::uint64_t logical) {
  const auto next = extents_.lower_bound(logical);
  if (next == extents_.begin() || (next != extents_.end() && next->first == logical)) return next;
  auto& [begin, run] = *std::prev(next);
  if (begin + run.count <= logical) return next;
  touch(begin, run.count);
  const auto kept = static_cast<std::uint32_t>(logical - begin);
  const Placed rest{run.block + kept, run.count - kept, run.written};
  run.count = kept;
  return extents_.emplace_hint(next, logical, rest);
}

void Mapping::join_around(std::uint64_t logical, std::uint64_t count) {
  auto it = extents_.lower_bound(logical);
  if (it != extents_.begin()) --it;
  while (it != extents_.end() && it->first <= logical + count) {
    const auto next = std::next(it);
    if (next == extents_.end()) return;
    Placed& run = it->second;
    const bool follows = it->first + run.count == next->first &&
                         run.block + run.count == next->second.block && run.written == next->second.written &&
                         run.count + next->second.count <= kMaxExtent;
    if (!follows) {
      it = next;
      continue;
    }
    touch(it->first, run.count);
    touch(next->first, next->second.count);
    run.count += next->second.count;
    extents_.erase(next);
  }
}

void Mapping::put(std::uint64_t logical, Run run, bool written) {
  (void)remove(logical, run.count);
  touch(logical, run.count);
  extents_.emplace(logical, Placed{run.block, run.count, written});
  blocks_ += run.count;
  join_around(logical, run.count);
}

std::vector<Run> Mapping::remove(std::uint64_t logical, std::uint64_t count) {
  std::vector<Run> runs;
  if (count == 0) return runs;
  const std::uint64_t end = count > ~logical ? ~std::uint64_t{0} : logical + count;
  auto it = split(logical);
  (void)split(end);
  while (it != extents_.end() && it->first < end) {
    runs.push_back({it->second.block, it->second.count});
    blocks_ -= it->second.count;
    touch(it->first, it->second.count);
    it = extents_.erase(it);
  }
  return runs;
}

void Mapping::drop(Stored& stored, std::vector<Run>& freed, std::vector<Run>& unneeded) {
  if (stored.block != 0) (stored.frozen ? freed : unneeded).push_back({stored.block, 1});
  if (!stored.frozen) std::erase(fresh_, stored.block);
  stored = {};
}

Status Mapping::write_node(const Medium& medium, Stored& stored, const Node& node, std::vector<Run>& freed,
                           std::vector<Run>& unneeded) {
  std::string bytes = encode(node, medium.geometry, medium.owner, stored.block);
  if (stored.block != 0 && stored.sum == checksum(bytes)) return {};
  if (stored.block == 0 || stored.frozen || stored.turn != turn_) {
    const auto block = medium.take_block();
    if (!block) return fail(ENOSPC);
    drop(stored, freed, unneeded);
    stored = {*block, 0, false, turn_};
    fresh_.push_back(*block);
    bytes = encode(node, medium.geometry, medium.owner, stored.block);
  } else if (std::find(fresh_.begin(), fresh_.end(), stored.block) == fresh_.end()) {
    fresh_.push_back(stored.block);
  }
  stored.sum = 0;  // what is there is anything, until all of it is
  CFFS_TRY_VOID(medium.write(stored.block, bytes));
  stored.sum = checksum(bytes);
  return {};
}

Status Mapping::store(const Medium& medium, Onode& onode, std::vector<Run>& freed,
                      std::vector<Run>& unneeded) {
  const std::size_t room = Onode::room(onode.name.size());
  onode.level = 0;
  onode.entries.clear();
  if (extents_.size() <= room) {
    for (auto& [first, leaf] : leaves_) drop(leaf.stored, freed, unneeded);
    for (auto& level : above_)
      for (Stored& stored : level) drop(stored, freed, unneeded);
    leaves_.clear();
    above_.clear();
    for (const auto& [logical, run] : extents_)
      onode.entries.push_back({logical, run.block, run.count, run.written});
    return {};
  }
  if (leaves_.empty()) leaves_.emplace(0, Leaf{});
  for (auto it = leaves_.begin(); it != leaves_.end();) {
    if (!it->second.dirty) {
      ++it;
      continue;
    }
    const auto after = std::next(it);
    Node node;
    auto extent = extents_.lower_bound(it->first);
    const auto end = after == leaves_.end() ? extents_.end() : extents_.lower_bound(after->first);
    const auto entries = static_cast<std::size_t>(std::distance(extent, end));
    if (entries > Node::kMaxEntries) {  // the rest is a leaf of its own, which comes next
      auto cut = extent;
      std::advance(cut, kHalfLeaf);
      leaves_.emplace_hint(after, cut->first, Leaf{});
      continue;
    }
    if (entries == 0 && it != leaves_.begin()) {
      drop(it->second.stored, freed, unneeded);
      it = leaves_.erase(it);
      continue;
    }
    for (; extent != end; ++extent)
      node.entries.push_back(
          {extent->first, extent->second.block, extent->second.count, extent->second.written});
    CFFS_TRY_VOID(write_node(medium, it->second.stored, node, freed, unneeded));
    it->second.dirty = false;
    ++it;
  }
  for (const auto& [first, leaf] : leaves_) onode.entries.push_back({first, leaf.stored.block, 1, true});
  std::size_t level = 1;
  for (; onode.entries.size() > room; ++level) {
    if (above_.size() < level) above_.emplace_back();
    auto& nodes = above_[level - 1];
    std::vector<Extent> refs;
    std::size_t n = 0;
    for (std::size_t i = 0; i < onode.entries.size(); i += Node::kMaxEntries, ++n) {
      if (nodes.size() <= n) nodes.emplace_back();
      const std::size_t until = std::min(i + Node::kMaxEntries, onode.entries.size());
      Node node;
      node.level = static_cast<std::uint8_t>(level);
      node.entries.assign(onode.entries.begin() + static_cast<std::ptrdiff_t>(i),
                          onode.entries.begin() + static_cast<std::ptrdiff_t>(until));
      CFFS_TRY_VOID(write_node(medium, nodes[n], node, freed, unneeded));
      refs.push_back({node.entries.front().logical, nodes[n].block, 1, true});
    }
    for (std::size_t i = n; i < nodes.size(); ++i) drop(nodes[i], freed, unneeded);
    nodes.resize(n);
    onode.entries = std::move(refs);
  }
  for (std::size_t i = level - 1; i < above_.size(); ++i)
    for (Stored& stored : above_[i]) drop(stored, freed, unneeded);
  above_.resize(level - 1);
  onode.level = static_cast<std::uint8_t>(level);
  return {};
}

std::vector<std::uint64_t> Mapping::freeze() {
  for (auto& [first, leaf] : leaves_) leaf.stored.frozen = true;
  for (auto& level : above_)
    for (Stored& stored : level) stored.frozen = true;
  return std::exchange(fresh_, {});
}

void Mapping::unflushed(const std::vector<std::uint64_t>& nodes) {
  for (const std::uint64_t block : nodes)
    if (std::find(fresh_.begin(), fresh_.end(), block) == fresh_.end()) fresh_.push_back(block);
}

Status Mapping::adopt(const Extent& e) {
  const bool in_order =
      extents_.empty() || extents_.rbegin()->first + extents_.rbegin()->second.count <= e.logical;
  constexpr std::uint64_t kMostLogical = std::uint64_t{1} << 51;  // 8 EiB
  if (e.count == 0 || !in_order || e.logical > kMostLogical)
    return fail(Error::corruption("extents overlap"));
  extents_.emplace_hint(extents_.end(), e.logical, Placed{e.block, e.count, e.written});
  blocks_ += e.count;
  return {};
}

Status Mapping::load_node(Mapping& mapping, const BlockDevice& device, const Geometry& geometry,
                          OnodeId owner, unsigned level, const Extent& entry, std::uint64_t end) {
  std::string bytes(kBlock, '\0');
  if (entry.block >= geometry.first_block(geometry.regions))
    return fail(Error::corruption("extents lie beyond the end of the device"));
  CFFS_TRY_VOID(device.read(entry.block * kBlock, as_writable_bytes(bytes)));
  CFFS_TRY(const Node node, decode_node(bytes, geometry, owner, entry.block));
  if (node.level != level) return fail(Error::corruption("extents of another level"));
  if (node.entries.empty() && (level > 0 || entry.logical != 0))
    return fail(Error::corruption("a block of extents is empty"));
  const Stored stored{entry.block, checksum(bytes), true, 0};
  if (level == 0) {
    if (!mapping.leaves_.emplace(entry.logical, Leaf{stored, false}).second)
      return fail(Error::corruption("two blocks of extents for one place"));
    for (const Extent& e : node.entries) {
      if (e.logical < entry.logical || e.logical >= end)
        return fail(Error::corruption("extents out of their place"));
      CFFS_TRY_VOID(mapping.adopt(e));
    }
    return {};
  }
  if (mapping.above_.size() < level) mapping.above_.resize(level);
  mapping.above_[level - 1].push_back(stored);
  for (std::size_t i = 0; i < node.entries.size(); ++i) {
    const std::uint64_t until = i + 1 < node.entries.size() ? node.entries[i + 1].logical : end;
    CFFS_TRY_VOID(load_node(mapping, device, geometry, owner, level - 1, node.entries[i], until));
  }
  return {};
}

Result<Mapping> Mapping::load(const BlockDevice& device, const Geometry& geometry, OnodeId owner,
                              const Onode& onode) {
  Mapping mapping;
  if (onode.level > 8) return fail(Error::corruption("extents of too many levels"));
  for (std::size_t i = 0; i < onode.entries.size(); ++i) {
    const Extent& entry = onode.entries[i];
    if (onode.level == 0) {
      CFFS_TRY_VOID(mapping.adopt(entry));
      continue;
    }
    const std::uint64_t until =
        i + 1 < onode.entries.size() ? onode.entries[i + 1].logical : ~std::uint64_t{0};
    CFFS_TRY_VOID(load_node(mapping, device, geometry, owner, onode.level - 1u, entry, until));
  }
  return mapping;
}

}  // namespace cffs::region
