#include "core/reorganise/composite_filler.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "core/base/within_memory.h"
#include "core/composite/composite_store.h"
#include "core/fs/limits.h"
#include "core/table/table.h"

namespace cffs {
namespace {

struct GroupsSize {
  std::size_t files = 0;
  std::uint64_t bytes = 0;
};

GroupsSize size_of(std::span<const std::vector<FileToMove>> groups) {
  GroupsSize size;
  for (const auto& group : groups) {
    size.files += group.size();
    for (const FileToMove& file : group) size.bytes += file.content.size();
  }
  return size;
}

}  // namespace

std::uint64_t CompositeFiller::room() const {
  const std::uint64_t most = fs_.store_format().composite_max;
  return tail_ && !tail_->closed && tail_->bytes < most ? most - tail_->bytes : 0;
}

// What cannot be packed stays as it is.
void CompositeFiller::begin_anew() {
  if (!tail_) return;
  const bool may_shrink = !tail_->closed && tail_->bytes > 0;
  const CompositeId id = tail_->id();
  tail_.reset();
  const Compression how = fs_.compression();
  if (may_shrink && how != Compression{}) (void)within_memory([&] { return fs_.rehousing().pack(id, how); });
}

void CompositeFiller::leave(CompositeId id) {
  if (tail_ && tail_->id() == id) tail_.reset();
}

Result<std::shared_ptr<Object>> CompositeFiller::open_tail() {
  if (room() == 0) begin_anew();
  if (!tail_) return std::shared_ptr<Object>();
  auto object = fs_.composites().open(tail_->id());
  CFFS_TRY(const auto row, fs_.table().get(Key::null_name(tail_->id())));
  if (!row) {  // its members all went, and it with them
    tail_.reset();
    return std::shared_ptr<Object>();
  }
  return object;
}

bool CompositeFiller::is_of_one_record(const FileToMove& a, const FileToMove& b) {
  if (a.inode.home != Home::composite || b.inode.home != Home::composite) return false;
  return a.inode.extent.composite == b.inode.extent.composite && a.inode.extent.slot == b.inode.extent.slot;
}

Status CompositeFiller::read_into(Group& group, FileToMove file) const {
  file.content_before = false;
  if (!group.empty() && is_of_one_record(group.back(), file)) {
    CFFS_TRY(const bool there, fs_.rehousing().read_attributes(file));
    if (!there) return {};
    file.content_before = is_of_one_record(group.back(), file);  // it may have got another meanwhile
    if (file.content_before) {
      group.push_back(std::move(file));
      return {};
    }
  }
  CFFS_TRY(const bool readable, fs_.rehousing().read(file));
  if (readable) group.push_back(std::move(file));
  return {};
}

// A member of the composite that is being emptied is no place to go to; nor is the file's own: who moves it has a reason.
std::optional<Extent> CompositeFiller::twin_of(const FileToMove& file, Purpose purpose) const {
  auto twin = twins_.find(file.content);
  if (!twin || file.inode.home != Home::composite) return twin;
  const Extent& now = file.inode.extent;
  const bool same_composite = twin->composite == now.composite;
  const bool stays = same_composite && (twin->slot == now.slot || purpose == Purpose::compaction);
  return stays ? std::nullopt : twin;
}

// Where rows of a twin cannot be read the others still find theirs, and that file is written by itself.
Result<std::size_t> CompositeFiller::into_twins(std::span<const FileToMove> files,
                                                std::vector<std::size_t>& left) const {
  auto all = fs_.rehousing().into_twins(files, left);
  if (all || !all.error().is_damage()) return all;
  left.clear();
  std::size_t moved = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::vector<std::size_t> refused;
    const auto one = fs_.rehousing().into_twins(files.subspan(i, 1), refused);
    if (!one && !one.error().is_damage()) return fail(one.error());
    if (!one || !refused.empty()) left.push_back(i);
    moved += one ? *one : 0;
  }
  return moved;
}

