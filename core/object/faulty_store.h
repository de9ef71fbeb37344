// A store for tests that fails on demand and loses what was not synced.
//
// Faults: fail the Nth operation from now (create, write, sync, remove, rename), once or from then on, with a
// given errno. Power cut: power_cut(seed) returns a MemoryStore as a machine would find it: every synced
// state is there; of the unsynced writes of each object a random prefix survives, and the last survivor may
// be torn; unsynced creations, removals and renames survive as a random prefix of their order. After it, this
// store refuses everything with EIO.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <random>

#include "core/base/mutex.h"
#include "core/object/memory_store.h"

namespace cffs {

class FaultyStore final : public ObjectStore {
 public:
  enum class Persistence { once, from_then_on };

  FaultyStore() = default;
  // Starts from what survived an earlier power cut; all of it counts as durable.
  explicit FaultyStore(std::unique_ptr<MemoryStore> survivor);

  // The nth (1 = next) changing operation fails with errno_value. n = 0 disarms.
  void fail_operation(std::uint64_t n, int errno_value, Persistence persistence);
  // The nth sync from now of an object (1 = next) fails once with errno_value, and what it should have made durable never
  // will be: later syncs succeed without it, as kernels have it. n = 0 disarms; returns whether the armed one is still to come.
  bool fail_sync(std::uint64_t n, int errno_value);
  // A write that fails has written the first half of its data.
  void tear_failed_writes(bool tear) { tears_.store(tear); }
  // Opens and reads count and fail too.
  void count_reads(bool count) { counts_reads_.store(count); }
  std::uint64_t operations() const { return operations_.load(); }
  // by_sectors: of the unsynced writes to an object of such a name any subset of sectors survives instead, half of the time.
  std::unique_ptr<MemoryStore> power_cut(std::uint64_t seed,
                                         const std::function<bool(std::string_view)>& by_sectors = nullptr);

  Result<std::shared_ptr<Object>> create(std::string_view name, Create how) override;
  Result<std::shared_ptr<Object>> open(std::string_view name) override;
  Status remove(std::string_view name) override;
  Status rename(std::string_view from, std::string_view to) override;
  Result<bool> exists(std::string_view name) override;
  Result<std::vector<std::string>> list(std::string_view folder) override;
  Status sync_names() override;
  Status sync_everything() override;
  Result<SpaceInfo> space() override { return live_.space(); }
  Result<std::unique_ptr<StoreLock>> lock(std::string_view owner) override { return live_.lock(owner); }
  Result<std::unique_ptr<StoreLock>> lock_for_reading() override { return live_.lock_for_reading(); }
  Result<std::unique_ptr<StoreLock>> follow() override { return live_.follow(); }
  bool followed() override { return live_.followed(); }
  std::string description() const override { return "faulty"; }

 private:
  friend class FaultyObject;

  struct Change {  // to an object's bytes: a write, or a truncation where truncate_to is set
    std::uint64_t offset = 0;
    std::string data;
    std::optional<std::uint64_t> truncate_to;
  };
  // One object, whatever it is called; guarded by the mutex of the store, which it does not know.
  struct Body {
    std::string durable;
    std::vector<Change> unsynced;
  };
  struct NameChange {  // to.empty(): removal; from.empty(): creation of `to`
    std::string from, to;
    std::shared_ptr<Body> body;
  };
  using Names = std::map<std::string, std::shared_ptr<Body>, std::less<>>;

  // Counts one changing operation and decides whether it fails.
  Status charge(std::string_view what);
  Status charge_read(std::string_view what) { return counts_reads_.load() ? charge(what) : Status(); }
  void name_became_durable(const std::shared_ptr<Body>& body) CFFS_REQUIRES(mutex_);
  static bool keep_sectors(const Body& body, std::string& bytes, std::mt19937_64& random);
  static void apply(Names& names, const NameChange& change);
  static void apply(std::string& bytes, const Change& change, std::size_t limit);

  MemoryStore live_;
  Mutex mutex_;
  Names live_bodies_ CFFS_GUARDED_BY(mutex_);    // names as the running program sees them
  Names durable_names_ CFFS_GUARDED_BY(mutex_);  // names as the medium has them
  std::vector<NameChange> unsynced_names_ CFFS_GUARDED_BY(mutex_);
  std::atomic<std::uint64_t> operations_{0};
  std::atomic<bool> counts_reads_{false};
  std::atomic<bool> tears_{false};
  std::uint64_t fail_at_ CFFS_GUARDED_BY(mutex_) = 0;
  int fail_errno_ CFFS_GUARDED_BY(mutex_) = 0;
  Persistence persistence_ CFFS_GUARDED_BY(mutex_) = Persistence::once;
  std::uint64_t syncs_to_failure_ CFFS_GUARDED_BY(mutex_) = 0;  // 0: none
  int sync_errno_ CFFS_GUARDED_BY(mutex_) = 0;
  bool cut_ CFFS_GUARDED_BY(mutex_) = false;
};

}  // namespace cffs
