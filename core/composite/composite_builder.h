// Builds the bytes to append to a composite: records in order, in groups. Pure; writes nothing.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/composite/record.h"

namespace cffs {

class CompositeBuilder {
 public:
  // Continues a composite that is `object_bytes` long and has `slots` records. 0 bytes: a new one, gets its
  // header.
  CompositeBuilder(CompositeId id, std::uint64_t object_bytes, std::uint64_t slots);

  // So many files with so many bytes together are about to be added: memory for all of it at once.
  void expect(std::size_t files, std::uint64_t bytes);
  // Adds one subfile; returns its index among this builder's extents. `inode` is recorded for salvage.
  std::size_t add(InodeId parent, std::string_view name, const Inode& inode, std::string_view data);
  // Which of this builder's extents has the same bytes, for one more file to share it; none where nothing has, or as many share it as may,
  // or the bytes are too few. Only of those that were added since share_contents().
  void share_contents() { shares_ = true; }
  std::optional<std::size_t> same_as(std::string_view data);
  // Ends the current group: all added since the last call are to be read together.
  void end_group();

  CompositeId id() const { return id_; }
  const std::string& bytes() const { return bytes_; }
  std::uint64_t write_offset() const { return base_; }
  std::uint64_t object_bytes() const { return base_ + bytes_.size(); }
  std::uint64_t slots() const { return slots_; }
  // Groups must have been ended.
  const std::vector<Extent>& extents() const { return extents_; }

 private:
  CompositeId id_;
  std::uint64_t base_;  // offset of bytes_[0] in the object
  std::uint64_t slots_;
  std::string bytes_;
  std::vector<Extent> extents_;
  bool shares_ = false;
  struct Content {
    std::size_t extent_number = 0;
    std::size_t files = 1;
  };
  std::map<std::pair<std::uint64_t, std::uint64_t>, Content> contents_;  // by length, checksum
  std::size_t group_first_ = 0;  // index of the current group's first extent
  std::uint64_t group_offset_ = 0;
};

}  // namespace cffs