Result<std::size_t> CompositeFiller::share(std::vector<Group>& groups, Purpose purpose) {
  std::vector<FileToMove> files;
  std::vector<std::size_t> groups_of;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    Group others;
    std::optional<Extent> last;
    for (FileToMove& file : groups[g]) {
      file.twin = file.content_before ? last : twin_of(file, purpose);
      last = file.twin;
      if (file.twin) groups_of.push_back(g);
      (file.twin ? files : others).push_back(std::move(file));
    }
    groups[g] = std::move(others);
  }
  std::size_t moved = 0;
  for (std::size_t i = 0; i < files.size(); i += kRowsAtOnce) {
    const std::span some = std::span(files).subspan(i, std::min(kRowsAtOnce, files.size() - i));
    std::vector<std::size_t> left;
    CFFS_TRY(const std::size_t n, into_twins(some, left));
    moved += n;
    for (const std::size_t k : left) {
      FileToMove& file = some[k];
      file.twin.reset();
      Group& group = groups[groups_of[i + k]];
      if (file.content_before) {  // what was before it may have gone to the twin
        CFFS_TRY_VOID(read_into(group, std::move(file)));
      } else {
        group.push_back(std::move(file));
      }
    }
  }
  std::erase_if(groups, [](const Group& group) { return group.empty(); });
  return moved;
}

Result<CompositeFiller::Filled> CompositeFiller::add(std::vector<Group> groups, grouping::PolicyId policy,
                                                     Purpose purpose) {
  std::size_t shared = 0;
  if (fs_.table().sharing() == Sharing::on) {
    CFFS_TRY(shared, share(groups, purpose));
  }
  Filled filled;
  if (!groups.empty()) {
    CFFS_TRY(filled, write(std::move(groups), policy, purpose));
  }
  filled.moved += shared;
  return filled;
}

// What could not be shared after all, or whose composite went, is written by itself: what it was to share may have changed meanwhile.
Result<CompositeFiller::Filled> CompositeFiller::write(std::vector<Group> groups, grouping::PolicyId policy,
                                                       Purpose purpose) {
  constexpr int kMostRounds = 4;
  left_.clear();
  shares_ = fs_.table().sharing() != Sharing::never;
  CFFS_TRY(Filled filled, put(std::move(groups), policy, purpose));
  shares_ = false;
  for (int round = 1; round < kMostRounds && !left_.empty(); ++round) {
    std::vector<Group> again;
    for (FileToMove& file : std::exchange(left_, {})) {
      file.shares_extent = false;
      if (again.empty() || !is_of_one_record(again.back().back(), file)) again.emplace_back();
      CFFS_TRY_VOID(read_into(again.back(), std::move(file)));
      if (again.back().empty()) again.pop_back();
    }
    if (again.empty()) break;
    CFFS_TRY(const Filled another, put(std::move(again), policy, purpose));
    filled.moved += another.moved;
    filled.composite_gone = another.composite_gone;
  }
  return filled;
}

Result<CompositeFiller::Filled> CompositeFiller::put(std::vector<Group> groups, grouping::PolicyId policy,
                                                     Purpose purpose) {
  const std::uint64_t bytes = size_of(groups).bytes;
  const std::uint64_t most = fs_.store_format().composite_max;
  if (bytes > most) return add_apart(std::move(groups), policy, purpose);
  // A little more than full is full; one that is much larger nobody would read whole.
  if (tail_ && bytes > room() + most / 4) begin_anew();
  return add_behind(std::move(groups), policy, purpose);
}

// What is larger than a composite is alone in one; the one that is being filled goes on being filled.
Result<CompositeFiller::Filled> CompositeFiller::add_apart(std::vector<Group> groups,
                                                           grouping::PolicyId policy, Purpose purpose) {
  std::optional<Tail> filling = std::exchange(tail_, std::nullopt);
  auto filled = within_memory([&] { return add_behind(std::move(groups), policy, purpose); });
  tail_ = std::move(filling);
  return filled;
}

Result<CompositeFiller::Filled> CompositeFiller::add_behind(std::vector<Group> groups,
                                                            grouping::PolicyId policy, Purpose purpose) {
  const auto into = open_tail();  // held, so that the object cannot go between this look and the append
  if (!into) {
    if (!into.error().is_shortage()) tail_.reset();  // or each pass would fail for it
    return fail(into.error());
  }
  if (!tail_) {
    CFFS_TRY(const CompositeId id, fs_.rehousing().begin_composite());
    tail_ = Tail{fs_.composites().being_filled().begin(id)};
  }
  auto filled = within_memory([&] { return add_to_tail(std::move(groups), policy, purpose, *into); });
  if (!filled) tail_.reset();
  return filled;
}

