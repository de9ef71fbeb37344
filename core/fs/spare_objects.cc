#include "core/fs/spare_objects.h"

namespace cffs {

bool SpareObjects::is_one(std::string_view name) {
  const std::string folder = std::string(kFolder) + "/";
  return name.starts_with(folder);
}

// Those of an earlier user of the store.
void SpareObjects::look() {
  if (looked_) return;
  const auto names = store_.list(kFolder);
  if (!names) return;
  held_.insert(names->begin(), names->end());
  looked_ = true;
}

void SpareObjects::hold(const SpaceInfo& space) {
  if (!are_scarce(space) || (held_.size() >= kHeld && looked_)) return;
  look();
  if (!looked_) return;
  short_ = false;
  for (unsigned i = 0; i < kHeld; ++i) {
    std::string name = std::string(kFolder) + "/" + std::to_string(i);
    if (held_.contains(name)) continue;
    const auto made = store_.create(name, ObjectStore::Create::keep);
    if (made) {
      held_.insert(std::move(name));
      continue;
    }
    // Whatever else keeps them from being made says nothing of how many there are.
    short_ = made.error().errno_value == ENOSPC || made.error().errno_value == EDQUOT;
    return;
  }
}

bool SpareObjects::give(const SpaceInfo& space) {
  if (!are_scarce(space) || space.free_inodes > 0) return false;
  look();
  while (!held_.empty()) {
    const std::string name = *held_.begin();
    held_.erase(held_.begin());
    short_ = true;
    if (store_.remove(name)) return true;  // else it has gone, and its inode with it
  }
  return false;
}

}  // namespace cffs
