#include "core/composite/composite_builder.h"

#include "core/base/checksum.h"
#include "core/table/content_row.h"
#include "core/table/member_files.h"

namespace cffs {

CompositeBuilder::CompositeBuilder(CompositeId id, std::uint64_t object_bytes, std::uint64_t slots)
    : id_(id), base_(object_bytes), slots_(slots) {
  if (object_bytes == 0) bytes_ = encode_composite_header(id);
  group_offset_ = base_ + bytes_.size();
}

void CompositeBuilder::expect(std::size_t files, std::uint64_t bytes) {
  constexpr std::size_t kUsualRecord = 160;  // header, name, inode, padding
  bytes_.reserve(bytes_.size() + bytes + files * kUsualRecord);
  extents_.reserve(extents_.size() + files);
}

std::size_t CompositeBuilder::add(InodeId parent, std::string_view name, const Inode& inode,
                                  std::string_view data) {
  Extent extent;
  extent.composite = id_;
  extent.slot = static_cast<std::uint32_t>(slots_++);
  extent.length = data.size();
  extent.checksum = checksum(data);
  extent.offset = base_ + append_record(bytes_, extent.slot, parent, name, inode, data, extent.checksum);
  extent.capacity = object_bytes() - extent.offset;
  extents_.push_back(extent);
  if (shares_) contents_.insert_or_assign({extent.length, extent.checksum}, Content{extents_.size() - 1, 1});
  return extents_.size() - 1;
}

std::optional<std::size_t> CompositeBuilder::same_as(std::string_view data) {
  if (!shares_ || data.size() < kLeastShared) return {};
  const auto found = contents_.find({data.size(), checksum(data)});
  if (found == contents_.end() || found->second.files >= kMostSharers) return {};
  const Extent& extent = extents_[found->second.extent_number];
  const bool same = std::string_view(bytes_).substr(extent.offset - base_, extent.length) == data;
  if (!same) return {};
  ++found->second.files;
  return found->second.extent_number;
}

void CompositeBuilder::end_group() {
  for (std::size_t i = group_first_; i < extents_.size(); ++i) {
    extents_[i].group_offset = group_offset_;
    extents_[i].group_length = object_bytes() - group_offset_;
  }
  group_first_ = extents_.size();
  group_offset_ = object_bytes();
}

}  // namespace cffs