// A blob's room comes back with the next commit, as much as is taken for the member, where it has no holes.
Status CompositeFiller::reserve(const FileToMove& file, Purpose purpose) const {
  const std::uint64_t bytes = file.content.size();
  const Inode& inode = file.inode;
  const bool is_solid_blob = inode.home == Home::blob && inode.allocated >= inode.size;
  return purpose == Purpose::compaction || is_solid_blob ? fs_.rehousing().reserve_to_give_back(bytes)
                                                         : fs_.rehousing().reserve(bytes);
}

// What fails leaves nothing behind that no row names: it mostly fails for want of room.
Result<CompositeFiller::Filled> CompositeFiller::add_to_tail(std::vector<Group> groups,
                                                             grouping::PolicyId policy, Purpose purpose,
                                                             const std::shared_ptr<Object>& into) {
  const std::uint64_t bytes_before = tail_->bytes;
  CompositeBuilder builder(tail_->id(), bytes_before, tail_->slots);
  if (shares_ && fs_.table().sharing() == Sharing::on) builder.share_contents();
  std::map<std::pair<CompositeId, std::uint32_t>, std::size_t>
      came_from;  // of records that files have shared
  std::vector<FileToMove> files;
  std::vector<std::size_t> group_ends;
  bool named = into != nullptr;
  const auto fill = [&]() -> Result<Filled> {
    const GroupsSize expected = size_of(groups);
    files.reserve(expected.files);
    builder.expect(expected.files, expected.bytes);
    for (Group& group : groups) {
      for (FileToMove& file : group) {
        const Extent& old = file.inode.extent;
        const bool was_member = file.inode.home == Home::composite;
        const bool may_share = was_member && (shares_ || file.content_before);
        const auto together = may_share ? came_from.find({old.composite, old.slot}) : came_from.end();
        if (file.content_before && together == came_from.end()) {  // nobody brought the content
          left_.push_back(std::move(file));
          continue;
        }
        const auto same =
            together != came_from.end() ? std::optional(together->second) : builder.same_as(file.content);
        file.shares_extent = same.has_value();
        if (!same) CFFS_TRY_VOID(reserve(file, purpose));
        file.extent_number =
            same ? *same : builder.add(file.at.parent, file.at.name, file.inode, file.content);
        if (was_member) came_from.try_emplace({old.composite, old.slot}, file.extent_number);
        file.content = {};
        files.push_back(std::move(file));
      }
      builder.end_group();
      group_ends.push_back(files.size());
    }
    // What nearly fills one needs no more.
    using Content = CompositeStore::Content;
    const bool all = fs_.compression() != Compression{} &&
                     builder.object_bytes() >= fs_.store_format().composite_max / 4 * 3;
    const Status done = within_memory([&] {
      return fs_.composites().append(builder, /*sync=*/true, into, all ? Content::all : Content::part);
    });
    if (!done) {
      if (into) (void)into->truncate(bytes_before);
      return fail(done.error());
    }
    tail_->closed = all && bytes_before == 0;
    tail_->bytes = builder.object_bytes();
    tail_->slots = builder.slots();
    return switch_rows(builder, named, policy, files, group_ends);
  };
  auto filled = within_memory(fill);
  if (!filled && !named) fs_.rehousing().drop_composite(builder.id());
  return filled;
}

Result<CompositeFiller::Filled> CompositeFiller::switch_rows(const CompositeBuilder& builder, bool& named,
                                                             grouping::PolicyId policy,
                                                             const std::vector<FileToMove>& files,
                                                             const std::vector<std::size_t>& group_ends) {
  Filled filled;
  for (std::size_t begin = 0, next = 0; begin < files.size();) {
    // Whole groups, as many as fit.
    std::size_t end = group_ends[next++];
    while (next < group_ends.size() && group_ends[next] - begin <= kRowsAtOnce) end = group_ends[next++];
    const bool first = !named;
    CFFS_TRY(const auto switched, fs_.rehousing().into_composite(
                                      builder, first, policy, std::span(files).subspan(begin, end - begin)));
    named = true;
    filled.moved += switched.files;
    for (const std::size_t i : switched.refused) left_.push_back(files[begin + i]);
    const bool gone = switched.composite_gone || (switched.files == 0 && first);
    if (gone) {  // or about to go: nothing more is put there
      filled.composite_gone = switched.composite_gone;
      tail_.reset();
      const auto rest = files.begin() + static_cast<std::ptrdiff_t>(switched.composite_gone ? begin : end);
      left_.insert(left_.end(), rest, files.end());
      break;
    }
    begin = end;
  }
  return filled;
}

}  // namespace cffs
