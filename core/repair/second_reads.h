// A store whose reads are done again where they fail: what a weak sector, a cable or a network does not give the first time it often gives
// the second, and who mends or salvages takes what he cannot read for lost. For repair_store() and salvage.
#pragma once

#include <string>
#include <vector>

#include "core/object/object_store.h"

namespace cffs {

// Of the store below, which outlives it. Only EIO is tried again, once: a shortage, or a name that is not there, is an answer.
class SecondReads final : public ObjectStore {
 public:
  explicit SecondReads(ObjectStore& below) : below_(below) {}

  Result<std::shared_ptr<Object>> create(std::string_view name, Create how) override;
  Result<std::shared_ptr<Object>> open(std::string_view name) override;
  Result<bool> exists(std::string_view name) override;
  Result<std::vector<std::string>> list(std::string_view folder) override;
  Result<Layout> layout() override;

  Status remove(std::string_view name) override { return below_.remove(name); }
  Status rename(std::string_view from, std::string_view to) override { return below_.rename(from, to); }
  Status sync_names() override { return below_.sync_names(); }
  Status sync_everything() override { return below_.sync_everything(); }
  Result<SpaceInfo> space() override { return below_.space(); }
  std::optional<NearCopies> near_copies() const override { return below_.near_copies(); }
  Result<std::unique_ptr<StoreLock>> lock(std::string_view owner) override { return below_.lock(owner); }
  Result<std::unique_ptr<StoreLock>> lock_for_reading() override { return below_.lock_for_reading(); }
  Result<Writer> writer() override { return below_.writer(); }
  Result<std::unique_ptr<StoreLock>> follow() override { return below_.follow(); }
  Status look_again(std::string_view folder) override { return below_.look_again(folder); }
  Status look_again_at(std::string_view name) override { return below_.look_again_at(name); }
  bool followed() override { return below_.followed(); }
  void on_shortage(std::function<std::size_t()> relieve) override { below_.on_shortage(std::move(relieve)); }
  std::string block_device() const override { return below_.block_device(); }
  void lend_device() override { below_.lend_device(); }
  Status take_device_back() override { return below_.take_device_back(); }
  bool outlives_the_process() const override { return below_.outlives_the_process(); }
  bool zeros_hold_room() const override { return below_.zeros_hold_room(); }
  bool is_private() const override { return below_.is_private(); }
  std::string description() const override { return below_.description(); }

 private:
  ObjectStore& below_;
};

}  // namespace cffs
