#include "core/fs/spare_objects.h"

#include "core/base/no_room.h"

namespace cffs {

bool SpareObjects::is_one(std::string_view name) {
  const std::string folder = std::string(kFolder) + "/";
  return name.starts_with(folder);
}

namespace {

std::string probe_name() { return std::string(SpareObjects::kFolder) + "/probe"; }

}  // namespace

// Those of an earlier user of the store.
void SpareObjects::look() {
  if (looked_) return;
  const auto names = store_.list(kFolder);
  if (!names) return;
  for (const std::string& name : *names) {
    // The probe of one who was killed while he asked; there, it says that none is refused.
    if (name == probe_name())
      (void)store_.remove(name);
    else
      held_.insert(name);
  }
  looked_ = true;
}

void SpareObjects::hold(const SpaceInfo& space) {
  if (!are_scarce(space)) return;
  look();
  if (!looked_) return;
  reason_ = 0;
  if (held_.size() >= kHeld) return;
  for (unsigned i = 0; i < kHeld; ++i) {
    std::string name = std::string(kFolder) + "/" + std::to_string(i);
    if (held_.contains(name)) continue;
    const auto made = store_.create(name, ObjectStore::Create::keep);
    if (made) {
      held_.insert(std::move(name));
      continue;
    }
    // Whatever else keeps them from being made says nothing of how many there are.
    if (is_no_room(made.error().errno_value)) reason_ = made.error().errno_value;
    return;
  }
}

// A quota may leave its user none where the file system has many.
bool SpareObjects::is_one_refused() {
  const auto made = store_.create(probe_name(), ObjectStore::Create::keep);
  if (made) (void)store_.remove(probe_name());
  return !made && made.error().errno_value == EDQUOT;
}

bool SpareObjects::give(const SpaceInfo& space) {
  if (!are_scarce(space)) return false;
  look();
  const bool by_quota = space.free_inodes > 0;
  if (held_.empty() || (by_quota && !is_one_refused())) return false;
  while (!held_.empty()) {
    const std::string name = *held_.begin();
    held_.erase(held_.begin());
    reason_ = by_quota ? EDQUOT : ENOSPC;
    if (store_.remove(name)) return true;  // else it has gone, and its inode with it
  }
  return false;
}

}  // namespace cffs
