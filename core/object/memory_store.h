// Objects in memory: for tests of everything above the seam, and the base of FaultyStore.
#pragma once

#include <map>
#include <mutex>
#include <shared_mutex>

#include "core/object/object_store.h"

namespace cffs {

class MemoryStore final : public ObjectStore {
 public:
  Result<std::shared_ptr<Object>> create(std::string_view name, Create how) override;
  Result<std::shared_ptr<Object>> open(std::string_view name) override;
  Status remove(std::string_view name) override;
  Status rename(std::string_view from, std::string_view to) override;
  Result<bool> exists(std::string_view name) override;
  Result<std::vector<std::string>> list(std::string_view folder) override;
  Status sync_names() override { return {}; }
  Result<SpaceInfo> space() override;
  Result<std::unique_ptr<StoreLock>> lock(std::string_view owner) override;
  std::string description() const override { return "memory"; }

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Object>, std::less<>> objects_;
  std::shared_ptr<std::string> holder_ = std::make_shared<std::string>();  // empty: not locked
};

}  // namespace cffs
