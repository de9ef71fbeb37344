#include "core/reorganise/composite_filler.h"

#include <span>
#include <utility>

#include "core/composite/composite_store.h"
#include "core/fs/limits.h"
#include "core/table/table.h"

namespace cffs {

std::uint64_t CompositeFiller::room() const {
  const std::uint64_t most = fs_.store_format().composite_max;
  return tail_ && tail_->bytes < most ? most - tail_->bytes : 0;
}

void CompositeFiller::leave(CompositeId id) {
  if (tail_ && tail_->id == id) tail_.reset();
}

Result<std::shared_ptr<Object>> CompositeFiller::open_tail() {
  if (room() == 0) tail_.reset();
  if (!tail_) return std::shared_ptr<Object>();
  auto object = fs_.composites().open(tail_->id);
  CFFS_TRY(const auto row, fs_.table().get(Key::null_name(tail_->id)));
  if (!row) {  // its members all went, and it with them
    tail_.reset();
    return std::shared_ptr<Object>();
  }
  return object;
}

Result<CompositeFiller::Filled> CompositeFiller::add(std::vector<Group> groups, grouping::PolicyId policy,
                                                     Purpose purpose) {
  Rehousing& rehousing = fs_.rehousing();
  CFFS_TRY(const auto into,
           open_tail());  // held, so that the object cannot go between this look and the append
  const bool fresh = !tail_;
  if (fresh) {
    CFFS_TRY(const CompositeId id, rehousing.begin_composite());
    tail_ = Tail{id, 0, 0};
  }
  CompositeBuilder builder(tail_->id, tail_->bytes, tail_->slots);
  std::vector<FileToMove> files;
  std::vector<std::size_t> group_ends;
  for (Group& group : groups) {
    for (FileToMove& file : group) {
      const std::uint64_t bytes = file.content.size();
      CFFS_TRY_VOID(purpose == Purpose::compaction ? rehousing.reserve_to_give_back(bytes)
                                                   : rehousing.reserve(bytes));
      file.extent_number = builder.add(file.at.parent, file.at.name, file.inode, file.content);
      file.content = {};
      files.push_back(std::move(file));
    }
    builder.end_group();
    group_ends.push_back(files.size());
  }
  if (Status done = fs_.composites().append(builder, /*sync=*/true, into); !done) {
    tail_.reset();
    return fail(done.error());
  }
  tail_->bytes = builder.object_bytes();
  tail_->slots = builder.slots();
  auto filled = switch_rows(builder, fresh, policy, files, group_ends);
  if (!filled) tail_.reset();
  return filled;
}

Result<CompositeFiller::Filled> CompositeFiller::switch_rows(const CompositeBuilder& builder, bool fresh,
                                                             grouping::PolicyId policy,
                                                             const std::vector<FileToMove>& files,
                                                             const std::vector<std::size_t>& group_ends) {
  Filled filled;
  bool first = fresh;
  for (std::size_t begin = 0, next = 0; begin < files.size();) {
    // Whole groups, as many as fit.
    std::size_t end = group_ends[next++];
    while (next < group_ends.size() && group_ends[next] - begin <= kRowsAtOnce) end = group_ends[next++];
    CFFS_TRY(const auto switched, fs_.rehousing().into_composite(
                                      builder, first, policy, std::span(files).subspan(begin, end - begin)));
    filled.moved += switched.files;
    filled.composite_gone = switched.composite_gone;
    if (switched.files == 0) {
      tail_.reset();  // it may be gone, or about to go: nothing more is put there
      break;
    }
    begin = end;
    first = false;
  }
  return filled;
}

}  // namespace cffs
