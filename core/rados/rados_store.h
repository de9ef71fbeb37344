// The RADOS backend: a store whose objects are in a pool of a Ceph cluster (docs/RADOS_STORE.md).
//
// Names are read when the store is locked, or at the first call without a lock.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <thread>
#include <unordered_map>

#include "core/object/object_store.h"
#include "core/rados/body.h"
#include "core/rados/name_table.h"
#include "core/rados/ownership.h"

namespace cffs {

class RadosStore final : public ObjectStore {
 public:
  // Makes an empty store of objects. EEXIST: there is one already.
  static Status format(const RadosAddress& address);
  // What local caches kept of it is nobody's any more: before its objects are written over in place.
  static Status renew_id(const RadosAddress& address);
  static Result<bool> is_store(const RadosAddress& address);
  // `usage`: there is none; the errors of rados::Pool::connect() and of rados::LocalCache::open(), where there is to be one.
  static Result<std::unique_ptr<RadosStore>> open(const RadosAddress& address, bool read_only,
                                                  const std::optional<rados::LocalCache::Place>& place = {});
  // "pid 17 on host": who has, or had last, the store for writing.
  static std::string owner_text(const RadosAddress& address);
  ~RadosStore() override;

  Result<std::shared_ptr<Object>> create(std::string_view name, Create how) override;
  Result<std::shared_ptr<Object>> open(std::string_view name) override;
  Status remove(std::string_view name) override;
  Status rename(std::string_view from, std::string_view to) override;
  Result<bool> exists(std::string_view name) override;
  Result<std::vector<std::string>> list(std::string_view folder) override;
  Status sync_names() override;
  Status sync_everything() override;
  Result<SpaceInfo> space() override;
  Result<std::unique_ptr<StoreLock>> lock(std::string_view owner) override;
  Result<std::unique_ptr<StoreLock>> lock_for_reading() override;
  Result<Writer> writer() override;
  Result<std::unique_ptr<StoreLock>> follow() override;
  bool followed() override;
  Status look_again(std::string_view folder) override;
  Status look_again_at(std::string_view name) override;
  std::optional<NearCopies> near_copies() const override {
    return local_ == nullptr ? std::nullopt : std::optional(local_->state());
  }
  bool outlives_the_process() const override { return false; }
  // Whose key may write to the pool, the cluster does not tell its clients.
  bool is_private() const override { return false; }
  std::string description() const override { return pool_->address().text(); }

 private:
  friend class RadosObject;
  class Lock;
  using ObjectId = rados::ObjectId;
  // An object that somebody has a handle of, or had a while ago.
  struct Known {
    std::shared_ptr<rados::Body> body;
    std::size_t handles = 0;
    bool is_removed = false;
    std::uint64_t last_used = 0;
  };
  // One that nobody has and no name names: its pieces go once that is durable.
  struct Gone {
    ObjectId id = 0;
    std::shared_ptr<rados::Body> body;  // null: not known here
  };

  RadosStore(std::shared_ptr<rados::Pool> pool, bool read_only, std::unique_ptr<rados::LocalCache> local);
  std::string head() const { return pool_->address().name + ".head"; }
  Status begin(bool alone) CFFS_REQUIRES(mutex_);
  Status ready();
  Result<ObjectId> next_id() CFFS_REQUIRES(mutex_);
  Result<std::shared_ptr<Object>> open_id(ObjectId id, std::string_view name);
  std::shared_ptr<Object> handle_of(Known& known) CFFS_REQUIRES(mutex_);
  void handle_gone(const std::shared_ptr<rados::Body>& body);
  void nameless(ObjectId id) CFFS_REQUIRES(mutex_);
  void forget_idle();
  void forget_contents(const std::vector<std::string>& names) CFFS_REQUIRES(mutex_);
  void reap();
  void end_reaping();
  // All that was written is durable, and nothing that is gone is left; but large objects that were removed keep nobody waiting for long.
  Status finish();
  void end(std::unique_ptr<rados::Ownership> ownership);
  Result<SpaceInfo> space_of_pool() const;
  Status writable(std::string_view name) const;
  tl::unexpected<Error> named(int errno_value, std::string_view name) const;

  const std::shared_ptr<rados::Pool> pool_;
  const bool read_only_;
  const std::unique_ptr<rados::LocalCache> local_;  // null: there is none
  const std::shared_ptr<rados::Shared> shared_;
  rados::NameTable names_;
  Mutex mutex_;  // before those of bodies and of the name table
  bool is_loaded_ CFFS_GUARDED_BY(mutex_) = false;
  std::uint64_t next_ CFFS_GUARDED_BY(mutex_) = 0, reserved_ CFFS_GUARDED_BY(mutex_) = 0;
  std::unordered_map<ObjectId, Known> known_ CFFS_GUARDED_BY(mutex_);
  // Read beside a writer: how long objects were that were looked at anew since. The page that has an end changes when that moves.
  std::unordered_map<ObjectId, std::uint64_t> former_ends_ CFFS_GUARDED_BY(mutex_);
  std::uint64_t looks_ CFFS_GUARDED_BY(mutex_) = 0;  // how often contents were forgotten
  std::size_t idle_ CFFS_GUARDED_BY(mutex_) = 0;  // of them without a handle
  std::uint64_t uses_ CFFS_GUARDED_BY(mutex_) = 0;
  CondVar reaper_wake_;
  std::deque<Gone> gone_ CFFS_GUARDED_BY(mutex_);
  bool reaping_ CFFS_GUARDED_BY(mutex_) = false;  // one is being removed
  bool reaper_ends_ CFFS_GUARDED_BY(mutex_) = false;
  std::atomic<bool> leaves_the_rest_{false};  // to whoever opens the store next
  std::thread reaper_;
  Mutex space_mutex_;
  SpaceInfo space_ CFFS_GUARDED_BY(space_mutex_);
  std::uint64_t sent_at_space_ CFFS_GUARDED_BY(space_mutex_) = 0;  // bytes, when the monitors were asked
  std::int64_t space_known_until_ms_ CFFS_GUARDED_BY(space_mutex_) = 0;
};

}  // namespace cffs
