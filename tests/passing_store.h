// A store that hands everything on to another one: for those that change a few things about it. What a backend need not say it does not.
#pragma once

#include "core/object/object_store.h"

namespace cffs::test {

class PassingStore : public ObjectStore {
 public:
  explicit PassingStore(ObjectStore& below) : below_(below) {}

  Result<std::shared_ptr<Object>> create(std::string_view name, Create how) override {
    return below_.create(name, how);
  }
  Result<std::shared_ptr<Object>> open(std::string_view name) override { return below_.open(name); }
  Status remove(std::string_view name) override { return below_.remove(name); }
  Status rename(std::string_view from, std::string_view to) override { return below_.rename(from, to); }
  Result<bool> exists(std::string_view name) override { return below_.exists(name); }
  Result<std::vector<std::string>> list(std::string_view folder) override { return below_.list(folder); }
  Status sync_names() override { return below_.sync_names(); }
  Status sync_everything() override { return below_.sync_everything(); }
  Result<SpaceInfo> space() override { return below_.space(); }
  Result<Layout> layout() override { return below_.layout(); }
  Result<std::unique_ptr<StoreLock>> lock(std::string_view owner) override { return below_.lock(owner); }
  Result<std::unique_ptr<StoreLock>> lock_for_reading() override { return below_.lock_for_reading(); }
  std::string description() const override { return below_.description(); }

 protected:
  ObjectStore& below_;
};

}  // namespace cffs::test
