// Who may use a store in a Ceph pool: a RADOS lock on its head, exclusive or shared, and a watch that shows the cluster, and whoever asks,
// that its holder lives. A holder that is gone is shut out of the cluster before its lock is broken (docs/RADOS_STORE.md).
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "core/rados/pool.h"

namespace cffs::rados {

class Ownership {
 public:
  enum class Kind { alone, looks };
  // EPERM: this user may not. EBUSY: somebody alive has it; the context is the holder's text. Waits for one that has just gone silent, some seconds, until the cluster
  // gives it up. `owner`: for the next one who asks.
  static Result<std::unique_ptr<Ownership>> take(std::shared_ptr<Pool> pool, std::string head,
                                                 std::string_view owner, Kind kind,
                                                 std::string_view readers_text);
  ~Ownership();
  Ownership(const Ownership&) = delete;
  Ownership& operator=(const Ownership&) = delete;

  // The owner's text as the head has it; "" where there was none.
  static std::string owner_text(const Pool& pool, const std::string& head);
  // Who has it alone now, alive or not; and a text that nobody else's turn has, also when it is over.
  struct Writer {
    std::string owner;  // "": nobody
    std::string turn;
  };
  static Result<Writer> writer(const Pool& pool, const std::string& head);

 private:
  Ownership(std::shared_ptr<Pool> pool, std::string head, Kind kind);

  static void on_notify(void* self, std::uint64_t notify_id, std::uint64_t handle, std::uint64_t from,
                        void* data, std::size_t length);
  static void on_error(void* self, std::uint64_t handle, int code);
  Status watch();
  Result<bool> try_lock(std::string_view owner);
  // What stands in the way now: nothing (it was cleared away), somebody alive (his text), or somebody silent.
  struct Obstacle {
    enum class What { nothing, alive, silent } what = What::nothing;
    bool is_alone = false;
  };
  Result<Obstacle> look();
  Status shut_out(const std::string& client, const std::string& cookie, const std::string& address);
  void keep_watching();
  bool still_ours();

  const std::shared_ptr<Pool> pool_;
  const std::string head_;
  const Kind kind_;
  const std::string cookie_;
  std::map<std::string, unsigned> missed_;  // who held the lock and was not there, and how often in a row
  std::uint64_t handle_ = 0;                // of the watch; 0: there is none
  std::atomic<bool> held_{false};
  std::atomic<bool> lost_{false};  // the watch, not yet the lock
  Mutex mutex_;
  CondVar wake_;
  bool ending_ CFFS_GUARDED_BY(mutex_) = false;
  std::thread watcher_;
};

}  // namespace cffs::rados
