// A store as somebody sees it who must not change it: reads come from the store below, every change stays in memory and
// is gone with this object. So a store can be opened that was left with a log to be replayed, and its medium keeps every
// byte, time and name.
//
// An object is copied into memory by the first write to it, whole; new objects, removals and renames are kept by name.
// Memory is therefore what is changed: what LevelDB makes of its log, as long as nothing else writes. After freeze() nothing
// does: every change is refused with EROFS.
//
// The lock is the store's below, shared with others that only look. Nothing is written for it.
#pragma once

#include <atomic>
#include <map>
#include <set>

#include "core/base/mutex.h"
#include "core/object/object_store.h"

namespace cffs {

class OverlayObject;

class OverlayStore final : public ObjectStore {
 public:
  // `below` must outlive this store, and nobody may change it meanwhile: see lock().
  explicit OverlayStore(ObjectStore& below) : below_(below) {}

  // From now on nothing changes, in memory either.
  void freeze() { frozen_.store(true, std::memory_order_release); }
  bool frozen() const { return frozen_.load(std::memory_order_acquire); }

  Result<std::shared_ptr<Object>> create(std::string_view name, Create how) override;
  Result<std::shared_ptr<Object>> open(std::string_view name) override;
  Status remove(std::string_view name) override;
  Status rename(std::string_view from, std::string_view to) override;
  Result<bool> exists(std::string_view name) override;
  Result<std::vector<std::string>> list(std::string_view folder) override;
  Status sync_names() override { return {}; }
  Status sync_everything() override { return {}; }
  Result<Layout> layout() override { return below_.layout(); }
  std::optional<NearCopies> near_copies() const override { return below_.near_copies(); }
  Result<SpaceInfo> space() override { return below_.space(); }
  Result<std::unique_ptr<StoreLock>> lock(std::string_view) override { return below_.lock_for_reading(); }
  Result<std::unique_ptr<StoreLock>> lock_for_reading() override { return below_.lock_for_reading(); }
  void on_shortage(std::function<std::size_t()> relieve) override { below_.on_shortage(std::move(relieve)); }
  std::string description() const override { return below_.description(); }

 private:
  friend class OverlayObject;
  using ObjectPtr = std::shared_ptr<OverlayObject>;

  // The object of this name. ENOENT.
  Result<ObjectPtr> find(const std::string& name) CFFS_REQUIRES(mutex_);
  // The name leads nowhere from now on. ENOENT.
  Status drop_name(const std::string& name) CFFS_REQUIRES(mutex_);
  // The object has content of its own: it is kept as long as it has a name.
  void keep(OverlayObject& object);

  ObjectStore& below_;
  std::atomic<bool> frozen_{false};
  Mutex mutex_;  // before an object's
  // Made, renamed or changed here.
  std::map<std::string, ObjectPtr> own_ CFFS_GUARDED_BY(mutex_);
  // Unchanged ones that somebody holds; those that nobody does are dropped when there are purge_at_.
  std::map<std::string, std::weak_ptr<OverlayObject>> open_ CFFS_GUARDED_BY(mutex_);
  std::size_t purge_at_ CFFS_GUARDED_BY(mutex_) = 1024;
  // Names below that lead nowhere here.
  std::set<std::string> gone_ CFFS_GUARDED_BY(mutex_);
};

}  // namespace cffs
