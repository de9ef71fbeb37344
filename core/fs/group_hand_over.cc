// A group's files for a cache above, before anybody asks for them (docs/PERFORMANCE.md, "Handed over").
//
// Of what a cache has nobody hears whether it was wanted. So some files of each group are left out: who goes through the group comes for
// these, and each speaks for its share of the others (core/composite/visits.h). Else reading ahead would unlearn what it lives on.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/checksum.h"
#include "core/composite/large_member.h"
#include "core/composite/record.h"
#include "core/fs/engine.h"

namespace cffs {
namespace {

constexpr std::size_t kLeftOut = 8;  // one of so many

struct Candidate {
  NodePtr node;
  std::string_view content;
};

// Of those in this order: the last of each eight, or of all, where they are fewer.
bool is_left_out(std::size_t at, std::size_t of) {
  return at % kLeftOut == kLeftOut - 1 || (of < kLeftOut && at + 1 == of);
}

// In the caller's cache, for it was read or handed over; as far as is known.
bool is_there(const Node& node, std::uint64_t checksum) {
  return node.verified.load(std::memory_order_relaxed) == checksum ||
         node.handed.load(std::memory_order_relaxed) == checksum;
}

}  // namespace

void Engine::on_likely_group(std::function<void(ReaderId, InodeId)> call) {
  if (!call) return composites_.on_likely_group({});
  composites_.on_likely_group(
      [call = std::move(call)](const CompositeStore::Wish& wish) { call(wish.reader, wish.file); });
}

Result<std::size_t> Engine::hand_over_group(ReaderId reader, InodeId ino,
                                            const std::function<Taken(InodeId, ConstBytes)>& take) {
  Extent beside;
  std::shared_ptr<Object> object;
  {
    CFFS_TRY(const NodePtr found, rows_.node(ino));
    const ReadLock guard(found->mutex);
    if (found->inode.home != Home::composite) return std::size_t{0};
    beside = found->inode.extent;
    CFFS_TRY(object, homes_.object_of(*found));
  }
  if (beside.group_length > ReadAhead::kMost) return std::size_t{0};
  std::string bytes(beside.group_length, '\0');
  CFFS_TRY(const std::size_t n, object->read_at(beside.group_offset, as_writable_bytes(bytes)));
  bytes.resize(n);

  // A member is what its own row says, wherever records are: those only tell whom to ask.
  std::vector<Candidate> candidates;
  std::size_t behind = 0;  // the first candidate that lies behind the file itself
  for (std::uint64_t at = 0; at < bytes.size();) {
    const auto record = parse_record(std::string_view(bytes).substr(at));
    if (!record || !*record) break;
    const RecordMeta& meta = **record;
    const std::uint64_t data = at + meta.meta_bytes;
    at += meta.record_bytes();
    if (meta.ino == ino || meta.data_length == 0 || meta.data_length > kLargeMember || at > bytes.size())
      continue;
    const auto found = rows_.node(meta.ino);
    if (!found) continue;  // nobody refers to it, or not any more
    const Node& other = **found;
    const ReadLock guard(other.mutex);
    const Inode& inode = other.inode;
    const Extent& extent = inode.extent;
    const bool same = inode.home == Home::composite && extent.composite == beside.composite &&
                      extent.offset == beside.group_offset + data && extent.length == meta.data_length &&
                      extent.length == inode.size;
    if (!same || is_there(other, extent.checksum)) continue;
    candidates.push_back({*found, std::string_view(bytes).substr(data, meta.data_length)});
    if (extent.offset < beside.offset) behind = candidates.size();
  }
  std::rotate(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(behind), candidates.end());

  std::size_t files = 0;
  std::uint64_t handed = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto& [node, content] = candidates[i];
    if (is_left_out(i, candidates.size())) continue;
    {
      const ReadLock guard(node->mutex);
      const std::uint64_t expected = node->inode.extent.checksum;
      // Read meanwhile; or damaged, which is told to who reads it.
      if (is_there(*node, expected) || checksum(as_bytes(content)) != expected) continue;
      node->handed.store(expected, std::memory_order_relaxed);
    }
    const Taken taken = take(node->ino, as_bytes(content));
    if (taken == Taken::no_more) break;
    if (taken == Taken::no) continue;
    ++files;
    handed += content.size();
  }
  composites_.handed_over(reader, beside, handed, files);
  return files;
}

}  // namespace cffs
