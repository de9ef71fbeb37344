#include "core/inspect/stored_shares.h"

#include <algorithm>

#include "core/composite/composite_store.h"
#include "core/packed/packed_object.h"

namespace cffs {

double StoredShares::Frames::stored_before(std::uint64_t plain_at) const {
  const auto end = std::upper_bound(plain_ends.begin(), plain_ends.end(), plain_at);
  const auto frame = static_cast<std::size_t>(end - plain_ends.begin());
  const std::uint64_t stored_from = frame == 0 ? 0 : stored_ends[frame - 1];
  if (frame == plain_ends.size()) return static_cast<double>(stored_from);
  const std::uint64_t plain_from = frame == 0 ? 0 : plain_ends[frame - 1];
  const double part = static_cast<double>(plain_at - plain_from) /
                      static_cast<double>(std::max<std::uint64_t>(1, plain_ends[frame] - plain_from));
  return static_cast<double>(stored_from) + part * static_cast<double>(stored_ends[frame] - stored_from);
}

StoredShares::Frames StoredShares::frames_of(const PackedObject& object) {
  Frames frames;
  std::uint64_t stored = 0;
  for (const Frame& frame : object.index().frames()) {
    frames.plain_ends.push_back(frame.plain_end());
    frames.stored_ends.push_back(stored += frame.stored_bytes);
  }
  if (stored > 0)
    frames.beside = static_cast<double>(object.index().object_bytes()) / static_cast<double>(stored);
  return frames;
}

const StoredShares::Frames& StoredShares::frames(CompositeId id) {
  if (const auto found = kept_.find(id.value); found != kept_.end()) return found->second;
  if (order_.size() == kKept) {
    kept_.erase(order_.front());
    order_.pop_front();
  }
  order_.push_back(id.value);
  Frames& frames = kept_[id.value];
  const std::string name = CompositeStore::object_name(id);
  auto object = objects_.open(name);
  const auto plain = object ? CompositeStore::plain(std::move(*object), name)
                            : Result<std::shared_ptr<Object>>(fail(object.error()));
  if (!plain) {
    ++unread_;
  } else if (const auto* packed = dynamic_cast<const PackedObject*>(plain->get())) {
    frames = frames_of(*packed);
  }
  return frames;
}

double StoredShares::of(const Extent& extent) {
  const Frames& of = frames(extent.composite);
  if (of.plain_ends.empty()) return static_cast<double>(extent.length);
  return of.beside * (of.stored_before(extent.offset + extent.length) - of.stored_before(extent.offset));
}

}  // namespace cffs
