// A Ceph cluster of one pool, in memory, behind librados's functions: for tests of stores in pools that need no cluster, and of what
// may be left of such a store when its writer ends at any operation.
//
// As there: an operation on one object is whole or did not happen, operations on one object keep their order, those on several do
// not; an acknowledgement comes later, from a thread of its own; who was shut out gets ESHUTDOWN. Not as there: locks and watches end with this process, no OSD is
// ever away, and a watch whose client is paused is over at once.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/base/mutex.h"
#include "core/rados/librados.h"
#include "tests/pool/pool_medium.h"

namespace cffs::test {

class MemoryPool : public std::enable_shared_from_this<MemoryPool> {
 public:
  using ClientId = std::uint64_t;
  static std::shared_ptr<MemoryPool> make(PoolMedium medium = {});
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  // From now on whoever connects comes here, and nobody in this process to a cluster any more.
  void use();
  // Told of each operation that changes something, before it happens, and again where it is on its way and was not answered; with no
  // lock held, from any thread.
  void on_change(std::function<void(const std::string& what)> told);
  // Told of each object that was looked at, before who asked gets the answer; with no lock held, and in his thread but for a mere stat.
  void on_look(std::function<void(const std::string& object)> told);
  PoolMedium medium() const;
  // All clients are shut out.
  void shut_out_all();
  // The nth change from now on is refused with EIO; is done, and answered with EIO.
  void refuse_change(std::uint64_t n);
  void misanswer_change(std::uint64_t n);
  // There is room for so many bytes of objects.
  void set_capacity(std::uint64_t bytes);
  // The last client that connected.
  ClientId newest() const;
  // Who connects from now on has the rights of osd 'allow rx': it reads and locks.
  void only_readers();
  bool may_write(ClientId client) const;
  // It answers nobody any more, as a process that is stopped; what it does itself arrives.
  void pause(ClientId client);

  // --- for the functions (memory_pool.cc)

  struct Watch {
    ClientId client = 0;
    std::uint64_t handle = 0;
    rados_watchcb2_t told = nullptr;
    void* argument = nullptr;
  };
  struct Locker {
    ClientId client = 0;
    std::string cookie;
  };
  struct Lock {
    bool is_exclusive = false;
    std::string tag;
    std::vector<Locker> holders;
  };
  using Ending = std::function<void(int)>;
  ClientId new_client();
  // -ESHUTDOWN, -EIO (a fault) or what the operation says. Waits for the acknowledgement.
  int change(ClientId client, const std::string& object, const PoolMedium::Operation& operation);
  // `done` is told later.
  void start_change(ClientId client, const std::string& object, const PoolMedium::Operation& operation,
                    Ending done);
  // Null and -ENOENT: there is none.
  std::pair<int, PoolMedium::ObjectPtr> look(ClientId client, const std::string& object) const;
  void later(std::function<void()> answer);
  int take_lock(ClientId client, const std::string& object, const std::string& name,
                const std::string& cookie, const std::string& tag, bool exclusive, bool may_renew);
  int drop_lock(const std::string& object, const std::string& name, ClientId client,
                const std::string& cookie);
  Lock lock_of(const std::string& object, const std::string& name) const;
  std::uint64_t watch(ClientId client, const std::string& object, rados_watchcb2_t told, void* argument);
  void unwatch(std::uint64_t handle);
  // What the watches of those that are not paused answered.
  std::vector<std::string> notify(const std::string& object);
  void answer(std::uint64_t notify_id, std::string text);
  void shut_out(ClientId client);
  // What the monitors say of the pool's room.
  std::string df() const;

 private:
  explicit MemoryPool(PoolMedium medium) : medium_(std::move(medium)) {}
  int submit(ClientId client, const std::string& object, const PoolMedium::Operation& operation)
      CFFS_REQUIRES(mutex_);
  void tell(const char* what, const std::string& object, const PoolMedium::Operation& operation);
  void finish();

  mutable Mutex mutex_;
  PoolMedium medium_ CFFS_GUARDED_BY(mutex_);
  std::function<void(const std::string&)> told_ CFFS_GUARDED_BY(mutex_), looked_ CFFS_GUARDED_BY(mutex_);
  ClientId clients_ CFFS_GUARDED_BY(mutex_) = 0;
  bool all_shut_out_ CFFS_GUARDED_BY(mutex_) = false, readers_come_ CFFS_GUARDED_BY(mutex_) = false;
  std::set<ClientId> shut_out_ CFFS_GUARDED_BY(mutex_), paused_ CFFS_GUARDED_BY(mutex_),
      readers_ CFFS_GUARDED_BY(mutex_);
  std::uint64_t changes_ CFFS_GUARDED_BY(mutex_) = 0;  // ever
  std::uint64_t refused_ CFFS_GUARDED_BY(mutex_) = 0, misanswered_
                                                      CFFS_GUARDED_BY(mutex_) = 0;  // as a countdown; 0: none
  std::uint64_t capacity_ CFFS_GUARDED_BY(mutex_) = std::uint64_t{1} << 40;
  std::map<std::pair<std::string, std::string>, Lock> locks_ CFFS_GUARDED_BY(mutex_);
  std::multimap<std::string, Watch> watches_ CFFS_GUARDED_BY(mutex_);
  std::uint64_t handles_ CFFS_GUARDED_BY(mutex_) = 0;
  std::map<std::uint64_t, std::vector<std::string>> answers_ CFFS_GUARDED_BY(mutex_);  // by notification
  Mutex notifying_;  // before mutex_: a watch that was taken back is told of nothing any more
  CondVar work_;
  std::deque<std::function<void()>> reads_ CFFS_GUARDED_BY(mutex_), writes_ CFFS_GUARDED_BY(mutex_);
  bool ends_ CFFS_GUARDED_BY(mutex_) = false;
  std::thread finisher_;
};

}  // namespace cffs::test
