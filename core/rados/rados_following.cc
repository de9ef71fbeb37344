// A store in a Ceph pool that is read beside its writer.
#include <unordered_set>

#include "core/object/blocking_section.h"
#include "core/rados/following.h"
#include "core/rados/rados_store.h"

namespace cffs {

using rados::Ownership;

Result<std::unique_ptr<StoreLock>> RadosStore::follow() { return rados::Following::begin(pool_, head()); }

Result<ObjectStore::Writer> RadosStore::writer() {
  CFFS_TRY(const auto now, Ownership::writer(*pool_, head()));
  return Writer{now.owner, now.turn};
}

bool RadosStore::followed() { return rados::Following::is_followed(*pool_, head()); }

// Handles keep the body that they have; who opens an object from now on gets another. Pages of what is changed in place are read anew.
void RadosStore::forget_contents(const std::vector<std::string>& names) {
  ++looks_;
  std::unordered_set<std::uint64_t> changing;
  for (const std::string& name : names) {
    const auto id = names_.find(name);
    if (!id) continue;
    // A log has room behind its end, which records are written into (core/object/log_filler.h).
    const bool only_grows =
        (name.starts_with("table/") && !name.ends_with(".log")) || name.starts_with("composites/");
    if (!only_grows) changing.insert(*id);
    const auto known = known_.find(*id);
    if (known == known_.end()) continue;
    if (only_grows) former_ends_[*id] = known->second.body->size();
    if (known->second.handles == 0) --idle_;
    known_.erase(known);
  }
  shared_->cache->drop(changing);
}

Status RadosStore::look_again(std::string_view folder) {
  if (!read_only_) return {};
  CFFS_TRY_VOID(ready());
  announce_blocking();
  CFFS_TRY_VOID(folder.empty() ? names_.load() : names_.load_folder(folder));
  const auto names = names_.list(folder);
  const MutexLock guard(mutex_);
  forget_contents(names);
  return {};
}

Status RadosStore::look_again_at(std::string_view name) {
  if (!read_only_) return {};
  CFFS_TRY_VOID(ready());
  announce_blocking();
  if (!names_.find(name)) CFFS_TRY_VOID(names_.load());
  const MutexLock guard(mutex_);
  forget_contents({std::string(name)});
  return {};
}

}  // namespace cffs
