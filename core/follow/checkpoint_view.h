// A store as it was at a checkpoint: what only grows ends where it did, and blobs show what they had. Changes are refused; what opening
// it wants to write belongs into an OverlayStore above.
#pragma once

#include <atomic>
#include <memory>

#include "core/follow/past_bytes.h"
#include "core/object/object_store.h"
#include "core/table/checkpoint.h"

namespace cffs {

class CheckpointView final : public ObjectStore {
 public:
  // Both must outlive it.
  CheckpointView(ObjectStore& below, PastBytes& past, Checkpoint checkpoint)
      : below_(below), past_(past), checkpoint_(std::move(checkpoint)), sequence_(checkpoint_.sequence) {}

  const TableState& table() const { return checkpoint_.table; }
  std::uint64_t sequence() const { return sequence_.load(); }
  // False: it is the store as it was found, with nobody who writes to it.
  bool published() const { return checkpoint_.kept; }
  // A later checkpoint is the same state.
  void is_also(std::uint64_t sequence) { sequence_.store(sequence); }

  Result<std::shared_ptr<Object>> create(std::string_view name, Create how) override;
  Result<std::shared_ptr<Object>> open(std::string_view name) override;
  Status remove(std::string_view name) override;
  Status rename(std::string_view from, std::string_view to) override;
  Result<bool> exists(std::string_view name) override;
  Result<std::vector<std::string>> list(std::string_view folder) override;
  Status sync_names() override { return {}; }
  Status sync_everything() override { return {}; }
  Result<SpaceInfo> space() override { return below_.space(); }
  std::optional<NearCopies> near_copies() const override { return below_.near_copies(); }
  // Its writer has it; what we read stays because we follow.
  Result<std::unique_ptr<StoreLock>> lock(std::string_view owner) override;
  Result<std::unique_ptr<StoreLock>> lock_for_reading() override;
  void on_shortage(std::function<std::size_t()> relieve) override { below_.on_shortage(std::move(relieve)); }
  bool is_private() const override { return below_.is_private(); }
  std::string description() const override { return below_.description(); }

 private:
  // Of what ends earlier than it does below.
  std::optional<std::uint64_t> end_of(std::string_view name) const;
  // Of the table, written since.
  bool is_later(std::string_view name) const;

  ObjectStore& below_;
  PastBytes& past_;
  const Checkpoint checkpoint_;
  std::atomic<std::uint64_t> sequence_;
};

}  // namespace cffs
