// Objects in memory: for tests of everything above the seam, the base of FaultyStore, and what OverlayStore keeps.
#pragma once

#include <atomic>
#include <map>

#include "core/base/mutex.h"
#include "core/object/object_store.h"

namespace cffs {

struct MemoryHolders;

// An empty object without a name.
std::shared_ptr<Object> make_memory_object();

class MemoryStore final : public ObjectStore {
 public:
  MemoryStore();
  Result<std::shared_ptr<Object>> create(std::string_view name, Create how) override;
  Result<std::shared_ptr<Object>> open(std::string_view name) override;
  Status remove(std::string_view name) override;
  Status rename(std::string_view from, std::string_view to) override;
  Result<bool> exists(std::string_view name) override;
  Result<std::vector<std::string>> list(std::string_view folder) override;
  Status sync_names() override { return {}; }
  Status sync_everything() override { return {}; }
  Result<SpaceInfo> space() override;
  Result<std::unique_ptr<StoreLock>> lock(std::string_view owner) override;
  Result<std::unique_ptr<StoreLock>> lock_for_reading() override;
  Result<std::unique_ptr<StoreLock>> follow() override;
  bool followed() override;
  std::string description() const override { return "memory"; }

  // What space() tells from now on, bytes. Nothing is refused: that is for who asks.
  void show_available(std::uint64_t bytes) { available_.store(bytes); }

 private:
  std::atomic<std::uint64_t> available_{std::uint64_t{1} << 39};
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<Object>, std::less<>> objects_ CFFS_GUARDED_BY(mutex_);
  const std::shared_ptr<MemoryHolders> holders_;
};

}  // namespace cffs
